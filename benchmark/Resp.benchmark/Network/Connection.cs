using System.Net.Sockets;
using Kv.Protocol;

namespace RespBenchmark.Network;

/// <summary>One connection to a server, its handshake done: a socket, and the stream over it where it is
/// secured.</summary>
internal sealed class Connection(Socket socket, Stream? secure) : IDisposable
{
    private byte[] _received = [];
    private int _count;

    public Socket Socket { get; } = socket;

    /// <summary>Null: bytes go over the socket as they are.</summary>
    public Stream? Secure { get; } = secure;

    public int Descriptor => (int)Socket.Handle;

    public void Write(ReadOnlySpan<byte> bytes)
    {
        if (Secure is not null)
        {
            Secure.Write(bytes);
            return;
        }

        // Ends: each round hands the kernel at least one byte, or throws.
        while (bytes.Length > 0) bytes = bytes[Socket.Send(bytes)..];
    }

    /// <returns>0 when the server closed.</returns>
    public int Read(Span<byte> bytes) => Secure?.Read(bytes) ?? Socket.Receive(bytes);

    /// <summary>Sends requests and reads as many replies, all of them.</summary>
    /// <exception cref="TargetException">A reply is an error, or none.</exception>
    public RespValue[] Ask(ReadOnlySpan<byte> requests, int replies)
    {
        if (replies == 0) return [];
        Write(requests);
        var values = new RespValue[replies];
        for (int index = 0; index < replies; index++)
        {
            values[index] = ReadReply();
            if (values[index].IsError) throw new TargetException(values[index].Text);
        }

        return values;
    }

    /// <summary>Reads one reply; pushes are passed over.</summary>
    public RespValue ReadReply()
    {
        // Ends: each round takes a reply or more bytes; a server that sends none for long fails by the socket's
        // timeout.
        while (true)
        {
            ReplyStatus status = ReplyReader.TryRead(_received.AsSpan(0, _count), out int consumed,
                out RespValue value);
            if (status == ReplyStatus.Complete)
            {
                _received.AsSpan(consumed, _count - consumed).CopyTo(_received);
                _count -= consumed;
                if (value.Type == RespType.Push) continue;
                return value;
            }

            if (status != ReplyStatus.NeedMoreData) throw new TargetException("the server's reply is no RESP");
            if (_count == _received.Length) Array.Resize(ref _received, Math.Max(4096, _received.Length * 2));
            int read = Read(_received.AsSpan(_count));
            if (read == 0) throw new TargetException("the server closed the connection");
            _count += read;
        }
    }

    public void Dispose()
    {
        try
        {
            Secure?.Dispose();
        }
        catch (IOException)
        {
            // The peer may be gone already; nothing is owed to it.
        }

        Socket.Dispose();
    }
}

using System.Globalization;
using System.Net;
using System.Net.Sockets;

namespace Kv.Tests.Harness;

/// <summary>A small blocking client of our own for tests: sends any bytes, reads any reply, waits a bounded
/// time.</summary>
/// <remarks>Threads: one at a time, but sending and reading may be two.</remarks>
public sealed class RespClient : IDisposable
{
    private readonly byte[] _buffer = new byte[64 * 1024];
    private readonly Stream? _stream;
    private int _at, _end;

    /// <summary>Speaks through a stream over the socket's: TLS.</summary>
    public RespClient(EndPoint endPoint, Func<Stream, Stream> secure, int timeoutMs = 60_000)
        : this(endPoint, timeoutMs)
    {
        try
        {
            _stream = secure(new NetworkStream(Socket, ownsSocket: false));
        }
        catch
        {
            Socket.Dispose();
            throw;
        }
    }

    public RespClient(EndPoint endPoint, int timeoutMs = 60_000)
    {
        Socket = endPoint is UnixDomainSocketEndPoint
            ? new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified)
            : new Socket(endPoint.AddressFamily, SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
        Socket.ReceiveTimeout = timeoutMs;
        Socket.SendTimeout = timeoutMs;
        Socket.Connect(endPoint);
    }

    public Socket Socket { get; }

    /// <summary>What <see cref="Send(ReadOnlySpan{byte})"/> writes to; null where that is the socket.</summary>
    public Stream? Stream => _stream;

    public void Dispose() => Socket.Dispose();

    /// <summary>Closes with a RST instead of a FIN, as a process that is killed with unread data does.</summary>
    public void Reset()
    {
        Socket.LingerState = new LingerOption(true, 0);
        Socket.Dispose();
    }

    public void Send(ReadOnlySpan<byte> bytes)
    {
        if (_stream != null) _stream.Write(bytes);
        else
            while (!bytes.IsEmpty) bytes = bytes[Socket.Send(bytes)..];
    }

    /// <summary>Sends a command line in redis-cli's quoting.</summary>
    public void Send(string line) => Send(RespText.Encode(line));

    /// <summary>Sends a command line and reads one reply.</summary>
    public Reply Command(string line)
    {
        Send(line);
        return Read();
    }

    public Reply Command(params byte[][] words)
    {
        Send(RespText.Encode(words));
        return Read();
    }

    /// <summary>As <see cref="Command(string)"/>; an error reply fails the test.</summary>
    public Reply Ok(string line)
    {
        var reply = Command(line);
        if (reply.IsError) Assert.Fail($"{line} answered {reply}");
        return reply;
    }

    /// <summary>Sends command lines, each when the one before is answered; an error reply fails the test.</summary>
    public void Say(string lines)
    {
        foreach (string line in lines.Split('\n', StringSplitOptions.RemoveEmptyEntries)) Ok(line);
    }

    /// <summary>A field of INFO.</summary>
    public string Info(string field)
    {
        var reply = Ok("INFO everything");
        string text = reply.Type == '=' ? reply.String[4..] : reply.String;
        foreach (string line in text.Split("\r\n"))
            if (line.StartsWith(field + ":", StringComparison.Ordinal)) return line[(field.Length + 1)..];
        throw new InvalidOperationException($"INFO has no field {field}");
    }

    /// <summary>The next reply; the connection must not close before it.</summary>
    public Reply Read() =>
        TryRead() ?? throw new EndOfStreamException("the server closed the connection before a reply");

    /// <summary>The next reply, or null at an orderly or abrupt end between replies.</summary>
    public Reply? TryRead()
    {
        if (_at == _end && !Fill()) return null;
        return ReadReply();
    }

    /// <summary>True when the server has closed and nothing more came; waits for it.</summary>
    public bool IsClosedByServer() => _at == _end && !Fill();

    /// <summary>True when a byte is there already.</summary>
    public bool HasInput => _at < _end || Socket.Poll(0, SelectMode.SelectRead);

    /// <summary>Reads and drops a number of bytes; faster than reading replies.</summary>
    public void Skip(long bytes)
    {
        while (bytes > 0)
        {
            if (_at == _end && !Fill()) throw new EndOfStreamException($"closed with {bytes} bytes outstanding");
            int step = (int)Math.Min(bytes, _end - _at);
            (_at, bytes) = (_at + step, bytes - step);
        }
    }

    private Reply ReadReply()
    {
        string line = ReadLine();
        if (line.Length == 0) throw new FormatException("an empty line instead of a reply");
        char type = line[0];
        switch (type)
        {
            case '+' or '-' or ':' or ',' or '#' or '(':
                return Reply.Of(type, RespText.Bytes(line[1..]));
            case '_':
                return line.Length == 1 ? Reply.Of('_', text: null) : throw new FormatException($"not a null: {line}");
            case '$' or '=' or '!':
                int length = Number(line);
                return length == -1 && type == '$' ? Reply.Of('$', text: null) : Reply.Of(type, ReadBlock(length));
            case '*' or '~' or '>' or '%':
                int count = Number(line);
                if (count == -1 && type == '*') return Reply.Of('*', items: null);
                return Reply.Of(type, ReadItems(type == '%' ? count * 2 : count));
            default:
                throw new FormatException($"no RESP type begins with: {RespText.Quote(RespText.Bytes(line))}");
        }
    }

    private Reply[] ReadItems(int count)
    {
        ArgumentOutOfRangeException.ThrowIfNegative(count);
        var items = new Reply[count];
        for (int i = 0; i < count; i++) items[i] = ReadReply();
        return items;
    }

    private static int Number(string line)
    {
        // Exactly the form servers write: no sign but -1, no leading zero, no space.
        if (!int.TryParse(line.AsSpan(1), NumberStyles.AllowLeadingSign, CultureInfo.InvariantCulture, out int number)
            || number.ToString(CultureInfo.InvariantCulture) != line[1..] || number < -1)
            throw new FormatException($"not a length: {line}");
        return number;
    }

    /// <summary>A snapshot, whole, behind the lines that a primary sends a replica before it.</summary>
    public byte[] ReadSnapshot()
    {
        string line = "";
        while (true)
        {
            char letter = (char)NextByte();
            if (letter != '\n')
            {
                line += letter;
                continue;
            }

            if (line.StartsWith('$')) return ReadExactly(Number(line.TrimEnd('\r')));
            line = "";
        }
    }

    private byte[] ReadBlock(int length)
    {
        byte[] block = ReadExactly(length);
        if (NextByte() != '\r' || NextByte() != '\n') throw new FormatException("a string does not end with CR LF");
        return block;
    }

    private byte[] ReadExactly(int length)
    {
        ArgumentOutOfRangeException.ThrowIfNegative(length);
        var block = new byte[length];
        int have = Math.Min(length, _end - _at);
        _buffer.AsSpan(_at, have).CopyTo(block);
        _at += have;
        while (have < length)
        {
            int got = Receive(block.AsSpan(have));
            if (got == 0) throw new EndOfStreamException($"closed after {have} of {length} bytes of a string");
            have += got;
        }

        return block;
    }

    private string ReadLine()
    {
        var line = new List<byte>();
        while (true)
        {
            byte b = NextByte();
            if (b == '\n') throw new FormatException("LF without CR in a reply line");
            if (b != '\r') { line.Add(b); continue; }
            if (NextByte() != '\n') throw new FormatException("CR without LF in a reply line");
            return Reply.Latin(line.ToArray());
        }
    }

    private byte NextByte()
    {
        if (_at == _end && !Fill()) throw new EndOfStreamException("the server closed inside a reply");
        return _buffer[_at++];
    }

    private bool Fill()
    {
        _at = 0;
        _end = Receive(_buffer);
        return _end > 0;
    }

    private int Receive(Span<byte> into)
    {
        try
        {
            return _stream != null ? _stream.Read(into) : Socket.Receive(into);
        }
        catch (IOException e) when (e.InnerException is SocketException
            {
                SocketErrorCode: SocketError.ConnectionReset or SocketError.ConnectionAborted
            })
        {
            return 0;
        }
        catch (SocketException e) when (e.SocketErrorCode is SocketError.TimedOut or SocketError.WouldBlock)
        {
            throw new TimeoutException($"no reply within {Socket.ReceiveTimeout} ms");
        }
        catch (SocketException e)
            when (e.SocketErrorCode is SocketError.ConnectionReset or SocketError.ConnectionAborted)
        {
            return 0;
        }
    }
}

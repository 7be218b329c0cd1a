using System.Net;
using System.Net.Sockets;

namespace RespBenchmark.Tests.Engine;

/// <summary>A server of the test's own: each connection is given to a function on a thread of its own, with its request
/// bytes counted off by commands of one length.</summary>
internal sealed class FakeServer : IDisposable
{
    private readonly Socket _listener = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
    private readonly List<Socket> _open = [];
    private readonly List<Thread> _threads = [];
    private readonly Action<Peer> _serve;
    private int _accepted;

    public FakeServer(Action<Peer> serve)
    {
        _serve = serve;
        _listener.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        _listener.Listen(512);
        var thread = new Thread(Accept) { IsBackground = true };
        thread.Start();
    }

    public int Port => ((IPEndPoint)_listener.LocalEndPoint!).Port;

    public int Accepted => Volatile.Read(ref _accepted);

    /// <summary>Answers each command of so many bytes with one reply.</summary>
    public static FakeServer Answering(int commandBytes, byte[] reply) => new(peer =>
    {
        int commands;
        while ((commands = peer.ReadCommands(commandBytes)) > 0)
        {
            for (int index = 0; index < commands; index++) peer.Hold(reply);
            peer.Flush();
        }
    });

    public void Dispose()
    {
        _listener.Dispose();
        lock (_open)
        {
            foreach (Socket socket in _open) socket.Dispose();
        }
    }

    private void Accept()
    {
        try
        {
            while (true)
            {
                Socket socket = _listener.Accept();
                socket.NoDelay = true;
                Interlocked.Increment(ref _accepted);
                lock (_open) _open.Add(socket);
                var thread = new Thread(() => Serve(socket)) { IsBackground = true };
                _threads.Add(thread);
                thread.Start();
            }
        }
        catch (Exception error) when (error is SocketException or ObjectDisposedException)
        {
            // Disposed: the test is over.
        }
    }

    private void Serve(Socket socket)
    {
        try
        {
            _serve(new Peer(socket));
            socket.Shutdown(SocketShutdown.Both);
        }
        catch (Exception error) when (error is SocketException or ObjectDisposedException)
        {
            // The client went away, or the test is over.
        }

        socket.Dispose();
    }

    /// <summary>One connection, seen from the server.</summary>
    internal sealed class Peer(Socket socket)
    {
        private readonly byte[] _received = new byte[64 * 1024];
        private readonly MemoryStream _held = new();
        private long _bytes;

        public Socket Socket => socket;

        /// <summary>Commands seen so far.</summary>
        public long Seen { get; private set; }

        /// <summary>Waits for bytes, and counts the commands that are whole.</summary>
        /// <returns>0: the client closed.</returns>
        public int ReadCommands(int commandBytes)
        {
            while (true)
            {
                int read = socket.Receive(_received);
                if (read == 0) return 0;
                _bytes += read;
                int commands = (int)((_bytes / commandBytes) - Seen);
                Seen += commands;
                if (commands > 0) return commands;
            }
        }

        /// <summary>Takes so many bytes and leaves the rest.</summary>
        public void ReadExactly(int count)
        {
            while (count > 0)
            {
                int read = socket.Receive(_received.AsSpan(0, Math.Min(count, _received.Length)));
                if (read == 0) throw new SocketException((int)SocketError.ConnectionReset);
                count -= read;
            }
        }

        public void Hold(ReadOnlySpan<byte> bytes) => _held.Write(bytes);

        public void Flush()
        {
            Write(_held.GetBuffer().AsSpan(0, (int)_held.Length));
            _held.SetLength(0);
        }

        public void Write(ReadOnlySpan<byte> bytes)
        {
            while (bytes.Length > 0) bytes = bytes[socket.Send(bytes)..];
        }
    }
}

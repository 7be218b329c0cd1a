using System.Net;
using System.Net.Sockets;

namespace RespBenchmark.NullServer;

/// <summary>A server that answers any command and does no work: what a client can reach at most, and a peer that fails
/// as asked.</summary>
internal sealed class NullServer : IDisposable
{
    private readonly Socket _listener;
    private readonly NullLoop[] _loops;
    private readonly Thread _acceptor;
    private readonly string? _unixPath;

    private NullServer(NullServerOptions options, Socket listener)
    {
        _listener = listener;
        _unixPath = options.UnixPath;
        _loops = [.. Enumerable.Range(0, options.Threads).Select(number => new NullLoop(options, number))];
        _acceptor = new Thread(Accept) { IsBackground = true, Name = "null-accept" };
        _acceptor.Start();
    }

    /// <summary>Where it listens.</summary>
    public EndPoint EndPoint => _listener.LocalEndPoint!;

    public int Port => (EndPoint as IPEndPoint)?.Port ?? 0;

    /// <summary>Commands answered so far.</summary>
    public long Answered => _loops.Sum(loop => loop.Answered);

    /// <summary>Starts one, listening when this returns.</summary>
    /// <exception cref="SocketException">The address cannot be listened on.</exception>
    public static NullServer Start(NullServerOptions options)
    {
        EndPoint endPoint = options.UnixPath is { } path
            ? new UnixDomainSocketEndPoint(path)
            : new IPEndPoint(IPAddress.TryParse(options.Host, out IPAddress? address)
                ? address : Dns.GetHostAddresses(options.Host)[0], options.Port);
        var listener = new Socket(endPoint.AddressFamily, SocketType.Stream, ProtocolType.Unspecified);
        try
        {
            listener.Bind(endPoint);
            listener.Listen(4096);
            return new NullServer(options, listener);
        }
        catch
        {
            listener.Dispose();
            throw;
        }
    }

    /// <summary>Closes all connections.</summary>
    public void Dispose()
    {
        _listener.Dispose();
        _acceptor.Join();
        foreach (NullLoop loop in _loops) loop.Dispose();
        if (_unixPath is not null) File.Delete(_unixPath);
    }

    /// <summary>Makes an accepted connection ready: the end of a long reply must not wait for the client's
    /// acknowledgement of its beginning, which a client that waits for the end delays by 40 ms.</summary>
    internal static void Prepare(Socket socket)
    {
        // Not by its protocol: an accepted socket's is that of the listener, which says none.
        if (socket.AddressFamily != AddressFamily.Unix) socket.NoDelay = true;
        socket.Blocking = false;
    }

    private void Accept()
    {
        for (int next = 0; ; next++)        // ends with the listener
        {
            try
            {
                Socket socket = _listener.Accept();
                Prepare(socket);
                _loops[next % _loops.Length].Add(socket);
            }
            catch (SocketException failure)
                when (failure.SocketErrorCode is SocketError.ConnectionAborted or SocketError.ConnectionReset)
            {
                // That client is gone again; the next may not be.
            }
            catch (Exception failure) when (failure is SocketException or ObjectDisposedException)
            {
                return;
            }
        }
    }
}

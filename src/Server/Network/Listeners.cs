using System.Diagnostics;
using System.Net;
using System.Net.Sockets;
using Kv.Server.Configuration;
using Microsoft.Extensions.Logging;

namespace Kv.Server.Network;

/// <summary>The sockets that a server listens on: all that its options name, also after CONFIG SET has changed
/// them.</summary>
/// <remarks>
/// Threads: any; one change at a time. A change opens the new sockets before it closes the old ones, and keeps those
/// that stay, so that nobody is refused meanwhile. Where the system does not allow both (all addresses and one of them,
/// on one port), the old ones are closed first, and opened again if the new ones fail. Existing connections stay as
/// they are. Lock order: the options' ChangeLock, then this one's, then the transport's own.
/// </remarks>
internal sealed class Listeners(KvServer server)
{
    private sealed record TcpListener(IPEndPoint EndPoint, bool IsTls, Socket Socket)
    {
        public bool IsAt(WantedAddress wanted) => wanted.EndPoint.Equals(EndPoint) && wanted.IsTls == IsTls;
    }

    private const string NoPort = "Unable to listen on this port. Check server logs.";

    private readonly Lock _guard = new();
    private Action<Socket> _begin = _ => { }, _beginTls = _ => { };
    private Action<Socket> _end = socket => socket.Dispose();
    private List<TcpListener> _tcp = [];
    private Socket? _unix;
    private string _unixPath = "";
    private int _port, _chosenPort, _tlsPort;
    private IReadOnlyList<string> _bind = [];
    private IReadOnlyList<EndPoint> _endPoints = [];
    private bool _isClosed;

    /// <summary>Where it listens, with real ports.</summary>
    // Volatile: replaced whole by a change, and read by any thread.
    public IReadOnlyList<EndPoint> EndPoints => Volatile.Read(ref _endPoints);

    /// <summary>Listens on all addresses of the options, or on none.</summary>
    /// <exception cref="ListenException">An address cannot be listened on. Nothing is left open.</exception>
    public void Open()
    {
        var options = server.Options;
        lock (_guard)
        {
            (_port, _tlsPort, _bind) = (options.Port, options.Tls.Port, options.Bind);
            if (options.ListeningSockets.Count > 0)
            {
                TakeOver(options.ListeningSockets);
                return;
            }

            bool isFree = options.Port == 0 && options.Tls.Port == 0;
            _tcp = isFree ? OpenOnFreePort(options)
                : OpenAll(WantedAddress.OfClients(options, options.Port), options.TcpBacklog);
            if (isFree) _chosenPort = _tcp.Count > 0 ? _tcp[0].EndPoint.Port : 0;
            try
            {
                if (options.UnixSocket.Length > 0) _unix = ListeningSocket.OpenUnix(options);
            }
            catch (ListenException)
            {
                foreach (var listener in _tcp) listener.Socket.Dispose();
                _tcp = [];
                throw;
            }

            _unixPath = options.UnixSocket;
            Publish();
        }
    }

    /// <summary>Serves sockets that somebody else opened; the one whose port is tls-port, over TLS. A unix
    /// socket's file stays theirs.</summary>
    private void TakeOver(IReadOnlyList<Socket> sockets)
    {
        foreach (var socket in sockets)
        {
            if (socket is { SocketType: SocketType.Stream, LocalEndPoint: IPEndPoint endPoint })
                _tcp.Add(new TcpListener(endPoint, endPoint.Port == _tlsPort, socket));
            else if (_unix == null && socket.LocalEndPoint is UnixDomainSocketEndPoint) _unix = socket;
            else throw new ListenException("A socket that was handed over is neither of TCP nor the only unix socket",
                false, 0);
            if ((int)socket.GetSocketOption(SocketOptionLevel.Socket, SocketOptionName.AcceptConnection)! == 0)
                throw new ListenException("A socket that was handed over does not listen", false, 0);
        }

        Publish();
    }

    /// <summary>Serves the sockets, and follows the options from now on.</summary>
    /// <param name="begin">Begins to accept from a socket.</param>
    /// <param name="end">Stops accepting from a socket, and disposes it.</param>
    /// <param name="beginTls">Begins to accept clients over TLS from a socket, until that is disposed.</param>
    public void Serve(Action<Socket> begin, Action<Socket> end, Action<Socket> beginTls)
    {
        var options = server.Options;
        options.OnChange("port", changed => TryMove(changed) ? null : NoPort, mayRefuse: true);
        options.OnChange("tls-port", changed => server.Tls.Load(changed) ?? (TryMove(changed) ? null : NoPort),
            mayRefuse: true);
        options.OnChange("bind", changed => TryMove(changed) ? null : "Failed to bind to specified addresses.",
            mayRefuse: true);
        options.OnChange("tcp-backlog", Listen, mayRefuse: true);
        lock (_guard)
        {
            (_begin, _end, _beginTls) = (begin, end, beginTls);
            foreach (var listener in _tcp) BeginLatched(listener);
            if (_unix != null) begin(_unix);
        }
    }

    /// <summary>Stops listening.</summary>
    public void Close()
    {
        lock (_guard)
        {
            if (_isClosed) return;
            _isClosed = true;
            foreach (var listener in _tcp) EndLatched(listener);
            if (_unix == null) return;
            _end(_unix);
            if (_unixPath.Length > 0) File.Delete(_unixPath);
        }
    }

    /// <summary>Listens on a port that the system chooses for the first address; if another address has it taken, asks
    /// for another port.</summary>
    private static List<TcpListener> OpenOnFreePort(ServerOptions options)
    {
        const int AttemptsMax = 10;
        for (int attempt = 1; ; attempt++)
        {
            var wanted = WantedAddress.Of(options, 0);
            try
            {
                var first = new List<TcpListener>();
                int index = 0;
                while (first.Count == 0 && index < wanted.Count) first = OpenAll([wanted[index++]], options.TcpBacklog);
                if (first.Count == 0) return first;
                int port = first[0].EndPoint.Port;
                var rest = wanted.Skip(index)
                    .Select(next => next with { EndPoint = new IPEndPoint(next.EndPoint.Address, port) });
                return OpenAll([.. rest], options.TcpBacklog, first);
            }
            catch (ListenException exception) when (exception.AddressInUse && attempt < AttemptsMax)
            {
                // Ends: after AttemptsMax attempts.
            }
        }
    }

    /// <summary>Opens all addresses, or none. If it fails, it also closes those that were <paramref name="opened"/>
    /// before.</summary>
    private static List<TcpListener> OpenAll(List<WantedAddress> wanted, int backlog, List<TcpListener>? opened = null)
    {
        opened ??= [];
        try
        {
            foreach (var each in wanted)
            {
                var (endPoint, optional) = each;
                var socket = ListeningSocket.OpenTcp(endPoint, backlog, optional);
                if (socket == null) continue;
                int port = ((IPEndPoint)socket.LocalEndPoint!).Port;
                opened.Add(new TcpListener(new IPEndPoint(endPoint.Address, port), each.IsTls, socket));
            }

            return opened;
        }
        catch (ListenException)
        {
            foreach (var listener in opened) listener.Socket.Dispose();
            throw;
        }
    }

    /// <summary>Listens where the options say now.</summary>
    /// <returns>False with a line in the log, and all as it was.</returns>
    private bool TryMove(ServerOptions options)
    {
        lock (_guard)
        {
            if (_isClosed || (options.Port == _port && options.Tls.Port == _tlsPort
                && options.Bind.SequenceEqual(_bind))) return true;
            // 0 at start was the system's choice, and remains that; afterwards it means no TCP.
            int port = options.Port != 0 ? options.Port : _chosenPort;
            try
            {
                Move(WantedAddress.OfClients(options, port), options.TcpBacklog);
            }
            catch (ListenException exception)
            {
                server.Log.LogWarning("CONFIG SET of port, tls-port or bind failed, nothing has changed: {Message}",
                    exception.Message);
                return false;
            }

            (_port, _tlsPort, _bind) = (options.Port, options.Tls.Port, options.Bind);
            Publish();
            server.Log.LogInformation("Listening on {EndPoints}",
                _endPoints.Count == 0 ? "nothing" : string.Join(", ", _endPoints));
            return true;
        }
    }

    private void Move(List<WantedAddress> wanted, int backlog)
    {
        Debug.Assert(_guard.IsHeldByCurrentThread, "one change at a time");
        var kept = _tcp.Where(listener => wanted.Exists(listener.IsAt)).ToList();
        var old = _tcp.Except(kept).ToList();
        var added = wanted.Where(want => !kept.Exists(listener => listener.IsAt(want))).ToList();
        List<TcpListener> opened;
        try
        {
            opened = OpenAll(added, backlog);
            foreach (var listener in old) EndLatched(listener);
        }
        catch (ListenException exception)
            when (exception.AddressInUse && old.Exists(listener => listener.EndPoint.Port == exception.Port))
        {
            opened = Replace(old, added, backlog, kept);
        }

        foreach (var listener in opened) BeginLatched(listener);
        // In the order of the options: the first one is what INFO calls tcp_port.
        _tcp = [.. kept.Concat(opened).OrderBy(listener => wanted.FindIndex(listener.IsAt))];
    }

    /// <summary>Closes the old sockets before it opens the new ones: the old ones may be in the way.</summary>
    private List<TcpListener> Replace(List<TcpListener> old, List<WantedAddress> added, int backlog,
        List<TcpListener> kept)
    {
        foreach (var listener in old) EndLatched(listener);
        try
        {
            return OpenAll(added, backlog);
        }
        catch (ListenException)
        {
            _tcp = kept;
            foreach (var listener in old) Restore(listener, backlog);
            Publish();
            throw;
        }
    }

    private void Restore(TcpListener listener, int backlog)
    {
        try
        {
            var wanted = new WantedAddress(listener.EndPoint, Optional: false) { IsTls = listener.IsTls };
            var restored = OpenAll([wanted], backlog)[0];
            _tcp.Add(restored);
            BeginLatched(restored);
        }
        catch (ListenException exception)
        {
            // Another program took it in the moment between.
            server.Log.LogError("Cannot listen where it did before: {Message}", exception.Message);
        }
    }

    private void BeginLatched(TcpListener listener)
    {
        Debug.Assert(_guard.IsHeldByCurrentThread, "listeners come and go one by one");
        (listener.IsTls ? _beginTls : _begin)(listener.Socket);
    }

    private void EndLatched(TcpListener listener)
    {
        Debug.Assert(_guard.IsHeldByCurrentThread, "listeners come and go one by one");
        if (listener.IsTls) listener.Socket.Dispose();
        else _end(listener.Socket);
    }

    /// <summary>listen(2) again on a listening socket changes the length of its queue.</summary>
    private string? Listen(ServerOptions options)
    {
        lock (_guard)
        {
            if (_isClosed) return null;
            foreach (var listener in _tcp) listener.Socket.Listen(options.TcpBacklog);
            _unix?.Listen(options.TcpBacklog);
            return null;
        }
    }

    private void Publish()
    {
        Debug.Assert(_guard.IsHeldByCurrentThread, "one change at a time");
        var sockets = _tcp.Select(listener => listener.Socket);
        if (_unix != null) sockets = sockets.Append(_unix);
        Volatile.Write(ref _endPoints, [.. sockets.Select(socket => socket.LocalEndPoint!)]);
    }
}

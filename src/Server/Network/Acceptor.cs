using System.Diagnostics;
using System.Net;
using System.Net.Sockets;
using Kv.Server.Sessions;
using Microsoft.Extensions.Logging;

namespace Kv.Server.Network;

/// <summary>A thread that accepts connections and hands them to the workers in turn. It sleeps unless somebody
/// connects.</summary>
/// <remarks>Threads: its own. No error of accept ends it: most concern a connection that has gone already, and when
/// there are no descriptors it tries again a little later.</remarks>
internal sealed unsafe class Acceptor
{
    private const int BackOffMs = 10;
    private const int BatchMax = 256;

    private readonly KvServer _server;
    private readonly EpollWorker[] _workers;
    private readonly Poller _poller = new();
    private readonly Lock _guard = new();
    private readonly Dictionary<ulong, Socket> _listeners = [];
    private readonly SpareDescriptor _spare = new();
    private readonly Thread _thread;
    private ulong _lastListener;
    private int _next;
    private int _stopping;

    public Acceptor(KvServer server, EpollWorker[] workers)
    {
        _server = server;
        _workers = workers;
        _thread = new Thread(Run) { Name = "kv-accept", IsBackground = true };
    }

    public void Start() => _thread.Start();

    /// <summary>Begins to accept from a socket. From any thread.</summary>
    public void Add(Socket listener)
    {
        listener.Blocking = false;
        lock (_guard)
        {
            // A number is never used twice, so that an event of a socket that is gone finds nothing.
            _listeners.Add(++_lastListener, listener);
            if (!_poller.TryAdd((int)listener.Handle, Libc.EpollIn, _lastListener))
                _server.Log.LogError("Connections of {EndPoint} cannot be waited for (error {Error})",
                    listener.LocalEndPoint, Libc.LastError);
        }
    }

    /// <summary>Stops accepting from a socket, and closes it. From any thread.</summary>
    public void Remove(Socket listener)
    {
        lock (_guard)
        {
            foreach (var (number, other) in _listeners)
                if (other == listener) _listeners.Remove(number);
            _poller.Remove((int)listener.Handle);
            listener.Dispose();
        }
    }

    /// <summary>Ends the thread; the listeners have been removed.</summary>
    public void Stop()
    {
        lock (_guard) Debug.Assert(_listeners.Count == 0, "the listeners have been removed");
        Volatile.Write(ref _stopping, 1);
        _poller.Ring();
        _thread.Join();
    }

    private void Run()
    {
        // Volatile: the bell's system call orders the flag before the wait's end.
        while (Volatile.Read(ref _stopping) == 0)
        {
            int count = _poller.Wait(Poller.NoTimeout);
            for (int i = 0; i < count; i++)
            {
                ulong data = _poller.DataOf(i);
                if (data == Poller.Bell) _poller.Silence();
                else if (!AcceptAll(data)) Thread.Sleep(BackOffMs);
            }
        }

        _poller.Dispose();
        _spare.Dispose();
    }

    private bool AcceptAll(ulong number)
    {
        // The lock is held while connections are accepted, so that nobody closes the socket meanwhile; only CONFIG SET
        // ever wants it.
        lock (_guard) return !_listeners.TryGetValue(number, out var listener) || AcceptAll(listener);
    }

    /// <returns>False when it is best to wait a little before accepting again.</returns>
    private bool AcceptAll(Socket listener)
    {
        Debug.Assert(_guard.IsHeldByCurrentThread, "a socket that is accepted from is not closed");
        byte* address = stackalloc byte[SocketAddress.BytesMax];
        for (int i = 0; i < BatchMax; i++)
        {
            int length = SocketAddress.BytesMax;
            int descriptor = Libc.accept4((int)listener.Handle, address, &length,
                Libc.SockNonBlock | Libc.SockCloseOnExec);
            if (descriptor >= 0)
            {
                try
                {
                    Admit(descriptor, new SocketAddress(new ReadOnlySpan<byte>(address, length)), listener);
                }
                catch (Exception exception)
                {
                    _server.Log.LogError(exception, "A connection could not be taken on");
                    Libc.close(descriptor);
                }

                continue;
            }

            int error = Libc.LastError;
            var next = After(error);
            if (next == Next.Wait) return true;
            if (next == Next.Accept) continue;
            if (error == Libc.EMFile && _spare.TryLend())
            {
                int last = Libc.accept4((int)listener.Handle, null, null, Libc.SockNonBlock | Libc.SockCloseOnExec);
                if (last >= 0) Refuse(last, Admission.RefuseForDescriptors(_server));
                _spare.Renew();
            }

            if (_server.LogBrakes.Accept.TryTake(_server.TickMs, out string more))
                _server.Log.LogWarning(
                    "Cannot accept connections for lack of descriptors or memory (error {Error}); trying again{More}",
                    error, more);

            return false;
        }

        return true;
    }

    /// <summary>What an error of accept means for the listener. None of them ends it.</summary>
    internal static Next After(int error) => error switch
    {
        Libc.EAgain => Next.Wait,
        Libc.EMFile or Libc.ENFile or Libc.ENoBufs or Libc.ENoMem => Next.BackOff,
        _ => Next.Accept,       // the error is that of one connection, which has gone
    };

    private void Admit(int descriptor, SocketAddress peer, Socket listener)
    {
        if (Admission.Refusal(_server, descriptor, peer.IsLocal, out bool isReserved) is { } refusal)
        {
            Refuse(descriptor, refusal);
            return;
        }

        if (peer.IsTcp) SetTcpOptions(descriptor);
        var connection = new EpollConnection(_workers[_next], descriptor);
        _next = (_next + 1) % _workers.Length;
        string local = LocalAddress(descriptor, listener);
        connection.Session = new Session(_server.Connections.NextId(), _server, connection)
        {
            Address = peer.IsTcp ? peer.ToString() : local,
            LocalAddress = local,
            IsLocal = peer.IsLocal,
            IsReserved = isReserved,
            Descriptor = descriptor,
            Authenticated = _server.Users.Default.Rules.LetsAnyoneIn,
        };
        _server.Connections.Add(connection.Session);
        connection.Worker.Post(connection);
    }

    private static void Refuse(int descriptor, byte[] reason)
    {
        fixed (byte* text = reason) Libc.send(descriptor, text, (nuint)reason.Length, Libc.MsgNoSignal);
        Libc.shutdown(descriptor, Libc.ShutWrite);
        Libc.close(descriptor);
    }

    private void SetTcpOptions(int descriptor)
    {
        Libc.SetOption(descriptor, Libc.IpprotoTcp, Libc.TcpNoDelay, 1);
        int seconds = _server.Options.TcpKeepAlive;
        if (seconds <= 0) return;
        Libc.SetOption(descriptor, Libc.SolSocket, Libc.SoKeepAlive, 1);
        Libc.SetOption(descriptor, Libc.IpprotoTcp, Libc.TcpKeepIdle, seconds);
        Libc.SetOption(descriptor, Libc.IpprotoTcp, Libc.TcpKeepInterval, Math.Max(seconds / 3, 1));
        Libc.SetOption(descriptor, Libc.IpprotoTcp, Libc.TcpKeepCount, 3);
    }

    private static string LocalAddress(int descriptor, Socket listener)
    {
        if (listener.LocalEndPoint is UnixDomainSocketEndPoint unix) return $"{unix}:0";
        if (listener.LocalEndPoint is IPEndPoint { Address: var bound } && !bound.Equals(IPAddress.Any)
            && !bound.Equals(IPAddress.IPv6Any))
            return listener.LocalEndPoint.ToString()!;
        byte* address = stackalloc byte[SocketAddress.BytesMax];
        int length = SocketAddress.BytesMax;
        return Libc.getsockname(descriptor, address, &length) == 0
            ? new SocketAddress(new ReadOnlySpan<byte>(address, length)).ToString() : "";
    }

    internal enum Next
    {
        /// <summary>Try the next connection at once; at most <see cref="BatchMax"/> times a turn.</summary>
        Accept,

        /// <summary>No connection is there: sleep until one is.</summary>
        Wait,

        /// <summary>No descriptor or memory for a connection: try again a little later.</summary>
        BackOff,
    }
}

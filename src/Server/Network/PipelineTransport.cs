using System.Collections.Concurrent;
using System.Net;
using System.Net.Security;
using System.Net.Sockets;
using Kv.Server.Sessions;
using Microsoft.Extensions.Logging;

namespace Kv.Server.Network;

/// <summary>Serves any stream on any system: an asynchronous loop for each client, on the thread pool of
/// .NET.</summary>
/// <param name="server">Whose clients they are.</param>
/// <param name="listens">False when another transport listens, and this one serves only attached streams.</param>
internal sealed class PipelineTransport(KvServer server, bool listens = true) : ITransport
{
    /// <summary>What the sockets take beside themselves: .NET waits for them in a thread of its own.</summary>
    public const int OtherDescriptors = 8;

    private const int BackOffMs = 10;
    private const int SweepMs = 500;

    private readonly ConcurrentDictionary<PipelineConnection, Task> _connections = new();
    private readonly CancellationTokenSource _stop = new();
    private readonly ConcurrentQueue<Task> _accepting = new();
    private readonly Listeners _listeners = new(server);
    private readonly Lock _guard = new();
    private StreamPoller[] _pollers = [];
    private int _nextPoller;
    private WindowLeases? _leases;
    private Task _sweeping = Task.CompletedTask;

    public string Name => "pipelines";

    public int WorkerCount { get; } = server.Options.WorkerThreads > 0
        ? server.Options.WorkerThreads : Environment.ProcessorCount;

    public IReadOnlyList<EndPoint> Endpoints => _listeners.EndPoints;

    public Task StartAsync(CancellationToken cancellation)
    {
        _leases = new WindowLeases(server, WorkerCount);
        if (listens)
        {
            _listeners.Open();
            _listeners.Serve(listener => _accepting.Enqueue(AcceptAsync(listener, isTls: false)),
                listener => listener.Dispose(), AcceptTls);
        }

        _sweeping = SweepAsync();
        return Task.CompletedTask;
    }

    /// <summary>Begins to accept clients over TLS from a socket, until that is disposed. From any thread.</summary>
    public void AcceptTls(Socket listener)
    {
        lock (_guard)
        {
            if (_pollers.Length == 0 && OperatingSystem.IsLinux())
                _pollers = [.. Enumerable.Range(0, WorkerCount).Select(i => new StreamPoller(server.Log, i))];
        }

        // Elsewhere: as long as clients wait to be accepted the loop does not wait, and the caller may be a command.
        _accepting.Enqueue(Task.Run(() => AcceptAsync(listener, isTls: true)));
    }

    /// <summary>Serves a stream, and disposes it at the end.</summary>
    public void Attach(Stream stream, Socket? socket, string address, string local, bool isLocal,
        bool isReserved = false, TlsHandshake? handshake = null)
    {
        var connection = new PipelineConnection(server, _leases!, stream, socket, handshake);
        connection.Session = new Session(server.Connections.NextId(), server, connection)
        {
            Address = address,
            LocalAddress = local,
            IsLocal = isLocal,
            IsReserved = isReserved,
            Descriptor = socket == null ? Session.NoDescriptor : (int)socket.Handle,
            Authenticated = server.Users.Default.Rules.LetsAnyoneIn,
        };
        server.Connections.Add(connection.Session);
        _connections.TryAdd(connection, Task.CompletedTask);
        _ = Task.Run(() => ServeAsync(connection));
    }

    /// <summary>Makes a connection inside of the process.</summary>
    /// <returns>The client's end. When there is no place for the client it reads the error that others get.</returns>
    public Stream Connect()
    {
        const string nowhere = "in-process:0";
        var (client, end) = InProcessStream.CreatePair();
        if (Admission.Refusal(server, Session.NoDescriptor, isLocal: true, out bool isReserved) is { } refusal)
        {
            end.Write(refusal);
            end.Dispose();
        }
        else
        {
            Attach(end, null, nowhere, nowhere, isLocal: true, isReserved);
        }

        return client;
    }

    public bool MakesProgress(int withinMs) => _leases?.TryUse(withinMs) ?? false;

    public async Task<bool> StopAsync(CancellationToken cancellation)
    {
        await _stop.CancelAsync().ConfigureAwait(false);
        _listeners.Close();
        await Task.WhenAll(_accepting).ConfigureAwait(false);
        await _sweeping.ConfigureAwait(false);
        foreach (var connection in _connections.Keys) connection.BeginStop();
        long deadline = server.TickMs + (server.Options.ShutdownTimeout * 1000L);
        while (!_connections.IsEmpty)
        {
            // Ends: at the deadline every stream is closed, and its loop ends; a loop that is stuck in a command is
            // left behind.
            long now = server.TickMs;
            bool isLate = now >= deadline || cancellation.IsCancellationRequested;
            foreach (var (connection, _) in _connections)
                if (isLate || connection.LeavesUnread(now)) connection.Abort();
            if (now >= deadline + ITransport.StopGraceMs) return false;
            await Task.Delay(1, CancellationToken.None).ConfigureAwait(false);
        }

        bool ended = true;
        foreach (var poller in _pollers) ended &= poller.Stop(ITransport.StopGraceMs);
        if (!ended) return false;
        _leases?.Dispose();
        _stop.Dispose();
        return true;
    }

    private async Task ServeAsync(PipelineConnection connection)
    {
        try
        {
            await connection.RunAsync().ConfigureAwait(false);
        }
        finally
        {
            _connections.TryRemove(connection, out _);
        }
    }

    private async Task AcceptAsync(Socket listener, bool isTls)
    {
        using var spare = new SpareDescriptor();
        while (!_stop.IsCancellationRequested)
        {
            try
            {
                var socket = await listener.AcceptAsync(_stop.Token).ConfigureAwait(false);
                if (isTls) await AdmitTlsAsync(socket).ConfigureAwait(false);
                else await AdmitAsync(socket).ConfigureAwait(false);
            }
            catch (OperationCanceledException)
            {
                return;
            }
            catch (ObjectDisposedException)
            {
                return;
            }
            catch (SocketException exception)
            {
                if (exception.SocketErrorCode is not (SocketError.TooManyOpenSockets
                    or SocketError.NoBufferSpaceAvailable)) continue;
                if (server.LogBrakes.Accept.TryTake(server.TickMs, out string more))
                    server.Log.LogWarning(
                        "Cannot accept connections for lack of descriptors or memory; trying again{More}", more);
                if (exception.SocketErrorCode == SocketError.TooManyOpenSockets) RefuseOne(listener, spare, isTls);
                await Task.Delay(BackOffMs, CancellationToken.None).ConfigureAwait(false);
            }
        }
    }

    /// <summary>Accepts a client with the spare descriptor, and sends it the error; over TLS it only sees the
    /// end.</summary>
    private void RefuseOne(Socket listener, SpareDescriptor spare, bool isTls)
    {
        try
        {
            if (!spare.TryLend() || !listener.Poll(0, SelectMode.SelectRead)) return;
            using var socket = listener.Accept();
            byte[] refusal = Admission.RefuseForDescriptors(server);
            if (!isTls) socket.Send(refusal);
        }
        catch (Exception exception) when (exception is SocketException or ObjectDisposedException)
        {
            // The client has gone, or somebody else took the descriptor: the next round tries again.
        }
        finally
        {
            spare.Renew();
        }
    }

    private async ValueTask AdmitAsync(Socket socket)
    {
        try
        {
            var peer = socket.RemoteEndPoint as IPEndPoint;
            bool isLocal = peer == null || IPAddress.IsLoopback(peer.Address);
            if (Admission.Refusal(server, (int)socket.Handle, isLocal, out bool isReserved) is { } refusal)
            {
                await socket.SendAsync(refusal).ConfigureAwait(false);
                socket.Dispose();
                return;
            }

            Serve(socket, peer, new NetworkStream(socket, ownsSocket: true), isLocal, isReserved);
        }
        catch (Exception exception) when (exception is SocketException or ObjectDisposedException)
        {
            socket.Dispose();       // the client has gone already
        }
    }

    /// <summary>Takes a client over TLS on as soon as there is a place for its handshake, which then has the
    /// place.</summary>
    // Who is refused gets no error: nobody could read it before the handshake.
    private async ValueTask AdmitTlsAsync(Socket socket)
    {
        bool hasPlace = false;
        try
        {
            await server.Tls.Places.TakeAsync(_stop.Token).ConfigureAwait(false);
            hasPlace = true;
            var peer = socket.RemoteEndPoint as IPEndPoint;
            bool isLocal = peer == null || IPAddress.IsLoopback(peer.Address);
            if (Admission.Refusal(server, (int)socket.Handle, isLocal, out bool isReserved) == null)
            {
                Stream inner = _pollers.Length == 0 ? new NetworkStream(socket, ownsSocket: true)
                    : _pollers[(uint)Interlocked.Increment(ref _nextPoller) % _pollers.Length].Open(socket);
                var stream = new SslStream(inner, leaveInnerStreamOpen: false);
                Serve(socket, peer, stream, isLocal, isReserved, new TlsHandshake(server, stream, inner, socket));
                return;
            }
        }
        catch (Exception exception) when (exception is SocketException or ObjectDisposedException
            or OperationCanceledException)
        {
            // The client has gone already, or the server stops.
        }

        socket.Dispose();
        if (hasPlace) server.Tls.Places.Leave();
    }

    private void Serve(Socket socket, IPEndPoint? peer, Stream stream, bool isLocal, bool isReserved,
        TlsHandshake? handshake = null)
    {
        if (peer != null) SetTcpOptions(socket);
        string local = peer == null ? $"{socket.LocalEndPoint}:0" : socket.LocalEndPoint?.ToString() ?? "";
        Attach(stream, socket, peer?.ToString() ?? local, local, isLocal, isReserved, handshake);
    }

    private void SetTcpOptions(Socket socket)
    {
        socket.NoDelay = true;
        int seconds = server.Options.TcpKeepAlive;
        if (seconds <= 0) return;
        socket.SetSocketOption(SocketOptionLevel.Socket, SocketOptionName.KeepAlive, true);
        socket.SetSocketOption(SocketOptionLevel.Tcp, SocketOptionName.TcpKeepAliveTime, seconds);
        socket.SetSocketOption(SocketOptionLevel.Tcp, SocketOptionName.TcpKeepAliveInterval, Math.Max(seconds / 3, 1));
        socket.SetSocketOption(SocketOptionLevel.Tcp, SocketOptionName.TcpKeepAliveRetryCount, 3);
    }

    private async Task SweepAsync()
    {
        using var timer = new PeriodicTimer(TimeSpan.FromMilliseconds(SweepMs));
        try
        {
            while (await timer.WaitForNextTickAsync(_stop.Token).ConfigureAwait(false))
            {
                long now = server.TickMs;
                // Pairs: Keys would lock and copy the whole table.
                foreach (var (connection, _) in _connections)
                {
                    if (connection.IsOverdue(now)) connection.Abort();
                    else connection.WakeIfIdle(now);
                }
            }
        }
        catch (OperationCanceledException)
        {
            // Stopping.
        }
    }
}

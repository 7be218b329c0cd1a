using System.Net;
using System.Net.Sockets;
using Kv.Server.Http;
using Kv.Server.Reports;
using Microsoft.Extensions.Logging;

namespace Kv.Server.Network;

/// <summary>The port that speaks nothing but HTTP (metrics-port): one request a connection, for those who watch the
/// server.</summary>
/// <remarks>
/// Connections are few and short: each has <see cref="RequestMs"/> for its request and as long for taking the reply.
/// Who comes while <see cref="ConnectionsMax"/> are there takes the place of the one that has been idle for longest:
/// has said nothing, has to wait because of a wrong password, or has its reply and does not leave. However many do
/// that, whoever asks at once is served. They are no clients: they are in no list and no count, and their descriptors
/// are set aside at the start (<see cref="DescriptorLimit"/>).
/// Threads: the pool's.
/// </remarks>
internal sealed class HttpPort(KvServer server) : IDisposable
{
    public const int ConnectionsMax = 16;

    /// <summary>The longest head of a request.</summary>
    public const int HeadBytesMax = 8 << 10;

    private const int BackOffMs = 10, RetryMs = 100, Backlog = 64;

    private readonly CancellationTokenSource _stop = new();
    private readonly SemaphoreSlim _places = new(ConnectionsMax);
    private readonly List<Socket> _listeners = [];
    private readonly List<Task> _accepting = [];

    // Those that may lose their place, longest idle first; under the lock.
    private readonly Lock _guard = new();
    private readonly LinkedList<CancellationTokenSource> _idle = new();

    /// <summary>What a client has for its request, and for taking the reply.</summary>
    public int RequestMs { get; init; } = 5000;

    /// <summary>What a client has, after the reply, for its end of the connection.</summary>
    public int LingerMs { get; init; } = 1000;

    /// <summary>Listens on all addresses of the options, or on none. Who connects waits for <see cref="Serve"/> in the
    /// system's queue.</summary>
    /// <exception cref="ListenException">An address cannot be listened on. Nothing is left open.</exception>
    public void Open()
    {
        try
        {
            foreach (var (endPoint, optional) in WantedAddress.Of(server.Options, server.Options.MetricsPort))
                if (ListeningSocket.OpenTcp(endPoint, Backlog, optional) is { } socket) _listeners.Add(socket);
        }
        catch (ListenException)
        {
            foreach (var socket in _listeners) socket.Dispose();
            throw;
        }
    }

    public void Serve()
    {
        foreach (var socket in _listeners) _accepting.Add(AcceptAsync(socket));
    }

    /// <summary>Stops listening, and waits for the requests that are being answered: those use the store.</summary>
    public async Task StopAsync()
    {
        await _stop.CancelAsync().ConfigureAwait(false);
        foreach (var socket in _listeners) socket.Dispose();
        await Task.WhenAll(_accepting).ConfigureAwait(false);
        // Ends: those who have a place are told to stop.
        for (int i = 0; i < ConnectionsMax; i++) await _places.WaitAsync().ConfigureAwait(false);
    }

    public void Dispose()
    {
        _stop.Dispose();
        _places.Dispose();
    }

    private async Task AcceptAsync(Socket listener)
    {
        while (!_stop.IsCancellationRequested)
        {
            Socket? socket = null;
            try
            {
                socket = await listener.AcceptAsync(_stop.Token).ConfigureAwait(false);
                // Ends: those who are being served are idle soon, if they do not leave. At first none of them may be.
                for (int wait = 0; !await _places.WaitAsync(wait, _stop.Token).ConfigureAwait(false); wait = RetryMs)
                    EndOldestIdle();

                var accepted = socket;
                socket = null;
                _ = Task.Run(() => ServeAsync(accepted));
            }
            catch (Exception exception) when (exception is OperationCanceledException or ObjectDisposedException
                || _stop.IsCancellationRequested)
            {
                // It stops.
            }
            catch (SocketException exception)
            {
                if (server.LogBrakes.Accept.TryTake(server.TickMs, out string more))
                    server.Log.LogWarning("Cannot accept a connection on metrics-port ({Error}); trying again{More}",
                        exception.SocketErrorCode, more);
                await Task.Delay(BackOffMs).ConfigureAwait(false);
            }
            finally
            {
                socket?.Dispose();      // it stops while this one waits for a place
            }
        }
    }

    private void EndOldestIdle()
    {
        lock (_guard)
        {
            if (_idle.First is not { } oldest) return;
            _idle.RemoveFirst();
            oldest.Value.CancelAfter(0);        // by a timer, not here
        }
    }

    private async Task ServeAsync(Socket socket)
    {
        try
        {
            using (socket) await AnswerAsync(socket).ConfigureAwait(false);
        }
        catch (Exception exception) when (exception is SocketException or OperationCanceledException
            or ObjectDisposedException)
        {
            // The client has gone or is too slow, or the server stops.
        }
        catch (Exception exception)
        {
            server.Log.LogError(exception, "A request on metrics-port failed; its connection is closed");
        }
        finally
        {
            _places.Release();
        }
    }

    private async Task AnswerAsync(Socket socket)
    {
        socket.NoDelay = true;
        using var deadline = CancellationTokenSource.CreateLinkedTokenSource(_stop.Token);
        var place = new LinkedListNode<CancellationTokenSource>(deadline);
        try
        {
            BeginIdle(place, RequestMs);
            var answer = await ReadAsync(socket, deadline.Token).ConfigureAwait(false);
            if (answer.DelayMs > 0) await Task.Delay((int)answer.DelayMs, deadline.Token).ConfigureAwait(false);
            // Who has asked keeps the place until the reply is with the system, also if it was to be given away.
            EndIdle(place);
            using var page = new PageBuffer();
            byte[] head = answer.Reply ?? answer.Make!(page);
            deadline.CancelAfter(RequestMs);
            await SendAsync(socket, head, deadline.Token).ConfigureAwait(false);
            await SendAsync(socket, page.Written, deadline.Token).ConfigureAwait(false);
            // To close at once with something unread would reset the connection, and the client lose the reply.
            socket.Shutdown(SocketShutdown.Send);
            BeginIdle(place, LingerMs);
            byte[] rest = new byte[1024];
            while (await socket.ReceiveAsync(rest, deadline.Token).ConfigureAwait(false) > 0)
            {
                // Ends: with the client's side, or the time.
            }
        }
        finally
        {
            EndIdle(place);
        }
    }

    /// <summary>Waits for a client from now on; another one may take its place meanwhile.</summary>
    private void BeginIdle(LinkedListNode<CancellationTokenSource> place, int milliseconds)
    {
        lock (_guard)
        {
            place.Value.CancelAfter(milliseconds);
            _idle.AddLast(place);
        }
    }

    private void EndIdle(LinkedListNode<CancellationTokenSource> place)
    {
        lock (_guard)
        {
            if (place.List != null) _idle.Remove(place);
        }
    }

    /// <summary>Reads up to the empty line after the headers.</summary>
    /// <returns>What the request gets.</returns>
    private async Task<HttpAnswer> ReadAsync(Socket socket, CancellationToken cancellation)
    {
        byte[] head = new byte[HeadBytesMax];
        var remote = (IPEndPoint?)socket.RemoteEndPoint;
        int length = 0;
        while (length < head.Length)
        {
            int count = await socket.ReceiveAsync(head.AsMemory(length), cancellation).ConfigureAwait(false);
            if (count == 0) throw new SocketException((int)SocketError.ConnectionReset);
            length += count;
            if (!HasEnd(head.AsSpan(0, length))) continue;
            return Answer(head.AsSpan(0, length), remote);
        }

        return new(HttpReply.Text("431 Request Header Fields Too Large", $"At most {HeadBytesMax} bytes.\n"));
    }

    private HttpAnswer Answer(ReadOnlySpan<byte> head, IPEndPoint? remote)
    {
        var line = head[..head.IndexOf((byte)'\n')].TrimEnd((byte)'\r');
        if (!HttpRequestLine.TryRead(line, out var request))
            return new(HttpReply.Text("400 Bad Request", "That is no request of HTTP 1.\n"));
        // Figures are shown to everybody here. Who sees more is a user like any other: without a password only where
        // the clients' port would serve them, too.
        var anyone = server.Users.Default.Rules;
        bool isServed = anyone.LetsAnyoneIn
            && (!server.Options.ProtectedMode || (remote != null && IPAddress.IsLoopback(remote.Address)));
        return server.Http.Answer(request,
            new HttpCaller(true, isServed ? anyone : null, HttpHead.Read(head), remote?.ToString() ?? ""));
    }

    private static bool HasEnd(ReadOnlySpan<byte> head) =>
        head.IndexOf("\r\n\r\n"u8) >= 0 || head.IndexOf("\n\n"u8) >= 0;

    private static async Task SendAsync(Socket socket, ReadOnlyMemory<byte> bytes, CancellationToken cancellation)
    {
        while (!bytes.IsEmpty)
            bytes = bytes[await socket.SendAsync(bytes, cancellation).ConfigureAwait(false)..];
    }
}

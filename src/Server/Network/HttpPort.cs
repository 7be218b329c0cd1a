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
/// Who comes while <see cref="ConnectionsMax"/> are there takes the place of the one that has been silent for longest,
/// or has to wait because of a wrong password: however many say nothing, whoever asks at once is served. They are no
/// clients: they are in no list and no count, and their descriptors are set aside at the start
/// (<see cref="DescriptorLimit"/>).
/// Threads: the pool's.
/// </remarks>
internal sealed class HttpPort(KvServer server) : IDisposable
{
    public const int ConnectionsMax = 16;

    /// <summary>The longest head of a request.</summary>
    public const int HeadBytesMax = 8 << 10;

    private const int LingerMs = 1000, BackOffMs = 10, Backlog = 64;

    private readonly CancellationTokenSource _stop = new();
    private readonly SemaphoreSlim _places = new(ConnectionsMax);
    private readonly List<Socket> _listeners = [];
    private readonly List<Task> _accepting = [];

    // Those whose request is not there yet, the oldest first; under the lock.
    private readonly Lock _guard = new();
    private readonly LinkedList<CancellationTokenSource> _silent = new();

    /// <summary>What a client has for its request, and for taking the reply.</summary>
    public int RequestMs { get; init; } = 5000;

    /// <summary>Listens on all addresses of the options, or on none.</summary>
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
                if (!await _places.WaitAsync(0).ConfigureAwait(false))
                {
                    EndOldestSilent();
                    await _places.WaitAsync(_stop.Token).ConfigureAwait(false);
                }

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

    private void EndOldestSilent()
    {
        lock (_guard)
        {
            if (_silent.First is not { } oldest) return;
            _silent.RemoveFirst();
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
        var answer = await AwaitRequestAsync(socket, deadline).ConfigureAwait(false);
        using var page = new PageBuffer();
        byte[] head = answer.Reply ?? answer.Make!(page);
        deadline.CancelAfter(RequestMs);
        await SendAsync(socket, head, deadline.Token).ConfigureAwait(false);
        await SendAsync(socket, page.Written, deadline.Token).ConfigureAwait(false);
        // To close at once with something unread would reset the connection, and the client lose the reply.
        socket.Shutdown(SocketShutdown.Send);
        deadline.CancelAfter(LingerMs);
        byte[] rest = new byte[1024];
        while (await socket.ReceiveAsync(rest, deadline.Token).ConfigureAwait(false) > 0)
        {
            // Ends: with the client's side, or the time.
        }
    }

    /// <summary>Reads the request, and lets who guesses passwords wait; meanwhile another client may take the
    /// place.</summary>
    private async Task<HttpAnswer> AwaitRequestAsync(Socket socket, CancellationTokenSource deadline)
    {
        var place = new LinkedListNode<CancellationTokenSource>(deadline);
        lock (_guard) _silent.AddLast(place);
        try
        {
            deadline.CancelAfter(RequestMs);
            var answer = await ReadAsync(socket, deadline.Token).ConfigureAwait(false);
            if (answer.DelayMs > 0) await Task.Delay((int)answer.DelayMs, deadline.Token).ConfigureAwait(false);
            return answer;
        }
        finally
        {
            lock (_guard)
            {
                if (place.List != null) _silent.Remove(place);
            }
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

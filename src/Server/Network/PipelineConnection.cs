using System.Buffers;
using System.Diagnostics;
using System.IO.Pipelines;
using System.Net.Sockets;
using Kv.Server.Execution;
using Kv.Server.Sessions;
using Kv.Storage;
using Microsoft.Extensions.Logging;

namespace Kv.Server.Network;

/// <summary>A client over a socket's stream, or one inside of the process: one loop on the thread pool that receives,
/// runs and writes.</summary>
/// <remarks>
/// Threads: the loop's, one at a time; beside it at most one writer of what the stream does not take at once, so that a
/// client which sends everything before it reads is served. <see cref="_guard"/> orders those two.
/// What arrives is received into the buffer of a lease, of which there are few.
/// </remarks>
internal sealed class PipelineConnection : ISessionOwner
{
    private const int UnauthenticatedOutputBytes = 1024;
    private const int UnauthenticatedInputBytes = 1024 * 1024;
    private const int WriteBytes = 64 * 1024;

    /// <summary>Replies of up to so many bytes go straight to the writer: what a window writes between two flushes, and
    /// one more reply.</summary>
    private const int DirectBytes = 512 * 1024;

    /// <summary>A large argument is received straight into its block, so much of it at once.</summary>
    private const int BlockBytesAtOnce = 1024 * 1024;

    private const int DrainMs = 1000, DrainBytes = 16 * 1024;

    /// <summary>A timer that came a moment too early comes again after so long.</summary>
    private const int TimerAgainMs = 50;

    private static readonly StreamPipeWriterOptions WriterOptions = new(minimumBufferSize: 16 * 1024, leaveOpen: true);

    private readonly KvServer _server;
    private readonly WindowLeases _leases;
    private readonly Stream _stream;
    private readonly Socket? _socket;
    private readonly StreamInput _input;
    private readonly PipeWriter _writer;
    private readonly Lock _guard = new();
    private readonly LoopSignal _signal = new();
    private readonly Backlog _backlog = new();
    private Task _writing = Task.CompletedTask;
    private bool _isWriting;
    private volatile bool _failed;
    private volatile bool _stopping;
    private bool _lingers;
    private int _hasPassedLimit;
    private long _overSoftSince;
    private long _flushes, _flushesSeen = -1, _flushesSeenTickMs;
    private long _charged, _inWriter;

    public PipelineConnection(KvServer server, WindowLeases leases, Stream stream, Socket? socket)
    {
        _server = server;
        _leases = leases;
        _stream = stream;
        _socket = socket;
        _writer = PipeWriter.Create(stream, WriterOptions);
        _input = new StreamInput(stream, socket, _signal);
    }

    /// <summary>Bytes that have arrived and are not yet run.</summary>
    public PendingInput Pending;

    /// <summary>It has had its share of a turn, and more of its input is here.</summary>
    public bool HasMore;

    /// <summary>In a run: all bytes not yet run, here or in the lease's buffer.</summary>
    public int InputLength;

    public Session Session { get; set; } = null!;

    // From any thread, as those of EpollConnection.
    public long QueryBytes => Math.Max(InputLength, Pending.Length);

    public long QueryFreeBytes => Math.Max(0, Pending.Capacity - Pending.Length);

    // Volatile: the writing thread's; a moment old is good enough.
    public long OutputBytes => _backlog.Length + Volatile.Read(ref _inWriter) + (Session.Messages?.Bytes ?? 0);

    public int OutputPieces =>
        _backlog.Pieces + (Volatile.Read(ref _inWriter) != 0 ? 1 : 0) + (Session.Messages?.Count ?? 0);

    public long OutputMemoryBytes =>
        _backlog.MemoryBytes + _backlog.BlockBytes + Volatile.Read(ref _inWriter) + (Session.Messages?.Bytes ?? 0);

    public long BufferBytes =>
        Pending.Capacity + Session.Partial.KeptBytes + _backlog.MemoryBytes + Volatile.Read(ref _inWriter);

    public void Wake(Session session)
    {
        if (session.IsKilled) Abort();
        Wake();
    }

    private void Wake() => _signal.Set();

    /// <summary>Answers what was received, and ends.</summary>
    public void BeginStop()
    {
        _stopping = true;
        Wake(Session);
    }

    /// <summary>Ends the connection now.</summary>
    public void Abort()
    {
        _failed = true;
        _stream.Dispose();
        Wake();
    }

    /// <summary>While the server stops: whether the client has taken nothing of what it is owed for a while. By one
    /// thread.</summary>
    public bool LeavesUnread(long now)
    {
        if (!_isWriting) return false;      // stale is good enough: it is asked again and again
        long flushes = Volatile.Read(ref _flushes);
        if (flushes != _flushesSeen) (_flushesSeen, _flushesSeenTickMs) = (flushes, now);
        return now - _flushesSeenTickMs >= ITransport.StopUnreadMs;
    }

    /// <summary>Whether the client has been silent, nameless or not reading for longer than it may.</summary>
    public bool IsOverdue(long now)
    {
        var options = _server.Options;
        long timeoutMs = options.Timeout * 1000L, authMs = options.AuthTimeout * 1000L;
        if (timeoutMs > 0 && now - Session.LastActiveTickMs >= timeoutMs && Session.Kind == ClientKind.Normal
            && (Session.Gate & SessionGate.Stopped) == 0) return true;
        if (authMs > 0 && !Session.Authenticated && now - Session.CreatedTickMs >= authMs)
        {
            Session.NoteAuthTimeout();
            return true;
        }

        return !IsOutputAllowed(now);
    }

    /// <summary>Serves the client until it goes.</summary>
    public async Task RunAsync()
    {
        try
        {
            await LoopAsync().ConfigureAwait(false);
            await _writing.ConfigureAwait(false);
            if (Session.CloseAfterReply && !_failed && _socket != null) BeginLinger();
            if (_socket is { Connected: true } && !_failed) _socket.Shutdown(SocketShutdown.Send);
            if (_lingers) await DrainAsync().ConfigureAwait(false);
        }
        catch (Exception exception) when (exception is IOException or SocketException or ObjectDisposedException
            or OperationCanceledException or InvalidOperationException)
        {
            // The client has gone; nobody is there to be told.
        }
        catch (Exception exception)
        {
            _server.Log.LogCritical(exception, "Serving a client failed; its connection is closed");
        }

        await EndAsync().ConfigureAwait(false);
    }

    /// <summary>Takes the replies of a run: into the stream when that keeps up, else into the backlog.</summary>
    internal void Send(WindowLease lease, SessionOutput output, int start, int end)
    {
        if (_failed)
        {
            output.DropReferences(end);
            return;
        }

        try
        {
            Fault.Point("reply.send");
            SendNow(lease, output, start, end);
        }
        catch (Exception exception)
        {
            _server.Log.LogCritical(exception, "Sending to client {Client} failed; its connection is closed",
                Session.Id);
            output.DropReferences(end);
            Abort();
        }
    }

    private unsafe void SendNow(WindowLease lease, SessionOutput output, int start, int end)
    {
        lock (_guard)
        {
            if (!_isWriting && end - start <= DirectBytes && !output.HasReference(end))
            {
                _writer.Write(new ReadOnlySpan<byte>(output.Buffer.Start + start, end - start));
                _inWriter = end - start;
                CountSentLatched(lease.Counters);
            }
            else
            {
                while (output.TryTakeReference(end, out var reference))
                {
                    _backlog.Append(output.Buffer.Start + start, reference.Offset - start);
                    _backlog.Append(reference.Block, reference.First, reference.Length);
                    start = reference.Offset;
                }

                _backlog.Append(output.Buffer.Start + start, end - start);
            }

            if (!_isWriting) BeginWritingLatched();
            PauseLatched();
        }
    }

    /// <summary>Whether what is here is to be gone on with before more is read.</summary>
    private bool GoesOnAlone => HasMore || (Session.Gate & SessionGate.Stopped) != 0;

    private async Task LoopAsync()
    {
        while (!_failed && !Session.CloseAfterReply)
        {
            _signal.Clear();
            if (Session.IsKilled) return;
            await WriteMessagesAsync().ConfigureAwait(false);
            // Who does not read would have us wait until he does.
            if (!IsInputAllowed() || !IsOutputAllowed(_server.TickMs))
            {
                Abort();
                return;
            }

            if (GoesOnAlone)
            {
                // A client that has left while it waits for others is served no more.
                if (_input.HasEnded && Session.WaitsForOthers) return;
                // Nor one that has left in the middle of a long command that only reads, and has sent nothing else.
                if (Session.EndsWithClient && Pending.Length == 0 && _input.IsAtEnd()) return;
                if (Session.IsParked && !await WaitAsync().ConfigureAwait(false)) return;
                await GoOnAsync().ConfigureAwait(false);
                continue;
            }

            // What is pending is a command that has not come whole, and may never.
            if (_input.HasEnded || (_stopping && !_input.HasArrived)) return;
            if (_input.CanReceive()) await ReceiveAsync().ConfigureAwait(false);
            else await _signal.WaitAsync().ConfigureAwait(false);
        }
    }

    /// <summary>Receives what has arrived.</summary>
    /// <returns>How many bytes; 0 for nothing.</returns>
    internal int Receive(Span<byte> room, WorkerCounters counters)
    {
        int count = _input.Receive(room);
        if (count == 0) return 0;
        Session.LastActiveTickMs = _server.TickMs;
        Session.BytesIn += count;
        counters.BytesIn += count;
        counters.Reads++;
        return count;
    }

    /// <summary>Receives, and runs what is complete.</summary>
    private async ValueTask ReceiveAsync()
    {
        if (Session.Blocks is { IsFilling: true } blocks)
        {
            Fill(blocks);
            return;
        }

        var lease = await _leases.RentAsync().ConfigureAwait(false);
        try
        {
            lease.ReceiveAndRun(this);
        }
        finally
        {
            _leases.Return(lease);
        }

        lock (_guard) ChargeLatched();
    }

    /// <summary>Waits with a session that is parked, and receives meanwhile: that the client has left stands behind all
    /// that it has sent.</summary>
    /// <returns>False when it has left or sent too much, or the server stops.</returns>
    private async ValueTask<bool> WaitAsync()
    {
        using var timer = Session.ParkedUntilTickMs == long.MaxValue ? null : WakeIn(LeftOfWaitMs);
        while (true)
        {
            // Ends: whoever serves the client, or ends its wait, wakes this; so do a kill, the server's end and the
            // timer.
            _signal.Clear();
            if (Session.TryEndWait(_server.TickMs)) return true;
            if (_failed || _stopping || (_input.HasEnded && Session.WaitsForOthers)) return false;
            await WriteMessagesAsync().ConfigureAwait(false);
            if (!IsInputAllowed() || !IsOutputAllowed(_server.TickMs))
            {
                Abort();
                return false;
            }

            if (!_input.HasEnded && _input.CanReceive()) await ReadAheadAsync().ConfigureAwait(false);
            else await _signal.WaitAsync().ConfigureAwait(false);
        }
    }

    private async ValueTask ReadAheadAsync()
    {
        var lease = await _leases.RentAsync().ConfigureAwait(false);
        try
        {
            if (!lease.TryReadAhead(this)) Abort();
        }
        finally
        {
            _leases.Return(lease);
        }

        lock (_guard) ChargeLatched();
    }

    private Timer WakeIn(int milliseconds) =>
        new(static self => ((PipelineConnection)self!).Wake(), this, milliseconds, TimerAgainMs);

    private int LeftOfWaitMs => (int)Math.Clamp(Session.ParkedUntilTickMs - _server.TickMs, 1, int.MaxValue);

    /// <summary>Waits for what a stopped session waits for, then runs what it has in store.</summary>
    private async ValueTask GoOnAsync()
    {
        if (Session.OutputPaused && Session.Steps is not { Holds: true })
        {
            await _writing.ConfigureAwait(false);
            Session.OutputPaused = false;
        }

        Debug.Assert(!Session.IsParked, "who is parked waits elsewhere");
        // Who goes on asks for the thread again, behind all who wait for one: else a few long commands had all threads
        // for themselves.
        await Task.Yield();
        var lease = await _leases.RentAsync().ConfigureAwait(false);
        bool isTurnedAway;
        try
        {
            lease.Run(this);
            isTurnedAway = lease.Store.Presence.IsTurnedAway;
        }
        finally
        {
            _leases.Return(lease);
        }

        lock (_guard) ChargeLatched();
        if (isTurnedAway) await Task.Delay(1).ConfigureAwait(false);        // most wait for a long pause to end
    }

    private async ValueTask WriteMessagesAsync()
    {
        if (!Session.TakeMessages()) return;
        var lease = await _leases.RentAsync().ConfigureAwait(false);
        try
        {
            var output = lease.Output;
            output.Reply.Version = Session.Version;
            // Ends: with the messages that were taken.
            for (bool isMore = true; isMore;)
            {
                isMore = Session.WriteTakenMessages(output.Reply, CommandWindow.FlushBytes);
                if (output.Buffer.Length > 0) Send(lease, output, 0, output.Buffer.Length);
                output.Buffer.Clear();
            }
        }
        finally
        {
            _leases.Return(lease);
        }
    }

    private unsafe void Fill(ReceivedBlocks blocks)
    {
        int bytes = BlockBytesAtOnce;
        byte* room = blocks.Room(ref bytes);
        var counters = _server.Counters.Borrow();
        int count = Receive(new Span<byte>(room, bytes), counters);
        _server.Counters.GiveBack(counters);
        if (count == 0) return;
        blocks.Advance(count);
        blocks.CompleteIfFull(Session);
    }

    /// <summary>Has the stream take what was written; what it does not take at once is left to a writer.</summary>
    private void BeginWritingLatched()
    {
        if (_backlog.IsEmpty)
        {
            var flush = _writer.FlushAsync();
            if (flush.IsCompletedSuccessfully)
            {
                flush.GetAwaiter().GetResult();
                _inWriter = 0;
                return;
            }

            _isWriting = true;
            _writing = WriteAsync(flush);
            return;
        }

        _isWriting = true;
        _writing = WriteAsync(default);
    }

    private async Task WriteAsync(ValueTask<FlushResult> flush)
    {
        try
        {
            await flush.ConfigureAwait(false);
            while (true)
            {
                // Ends: when nothing waits any more, or the stream fails.
                lock (_guard)
                {
                    bool isMore = TakeLatched();
                    ChargeLatched();
                    if (!isMore)
                    {
                        _isWriting = false;
                        return;
                    }
                }

                await _writer.FlushAsync().ConfigureAwait(false);
                Volatile.Write(ref _flushes, _flushes + 1);     // by the one writer there is
            }
        }
        catch (Exception exception) when (exception is IOException or SocketException or ObjectDisposedException
            or OperationCanceledException or InvalidOperationException)
        {
            _failed = true;
            Wake();
        }
    }

    private unsafe bool TakeLatched()
    {
        _inWriter = 0;
        if (_backlog.IsEmpty) return false;
        using var guard = _server.Store.Enter();
        for (int room = WriteBytes; room > 0 && !_backlog.IsEmpty;)
        {
            byte* bytes = _backlog.Front(out int count, out _);
            count = Math.Min(count, room);
            _writer.Write(new ReadOnlySpan<byte>(bytes, count));
            _backlog.Advance(count, guard.Session);
            _inWriter += count;
            room -= count;
        }

        var counters = _server.Counters.Borrow();
        CountSentLatched(counters);
        _server.Counters.GiveBack(counters);
        return true;
    }

    private void CountSentLatched(WorkerCounters counters)
    {
        Session.BytesOut += _inWriter;
        counters.BytesOut += _inWriter;
        counters.Writes++;
    }

    private void PauseLatched()
    {
        if (_backlog.Length + _inWriter > _server.Options.ClientOutputPause) Session.OutputPaused = true;
        ChargeLatched();
    }

    /// <summary>Keeps the store's account of what the client's buffers hold.</summary>
    // The writing thread may read the input's size while the loop changes it: the loop charges anew when it is done.
    private void ChargeLatched()
    {
        long bytes = BufferBytes;
        if (bytes == _charged) return;
        _server.Store.Charge(bytes - _charged);
        _charged = bytes;
    }

    private bool IsInputAllowed()
    {
        long held = Pending.Length + Session.Partial.TakenBytes + (Session.Blocks?.Bytes ?? 0)
            + (Session.Transaction?.QueuedBytes ?? 0);
        if (held <= (Session.Authenticated ? _server.Options.ClientQueryBufferLimit : UnauthenticatedInputBytes))
            return true;
        Session.NoteInputLimit(held);
        return false;
    }

    private bool IsOutputAllowed(long now)
    {
        long bytes = OutputBytes;
        if (!Session.Authenticated && bytes > UnauthenticatedOutputBytes) return false;
        if (_server.Options.ClientOutputBufferLimit.Allows(Session.Kind, bytes, now, ref _overSoftSince)) return true;
        // Interlocked: the loop and the sweep look, and it is one disconnection.
        if (Interlocked.Exchange(ref _hasPassedLimit, 1) != 0) return false;
        _server.Counters.CountOutputLimitClose();
        if (_server.LogBrakes.OutputLimit.TryTake(now, out string more))
        {
            _server.Log.LogWarning(
                "Client {Client} at {Address} left {Bytes} bytes unread; closed (client-output-buffer-limit){More}",
                Session.Id, Session.Address, bytes, more);
        }

        return false;
    }

    /// <summary>Receives on for a moment after our last words, so that closing does not reset them.</summary>
    private async Task DrainAsync()
    {
        long until = _server.TickMs + DrainMs;
        using var timer = WakeIn(DrainMs);
        while (true)
        {
            // Ends: when the client closes its side, or patience does.
            _signal.Clear();
            if (_failed || _stopping || _input.HasEnded || _server.TickMs >= until) return;
            if (_input.CanReceive()) Discard();
            else await _signal.WaitAsync().ConfigureAwait(false);
        }
    }

    private void Discard()
    {
        Span<byte> scratch = stackalloc byte[DrainBytes];
        _input.Receive(scratch);
    }

    /// <summary>The session is over, though the socket lingers. Before the client can see its end: whoever reads that
    /// finds the session gone and the socket counted.</summary>
    private void BeginLinger()
    {
        _lingers = true;
        _server.Connections.BeginLinger();
        Session.End();
    }

    private async Task EndAsync()
    {
        _failed = true;
        if (!_lingers) Session.End();
        await _stream.DisposeAsync().ConfigureAwait(false);
        if (_lingers) _server.Connections.EndLinger();
        await _writing.ConfigureAwait(false);
        lock (_guard)
        {
            using var guard = _server.Store.Enter();
            Pending.Clear();
            Session.Partial.Reset();
            Session.Blocks?.Release(guard.Session);
            Session.Blocks = null;
            _backlog.Clear(guard.Session);
            _inWriter = 0;
            ChargeLatched();
        }
    }
}

using System.Buffers;
using System.Diagnostics;
using System.IO.Pipelines;
using System.Net.Security;
using System.Net.Sockets;
using Kv.Server.Execution;
using Kv.Server.Sessions;
using Kv.Storage;
using Microsoft.Extensions.Logging;

namespace Kv.Server.Network;

/// <summary>A client over a socket's stream, over TLS, or inside of the process: one loop on the thread pool that
/// receives, runs and writes.</summary>
/// <remarks>
/// Threads: the loop's, one at a time; beside it at most one writer of what the stream does not take at once, so that
/// clients are served that send everything before they read. <see cref="_guard"/> orders the loop and the writer.
/// Input is received into the buffer of a lease, of which there are few.
/// </remarks>
internal sealed class PipelineConnection : ISessionOwner
{
    private const int UnauthenticatedOutputBytes = 1024;
    private const int WriteBytes = 64 * 1024;

    /// <summary>Replies of at most this many bytes go straight to the writer: what a window writes between two flushes,
    /// and one more reply.</summary>
    private const int DirectBytes = 512 * 1024;

    /// <summary>How much of a large argument is received at once, straight into its block.</summary>
    private const int BlockBytesAtOnce = 1024 * 1024;

    private const int DrainMs = 1000, DrainBytes = 16 * 1024;

    /// <summary>After so many receives without a wait in between the loop gives way: over TLS others may wait for its
    /// thread.</summary>
    private const int ReceivesMax = 16;

    /// <summary>A timer that came a moment too early comes again after this time.</summary>
    private const int TimerAgainMs = 50;

    private const long NotSeen = -1;

    // What is written is sent a buffer at a time.
    private static readonly StreamPipeWriterOptions WriterOptions =
        new(minimumBufferSize: TlsOutput.BytesMax, leaveOpen: true);

    private readonly KvServer _server;
    private readonly WindowLeases _leases;
    private readonly Stream _stream;
    private readonly Socket? _socket;
    private readonly TlsHandshake? _handshake;
    private readonly TlsOutput? _tlsOutput;
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
    private long _flushes, _flushesSeen = NotSeen, _flushesSeenTickMs;
    private BufferCharge _charge;
    private long _inWriter, _heldTicket;

    /// <param name="stream">The socket's own, an <see cref="SslStream"/> over it, or one without a socket.</param>
    /// <param name="handshake">Over TLS, what comes first.</param>
    public PipelineConnection(KvServer server, WindowLeases leases, Stream stream, Socket? socket,
        TlsHandshake? handshake)
    {
        _server = server;
        _leases = leases;
        _stream = stream;
        _socket = socket;
        _handshake = handshake;
        if (stream is SslStream tls) _tlsOutput = new TlsOutput(tls);
        _writer = PipeWriter.Create(stream, WriterOptions);
        _input = new StreamInput(stream, socket, _signal);
    }

    /// <summary>Bytes that have arrived and are not yet run.</summary>
    public PendingInput Pending;

    /// <summary>The session has had its share of a turn, and more of its input is here.</summary>
    public bool HasMore;

    /// <summary>In a run: all bytes not yet run, here or in the lease's buffer.</summary>
    public int InputLength;

    public Session Session { get; set; } = null!;

    // Read from any thread, as those of EpollConnection.
    public long QueryBytes => Math.Max(InputLength, Pending.Length);

    public long QueryFreeBytes => Math.Max(0, Pending.Capacity - Pending.Length);

    // Volatile: _inWriter is the writing thread's; a value of a moment ago is good enough.
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

    /// <summary>Makes the loop run what was received, and end.</summary>
    public void BeginStop()
    {
        _stopping = true;
        if (_handshake is { IsOver: false }) Abort();
        else Wake(Session);
    }

    /// <summary>Ends the connection now.</summary>
    public void Abort()
    {
        _failed = true;
        _stream.Dispose();
        Wake();
    }

    /// <summary>While the server stops: whether the client has read nothing of its replies for a while. By one
    /// thread.</summary>
    public bool LeavesUnread(long now)
    {
        if (!_isWriting) return false;      // stale is good enough: this is called again and again
        long flushes = Volatile.Read(ref _flushes);
        if (flushes != _flushesSeen) (_flushesSeen, _flushesSeenTickMs) = (flushes, now);
        return now - _flushesSeenTickMs >= ITransport.StopUnreadMs;
    }

    /// <summary>Whether the client has been idle, unauthenticated or not reading for longer than it may.</summary>
    public bool IsOverdue(long now)
    {
        if (_failed) return false;      // it is being closed, and has been counted
        if (_handshake is { IsOver: false }) return _handshake.IsLate(now, Session);
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

    /// <summary>Has the loop look whether the client is to give up what it has sent (<see
    /// cref="ArrivalRoom.EndIfIdle"/>).</summary>
    // By the sweep: what it sees of the session may be a moment old, and the loop decides.
    public void WakeIfIdle(long now)
    {
        if (ArrivalRoom.IsWatched(Session) && now - Session.LastActiveTickMs >= _server.RoomWaits.WaitMsMax) Wake();
    }

    /// <summary>Serves the client until it goes.</summary>
    public async Task RunAsync()
    {
        try
        {
            if (_handshake == null || await _handshake.RunAsync(Session).ConfigureAwait(false))
            {
                await LoopAsync().ConfigureAwait(false);
                if (!_failed && !Session.IsKilled) await WriteLastMessagesAsync().ConfigureAwait(false);
                await EndHoldingAsync().ConfigureAwait(false);
                await _writing.ConfigureAwait(false);
            }
            else _failed = true;

            if (Session.CloseAfterReply && !_failed && _socket != null) BeginLinger();
            if (_socket is { Connected: true } && !_failed) await EndOutputAsync(_socket).ConfigureAwait(false);
            if (_lingers) await DrainAsync().ConfigureAwait(false);
        }
        catch (Exception exception) when (exception is IOException or SocketException or ObjectDisposedException
            or OperationCanceledException or InvalidOperationException or TimeoutException)
        {
            // The client has gone or does not read: nobody is left to reply to.
        }
        catch (Exception exception)
        {
            _server.Log.LogCritical(exception, "Serving a client failed; its connection is closed");
        }

        await EndAsync().ConfigureAwait(false);
    }

    /// <summary>Says that nothing more comes, so that the client knows a whole conversation from one that was cut
    /// off.</summary>
    private async ValueTask EndOutputAsync(Socket socket)
    {
        if (_stream is SslStream tls)
            await tls.ShutdownAsync().WaitAsync(TimeSpan.FromMilliseconds(DrainMs)).ConfigureAwait(false);
        socket.Shutdown(SocketShutdown.Send);
    }

    /// <summary>Takes the replies of a run, into the stream if it keeps up, else into the backlog.</summary>
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
            if (_server.Aof.Holds(Session.LastTicket)) HoldLatched();
            if (_isWriting || end - start > DirectBytes || output.HasReference(end) || IsHeldLatched())
                AppendLatched(output, start, end);
            else if (_tlsOutput != null) EncryptLatched(lease, output, start, end);
            else
            {
                _writer.Write(new ReadOnlySpan<byte>(output.Buffer.Start + start, end - start));
                _inWriter = end - start;
                CountSentLatched(lease.Counters);
                BeginWritingLatched(_writer.FlushAsync());
            }

            if (!_isWriting && !_backlog.IsEmpty && !IsHeldLatched()) BeginWritingLatched(default);
            PauseLatched();
        }
    }

    /// <summary>Replies wait from here on until what they are about is on the disk.</summary>
    private void HoldLatched()
    {
        _heldTicket = Session.LastTicket;
        // With a full fence: who has more on the disk from here on finds it there, or it is looked for after this.
        _leases.Held.Add(this);
    }

    private bool IsHeldLatched()
    {
        Debug.Assert(_guard.IsHeldByCurrentThread, "loop and writer share what is held");
        if (_heldTicket == 0) return false;
        if (_server.Aof.StillHolds(_heldTicket)) return true;
        _heldTicket = 0;
        return false;
    }

    /// <summary>Whether replies wait for the disk. From any thread.</summary>
    public bool IsHeld
    {
        get
        {
            lock (_guard) return IsHeldLatched();
        }
    }

    /// <summary>Goes on with replies that have waited, if they no longer have to. From any thread.</summary>
    /// <returns>False when they still have to.</returns>
    public bool TrySendHeld()
    {
        bool isHeld;
        lock (_guard) isHeld = !TryGoOnLatched();
        if (!isHeld) Wake();
        return !isHeld;
    }

    private bool TryGoOnLatched()
    {
        if (IsHeldLatched()) return false;
        if (!_isWriting && !_backlog.IsEmpty && !_failed) BeginWritingLatched(default);
        return true;
    }

    /// <summary>Waits until no reply waits for the disk, and what has waited is being written.</summary>
    private async ValueTask EndHoldingAsync()
    {
        while (!_failed)
        {
            // Ends: with the disk's answer, or the connection.
            _signal.Clear();
            lock (_guard)
                if (TryGoOnLatched()) return;       // perhaps before those who are told of the disk come by
            await _signal.WaitAsync().ConfigureAwait(false);
        }
    }

    private unsafe void AppendLatched(SessionOutput output, int start, int end)
    {
        while (output.TryTakeReference(end, out var reference))
        {
            _backlog.Append(output.Buffer.Start + start, reference.Offset - start);
            _backlog.Append(reference.Block, reference.First, reference.Length);
            start = reference.Offset;
        }

        _backlog.Append(output.Buffer.Start + start, end - start);
    }

    /// <summary>Gives TLS what it takes at once; what comes after that waits.</summary>
    private unsafe void EncryptLatched(WindowLease lease, SessionOutput output, int start, int end)
    {
        Debug.Assert(_guard.IsHeldByCurrentThread && !_isWriting, "there is one writer");
        // Ends: each round takes some bytes, until the socket is full.
        while (start < end && !_isWriting)
        {
            int count = Math.Min(end - start, TlsOutput.BytesMax);
            _inWriter = count;
            CountSentLatched(lease.Counters);
            var write = _tlsOutput!.WriteAsync(output.Buffer.Start + start, count);
            start += count;
            if (write.IsCompletedSuccessfully)
            {
                write.GetAwaiter().GetResult();
                _inWriter = 0;
                continue;
            }

            _isWriting = true;
            _backlog.Append(output.Buffer.Start + start, end - start);
            _writing = WriteAsync(write);
        }
    }

    /// <summary>Whether the session goes on with what is here before more is read.</summary>
    private bool GoesOnAlone => HasMore || (Session.Gate & SessionGate.Stopped) != 0;

    private async Task LoopAsync()
    {
        int receives = 0;
        while (!_failed && !Session.CloseAfterReply)
        {
            _signal.Clear();
            Session.EndIfChannelIsLost();
            if (Session.IsKilled) return;
            if (!HasMore) ArrivalRoom.EndIfIdle(Session, _server.TickMs - Session.LastActiveTickMs);
            await WriteMessagesAsync().ConfigureAwait(false);
            // Checked before the loop waits: for a client that does not read it would wait for ever.
            if (!InputLimit.Allows(Session, Pending) || !IsOutputAllowed(_server.TickMs))
            {
                Abort();
                return;
            }

            if (GoesOnAlone)
            {
                // A client that has left while it waits for others is no longer served.
                if (_input.HasEnded && Session.WaitsForOthers) return;
                // Nor is one that has left in the middle of a long command that only reads, and has sent nothing else.
                if (Session.EndsWithClient && Pending.Length == 0 && _input.IsAtEnd()) return;
                if (Session.IsParked && !await WaitAsync().ConfigureAwait(false)) return;
                // Nothing was held, if it has waited for room to receive more.
                if (GoesOnAlone) await GoOnAsync().ConfigureAwait(false);
                continue;
            }

            // What is pending now is an incomplete command, which may never be completed.
            if (_input.HasEnded || (_stopping && !_input.HasArrived)) return;
            if (_input.CanReceive())
            {
                if (_handshake != null && ++receives % ReceivesMax == 0) await Task.Yield();
                await ReceiveAsync().ConfigureAwait(false);
                continue;
            }

            receives = 0;
            // The rest of what arrived over TLS may never come: it is not waited for.
            if (_stopping) await Task.Delay(1).ConfigureAwait(false);
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

    /// <summary>Waits with a session that is parked, and receives meanwhile: the client's end comes after all that it
    /// has sent.</summary>
    /// <returns>False when the client has left or sent too much, or the server stops.</returns>
    private async ValueTask<bool> WaitAsync()
    {
        using var timer = Session.ParkedUntilTickMs == long.MaxValue ? null : WakeIn(LeftOfWaitMs);
        while (true)
        {
            // Ends: whoever serves the client or ends its wait wakes this loop; so do a kill, the server's end and the
            // timer.
            _signal.Clear();
            if (Session.TryEndWait(_server.TickMs)) return true;
            if (_failed || _stopping || (_input.HasEnded && Session.WaitsForOthers)) return false;
            await WriteMessagesAsync().ConfigureAwait(false);
            if (!InputLimit.Allows(Session, Pending) || !IsOutputAllowed(_server.TickMs))
            {
                Abort();
                return false;
            }

            if (!_input.HasEnded && InputLimit.AllowsAhead(Session, Pending) && _input.CanReceive())
                await ReadAheadAsync().ConfigureAwait(false);
            else await _signal.WaitAsync().ConfigureAwait(false);
        }
    }

    private async ValueTask ReadAheadAsync()
    {
        var lease = await _leases.RentAsync().ConfigureAwait(false);
        try
        {
            lease.ReadAhead(this);
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

    /// <summary>Waits until a stopped session can go on, then runs it.</summary>
    private async ValueTask GoOnAsync()
    {
        if (Session.OutputPaused && Session.Steps is not { Holds: true })
        {
            await EndHoldingAsync().ConfigureAwait(false);
            await _writing.ConfigureAwait(false);
            Session.OutputPaused = false;
        }

        Debug.Assert(!Session.IsParked, "who is parked waits elsewhere");
        // The loop asks for a thread again, after all others that wait for one: else a few long commands would keep all
        // threads.
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

    /// <summary>Writes messages, until the client has enough unread. The others stay where all who get them share
    /// them.</summary>
    private async ValueTask WriteMessagesAsync()
    {
        int left = ISessionOwner.MessageBytesATurn;
        // Ends: with the messages, when the client takes no more for now (the writer comes back to them), or it has had
        // its share of the loop.
        while (Session.TakeMessages() && !IsAhead())
        {
            left -= await WriteTakenMessagesAsync().ConfigureAwait(false);
            if (left > 0) continue;
            Wake();
            return;
        }
    }

    /// <summary>Whether the client has enough unread.</summary>
    private bool IsAhead()
    {
        // Under the lock: either the writer has this to do after it, and wakes the loop for what waits, or it is done
        // and this sees it.
        lock (_guard) return _backlog.Length + _inWriter >= ISessionOwner.MessageBytesAhead;
    }

    /// <summary>Writes all messages that the client is still to get before it leaves.</summary>
    private async ValueTask WriteLastMessagesAsync()
    {
        if (Session.Messages is not { } messages) return;
        messages.Refuse();
        // Ends: with the messages, as no more come.
        while (Session.TakeMessages()) await WriteTakenMessagesAsync().ConfigureAwait(false);
    }

    private async ValueTask<int> WriteTakenMessagesAsync()
    {
        var lease = await _leases.RentAsync().ConfigureAwait(false);
        try
        {
            var output = lease.Output;
            output.Reply.Version = Session.Version;
            Session.WriteTakenMessages(output.Reply, CommandWindow.FlushBytes);
            int bytes = output.Buffer.Length;
            if (bytes > 0) Send(lease, output, 0, bytes);
            output.Buffer.Clear();
            return bytes;
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
        ArrivalRoom.Check(Session, blocks);
    }

    /// <summary>A writer goes on with what the stream does not take at once.</summary>
    private void BeginWritingLatched(ValueTask<FlushResult> flush)
    {
        Debug.Assert(_guard.IsHeldByCurrentThread && !_isWriting, "there is one writer");
        if (flush.IsCompletedSuccessfully && _backlog.IsEmpty)
        {
            flush.GetAwaiter().GetResult();
            _inWriter = 0;
            return;
        }

        _isWriting = true;
        _writing = WriteAsync(flush.IsCompletedSuccessfully ? default : new ValueTask(flush.AsTask()));
    }

    /// <summary>Goes on with what waits once the stream has taken what it was given first.</summary>
    private async Task WriteAsync(ValueTask first)
    {
        try
        {
            await first.ConfigureAwait(false);
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
                        if (Session.Messages is { Count: > 0 }) Wake();     // the loop goes on with messages
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
        Debug.Assert(_guard.IsHeldByCurrentThread && _isWriting, "the one writer takes");
        _inWriter = 0;
        if (_backlog.IsEmpty || IsHeldLatched()) return false;
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
        Debug.Assert(_guard.IsHeldByCurrentThread, "loop and writer count under the lock");
        Session.BytesOut += _inWriter;
        counters.BytesOut += _inWriter;
        counters.Writes++;
    }

    private void PauseLatched()
    {
        Debug.Assert(_guard.IsHeldByCurrentThread, "loop and writer share what is unread");
        if (_backlog.Length + _inWriter > Session.OutputPauseBytes) Session.OutputPaused = true;
        ChargeLatched();
    }

    /// <summary>Charges the store with what the client's buffers hold now.</summary>
    // The writing thread may read the input's size while the loop changes it: the loop charges again when it is done.
    private void ChargeLatched()
    {
        Debug.Assert(_guard.IsHeldByCurrentThread, "what is charged is under the lock");
        _charge.Set(_server.Store, Session, BufferBytes);
    }

    private bool IsOutputAllowed(long now)
    {
        long bytes = OutputBytes;
        if (!Session.Authenticated && bytes > UnauthenticatedOutputBytes) return false;
        var limits = _server.Options.ClientOutputBufferLimit;
        if (limits.Allows(Session.OutputKind, bytes, now, ref _overSoftSince)) return true;
        // Interlocked: both the loop and the sweep look, and one disconnection is counted once.
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

    /// <summary>Receives for a moment after the last reply, so that closing does not reset the connection before the
    /// client has it.</summary>
    private async Task DrainAsync()
    {
        long until = _server.TickMs + DrainMs;
        using var timer = WakeIn(DrainMs);
        while (true)
        {
            // Ends: when the client closes its side, or the time has passed.
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

    /// <summary>Ends the session, while the socket lingers. Called before the client can see the end: whoever has seen
    /// it finds the session gone and the socket counted.</summary>
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
        if (_handshake is { IsCompleted: true }) _server.Tls.Counters.CountEnd();
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

using System.Buffers;
using System.Diagnostics;
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
/// clients are served that send everything before they read (<see cref="PipelineOutput"/>).
/// Input is received into the buffer of a lease, of which there are few.
/// </remarks>
internal sealed class PipelineConnection : ISessionOwner
{
    /// <summary>How much of a large argument is received at once, straight into its block.</summary>
    private const int BlockBytesAtOnce = 1024 * 1024;

    private const int DrainMs = 1000, DrainBytes = 16 * 1024;

    /// <summary>After so many receives without a wait in between the loop gives way: over TLS others may wait for its
    /// thread.</summary>
    private const int ReceivesMax = 16;

    /// <summary>A timer that came a moment too early comes again after this time.</summary>
    private const int TimerAgainMs = 50;

    private readonly KvServer _server;
    private readonly WindowLeases _leases;
    private readonly Stream _stream;
    private readonly Socket? _socket;
    private readonly TlsHandshake? _handshake;
    private readonly StreamInput _input;
    private readonly PipelineOutput _output;
    private readonly LoopSignal _signal = new();
    private volatile bool _failed;
    private volatile bool _stopping;
    private bool _lingers;
    private long _overSoftSince;

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
        _output = new PipelineOutput(server, this, stream);
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

    public long OutputBytes => _output.Bytes + (Session.Messages?.Bytes ?? 0);

    public int OutputPieces => _output.Pieces + (Session.Messages?.Count ?? 0);

    public long OutputMemoryBytes => _output.MemoryBytes + (Session.Messages?.Bytes ?? 0);

    public long BufferBytes => Pending.Capacity + Session.Partial.KeptBytes + _output.BufferBytes;

    /// <summary>Whether it has failed, and is about to be closed.</summary>
    public bool HasFailed => _failed;

    public void Wake(Session session)
    {
        if (session.IsKilled) Abort();
        Wake();
    }

    /// <summary>Has the loop look at the session, and at what there is to be sent.</summary>
    public void Wake() => _signal.Set();

    /// <summary>The stream takes nothing more.</summary>
    public void Fail()
    {
        _failed = true;
        Wake();
    }

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

    /// <inheritdoc cref="PipelineOutput.LeavesUnread"/>
    public bool LeavesUnread(long now) => _output.LeavesUnread(now);

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
                await _output.Written.ConfigureAwait(false);
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

    /// <inheritdoc cref="PipelineOutput.Send"/>
    internal void Send(WindowLease lease, SessionOutput output, int start, int end) =>
        _output.Send(lease, output, start, end);

    /// <summary>Replies wait from here on until what they are about is on the disk.</summary>
    // With a full fence: who has more on the disk from here on finds it there, or it is looked for after this.
    public void Hold() => _leases.Held.Add(this);

    /// <inheritdoc cref="PipelineOutput.IsHeld"/>
    public bool IsHeld => _output.IsHeld;

    /// <summary>Goes on with replies that have waited, if they no longer have to. From any thread.</summary>
    /// <returns>False when they still have to.</returns>
    public bool TrySendHeld()
    {
        if (!_output.TryGoOn()) return false;
        Wake();
        return true;
    }

    /// <summary>Waits until no reply waits for the disk, and what has waited is being written.</summary>
    private async ValueTask EndHoldingAsync()
    {
        while (!_failed)
        {
            // Ends: with the disk's answer, or the connection.
            _signal.Clear();
            if (_output.TryGoOn()) return;      // perhaps before those who are told of the disk come by
            await _signal.WaitAsync().ConfigureAwait(false);
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
            if (ArrivalRoom.MayReceive(Session)) Fill(blocks);
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

        _output.Charge();
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

        _output.Charge();
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
            await _output.Written.ConfigureAwait(false);
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

        _output.Charge();
        if (isTurnedAway) await Task.Delay(1).ConfigureAwait(false);        // most wait for a long pause to end
    }

    /// <summary>Writes messages, until the client has enough unread. The others stay where all who get them share
    /// them.</summary>
    private async ValueTask WriteMessagesAsync()
    {
        int left = ISessionOwner.MessageBytesATurn;
        // Ends: with the messages, when the client takes no more for now (the writer comes back to them), or it has had
        // its share of the loop.
        while (Session.TakeMessages() && !_output.IsAhead)
        {
            left -= await WriteTakenMessagesAsync().ConfigureAwait(false);
            if (left > 0) continue;
            Wake();
            return;
        }
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

    private bool IsOutputAllowed(long now) => OutputLimits.Allows(Session, OutputBytes, now, ref _overSoftSince);

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
        await _output.Written.ConfigureAwait(false);
        using var guard = _server.Store.Enter();
        Pending.Clear();
        Session.Partial.Reset();
        Session.Blocks?.Release(guard.Session);
        Session.Blocks = null;
        _output.Clear(guard.Session);
    }
}

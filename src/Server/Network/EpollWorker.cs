using System.Diagnostics;
using Kv.Server.Execution;
using Kv.Server.Sessions;
using Kv.Storage;
using Microsoft.Extensions.Logging;

namespace Kv.Server.Network;

/// <summary>A thread that serves its share of the connections: it receives, executes and sends, with no hand-over in
/// between.</summary>
/// <remarks>
/// A turn: wait; then for groups of at most 16 ready sessions receive once each, run the window, send once each; then
/// what other threads left in the inbox, sessions whose wait has ended, and timers. Nothing in a turn blocks.
/// Threads: everything but <see cref="Post"/>, <see cref="Attend"/> and <see cref="BeginStop"/> is the worker's own.
/// </remarks>
internal sealed unsafe class EpollWorker : IWindowOwner
{
    private const int SweepMs = 100;

    /// <summary>Until so much has been received in a turn, who sends large arguments is received from more than once in
    /// it.</summary>
    private const long BytesATurn = 1024 * 1024;

    /// <summary>Of those who continue so many have their share between two looks at the clock.</summary>
    private const int ContinuingGroup = 4;

    /// <summary>Three milliseconds.</summary>
    private static readonly long ContinuingTicks = 3 * Stopwatch.Frequency / 1000;

    private readonly KvServer _server;
    private readonly Poller _poller = new();
    private readonly WorkerInbox _inbox;
    private readonly WorkerWait _wait;
    private readonly StoreSession _store;
    private readonly WorkerCounters _counters;
    private readonly CommandWindow _window;
    private readonly ConnectionReader _reader;
    private readonly ConnectionSender _sender;
    private readonly ConnectionSlots _slots = new();
    private readonly List<EpollConnection> _ready = new(Poller.EventsMax);
    private List<EpollConnection> _arriving = [], _again = [];
    private readonly List<EpollConnection> _waiting = [];
    private readonly List<EpollConnection> _continuing = [];
    private readonly EpollConnection[] _group = new EpollConnection[CommandWindow.SessionsMax];
    private readonly Thread _thread;

    private long _now;
    private long _bytesInAtBegin;
    private long _sweepDue;
    private int _lingering;
    private bool _sweepNeeded;
    private int _stopping;

    /// <summary>While the server stops: what clients with unread replies had taken, and when that was seen
    /// first.</summary>
    private Dictionary<EpollConnection, (long Bytes, long TickMs)>? _unread;
    private long _stopDeadline;

    public EpollWorker(KvServer server, int number)
    {
        _server = server;
        _inbox = new WorkerInbox(_poller);
        _store = server.Store.CreateSession();
        _counters = server.Counters.Create();
        _wait = new WorkerWait(server, _poller, _inbox, _store);
        _window = new CommandWindow(server, _store, _counters, this);
        _reader = new ConnectionReader(server, _store, _counters);
        _sender = new ConnectionSender(server, _store, _counters);
        _thread = new Thread(Run) { Name = $"kv-worker-{number}", IsBackground = true };
    }

    public void Start() => _thread.Start();

    /// <summary>Makes the worker look at a connection. From any thread.</summary>
    public void Post(EpollConnection connection) => _inbox.Post(connection);

    /// <summary>Makes the worker look at the options again. From any thread.</summary>
    public void Attend() => _inbox.Attend();

    /// <summary>The worker answers what was received, closes its connections, and ends. From any thread.</summary>
    public void BeginStop(long deadlineTickMs)
    {
        // Volatile: the worker that sees the flag sees the deadline.
        _stopDeadline = deadlineTickMs;
        Volatile.Write(ref _stopping, 1);
        _inbox.Attend();
    }

    /// <returns>False when it has not ended by then.</returns>
    public bool Join(int milliseconds) => _thread.Join(milliseconds);

    private void Run()
    {
        _store.BeginTurn();
        while (true)
        {
            try
            {
                if (Turn()) break;
            }
            catch (Exception exception)
            {
                // A mistake of ours, whatever it is, costs the sessions of the group, not the server.
                _server.Log.LogCritical(exception, "A worker's turn failed; the connections it served are closed");
                AbandonTurn();
            }
        }

        foreach (var connection in _slots.Snapshot()) Close(connection);
        _window.Dispose();
        _reader.Dispose();
        _store.GoOffline();
        _store.Dispose();
        _poller.Dispose();
    }

    /// <summary>Closes the group that was served, and sees to it that the other connections of the turn are served in
    /// the next.</summary>
    private void AbandonTurn()
    {
        foreach (var connection in _group)
            if (connection != null) Close(connection);
        Array.Clear(_group);
        _window.Begin();
        foreach (var left in new[] { _ready, _arriving, _again })
        {
            foreach (var connection in left)
                if (connection.State is EpollConnectionState.Open or EpollConnectionState.Broken) AfterTurn(connection);
            left.Clear();
        }
    }

    /// <returns>True when the worker is to end.</returns>
    private bool Turn()
    {
        int events = _wait.Wait(WaitMs());
        _now = _server.TickMs;
        _store.BeginTurn();
        TakeEvents(events);
        int served = _ready.Count;
        _bytesInAtBegin = _counters.BytesIn;
        RunGroups(_ready);
        if (_continuing.Count > 0) RunContinuing();
        TakeInbox();
        if (_ready.Count > 0) RunGroups(_ready);        // those whose wait somebody has ended
        if (_waiting.Count > 0) EndWaits();
        if (_now >= _sweepDue) Sweep();
        return Volatile.Read(ref _stopping) != 0 && Stop(served);
    }

    private int WaitMs()
    {
        // most of them wait for a long pause to end
        if (_continuing.Count > 0) return _store.Presence.IsTurnedAway ? 1 : 0;
        if (Volatile.Read(ref _stopping) != 0) return 1;
        long wait = _sweepNeeded || _lingering > 0 || _server.Options.Timeout > 0 ? SweepMs : -1;
        foreach (var connection in _waiting)
        {
            long left = Math.Clamp(connection.Session.ParkedUntilTickMs - _server.TickMs, 0, int.MaxValue);
            if (wait < 0 || left < wait) wait = left;
        }

        return (int)wait;
    }

    private void TakeEvents(int count)
    {
        for (int i = 0; i < count; i++)
        {
            ulong data = _poller.DataOf(i);
            if (data == Poller.Bell)
            {
                _poller.Silence();
                continue;
            }

            var connection = _slots.Find(data);
            if (connection == null) continue;       // closed earlier in this turn
            uint events = _poller.EventsOf(i);
            if ((events & Libc.EpollOut) != 0 && !_sender.Flush(connection))
            {
                Close(connection);
                continue;
            }

            if ((events & Libc.EpollOut) != 0 && connection.Pending.Length > 0
                && (connection.Session.Gate & SessionGate.Stopped) == 0) _ready.Add(connection);
            else if ((events & Libc.EpollIn) != 0 && (connection.Interest & Libc.EpollIn) != 0) TakeInput(connection);
            else if ((events & (Libc.EpollErr | Libc.EpollHup)) != 0) Close(connection);
            else if ((events & Libc.EpollRdHup) != 0) TakeEnd(connection);
            else AfterTurn(connection);
        }
    }

    private void TakeInput(EpollConnection connection)
    {
        if (connection.IsContinuing) return;        // its turn comes with what is here of it already
        if (connection.State != EpollConnectionState.Open || (connection.Session.Gate & SessionGate.Stopped) == 0)
            _ready.Add(connection);
        else if (_reader.ReadAhead(connection, _now)) AfterTurn(connection);
        else Close(connection);
    }

    /// <summary>The client of a long command has closed its side: if it has sent nothing else, it is not waited
    /// for.</summary>
    private void TakeEnd(EpollConnection connection)
    {
        connection.HasInputBeforeEnd = connection.Pending.Length > 0 || _reader.HasInput(connection);
        if (connection.HasInputBeforeEnd || !connection.Session.EndsWithClient) AfterTurn(connection);
        else Close(connection);
    }

    /// <summary>Phases A to E for all of a list, and again for those whose large arguments are arriving, for as long as
    /// more of them is there: several such commands of a pipeline take one turn, and their replies one call.</summary>
    private void RunGroups(List<EpollConnection> ready)
    {
        RunAll(ready);
        // Ends: who is in the list once more has been received from, and nobody is once so many bytes have been
        // received in the turn.
        while (_arriving.Count > 0)
        {
            (_again, _arriving) = (_arriving, _again);
            RunAll(_again);
        }
    }

    /// <summary>Phases A to E for all of a list, at most 16 at a time.</summary>
    private void RunAll(List<EpollConnection> ready)
    {
        for (int from = 0; from < ready.Count; from += CommandWindow.SessionsMax)
            RunGroup(ready, from, Math.Min(ready.Count, from + CommandWindow.SessionsMax));
        ready.Clear();
    }

    private void RunGroup(List<EpollConnection> ready, int from, int to)
    {
        _reader.BeginGroup();
        _window.Begin();
        int count = 0;
        for (int i = from; i < to; i++)
        {
            var connection = ready[i];
            if (connection.State >= EpollConnectionState.Lingering)
            {
                if (connection.State == EpollConnectionState.Lingering && !_reader.Drain(connection)) Close(connection);
                continue;
            }

            var session = connection.Session;
            byte* input;
            int length;
            if ((session.Gate & SessionGate.Stopped) != 0 || connection.HasMore)
            {
                _reader.Resume(connection, out input, out length);
            }
            else if (!_reader.Receive(connection, _now, out input, out length)
                || (connection.EndOfInput && length == 0 && connection.Backlog == null))
            {
                Close(connection);
                continue;
            }

            if (length == 0 && session.Steps == null && session.Held == null)
            {
                if (connection.EndOfInput | connection.HasFilledRoom | connection.HoldsReplies) EndPart(connection);
                continue;
            }

            _group[count++] = connection;
            _window.Add(session, input, length);
        }

        if (count == 0) return;
        _window.Run();
        for (int i = 0; i < count; i++)
        {
            var connection = _group[i];
            _reader.Keep(connection, _window.Consumed(i));
            // A large argument that has begun has its head in Pending: what it waits for has to be received.
            connection.HasMore = _window.HasMore(i) && connection.Pending.Length > 0
                && connection.Session.Blocks is not { IsFilling: true };
            EndPart(connection);
        }

        Array.Clear(_group, 0, count);
    }

    void IWindowOwner.Send(int index, Session session, SessionOutput output, int start, int end)
    {
        try
        {
            Fault.Point("reply.send");
            // With a large argument on its way: what is answered now would wake the client for one reply of several.
            if (session.Partial.BigBulkLength > 0 && MayReceiveMore(_group[index])
                && _sender.TryHold(_group[index], output, start, end)) return;
            _sender.Send(_group[index], output, start, end);
        }
        catch (Exception exception)
        {
            // A hole in its replies is the end of a connection, and of no other: the group's replies stand in one
            // buffer.
            _server.Log.LogCritical(exception, "Sending to client {Client} failed; its connection is closed",
                session.Id);
            _group[index].State = EpollConnectionState.Broken;
            output.DropReferences(end);
        }
    }

    private bool MayReceiveMore(EpollConnection connection) =>
        connection.HasFilledRoom && !connection.EndOfInput && _counters.BytesIn - _bytesInAtBegin < BytesATurn;

    /// <summary>Ends a connection's part of a group: it has another one in this turn, or its turn is over.</summary>
    private void EndPart(EpollConnection connection)
    {
        var session = connection.Session;
        bool isArriving = session.Blocks is { IsFilling: true } && (session.Gate & SessionGate.Stopped) == 0
            && connection.State == EpollConnectionState.Open;
        if (isArriving && MayReceiveMore(connection)) _arriving.Add(connection);
        else AfterTurn(connection);
    }

    /// <summary>Decides what becomes of a connection after its commands have been run.</summary>
    private void AfterTurn(EpollConnection connection)
    {
        var session = connection.Session;
        if (connection.State == EpollConnectionState.Broken)
        {
            Close(connection);
            return;
        }

        if (connection.Backlog != null | session.Gate != 0 | connection.Interest != Libc.EpollIn
            | session.Partial.IsPartial | connection.EndOfInput | connection.HasMore)
            AfterTurnSlow(connection, session);
    }

    private void AfterTurnSlow(EpollConnection connection, Session session)
    {
        bool isOpen = !connection.HoldsReplies || _sender.SendHeld(connection);
        if (!isOpen || !_sender.CheckLimits(connection, _now) || !_reader.CheckLimits(connection))
        {
            Close(connection);
            return;
        }

        bool waitsToSend = connection.Backlog != null;
        if (connection.EndOfInput && session.WaitsForOthers)
        {
            Close(connection);      // nobody is there to be served
            return;
        }

        if (connection.EndOfInput && !connection.HasMore && (session.Gate & SessionGate.Stopped) == 0)
            session.CloseAfterReply = true;
        if (session.CloseAfterReply && !waitsToSend)
        {
            Linger(connection);
            return;
        }

        if (session.IsParked)
        {
            // Who waits until he is woken comes by way of the inbox: thousands may, and none is looked at before.
            if (!connection.IsWaiting && session.ParkedUntilTickMs != long.MaxValue)
            {
                _waiting.Add(connection);
                connection.IsWaiting = true;
            }
        }
        else if ((session.GoesOn || (connection.HasMore && (session.Gate & SessionGate.Stopped) == 0))
            && !connection.IsContinuing)
        {
            _continuing.Add(connection);
            connection.IsContinuing = true;
        }

        if (waitsToSend && connection.SinceTickMs != 0 || !session.Authenticated) _sweepNeeded = true;
        // Who waits is read from, too: that a client has left stands behind all that it has sent.
        bool reads = !connection.EndOfInput && ((session.Gate & SessionGate.Stopped) == 0 || session.IsParked);
        bool looksForEnd = session.EndsWithClient && !connection.HasInputBeforeEnd && !connection.EndOfInput;
        SetInterest(connection, (reads ? Libc.EpollIn : 0) | (waitsToSend ? Libc.EpollOut : 0)
            | (looksForEnd ? Libc.EpollRdHup : 0));
    }

    /// <summary>Says goodbye: our side is closed, and what still comes in is drained for a while. Closing at once could
    /// reset the connection and take the last replies from the client.</summary>
    private void Linger(EpollConnection connection)
    {
        connection.State = EpollConnectionState.Lingering;
        connection.SinceTickMs = _now + 1000;
        _lingering++;
        // Before the client can see its end: whoever reads that finds the session gone and the socket counted.
        _server.Connections.BeginLinger();
        EndSession(connection);
        Libc.shutdown(connection.Descriptor, Libc.ShutWrite);
        SetInterest(connection, Libc.EpollIn);
    }

    /// <summary>Those who have more to do and need no more input for it: one after another, a few milliseconds a turn.
    /// Who comes to the end of the list again waits for all the others in it, and those who wait for input wait for no
    /// more than that.</summary>
    private void RunContinuing()
    {
        long begin = Stopwatch.GetTimestamp();
        // Ends: each round takes some of those who are in the list now; who is added meanwhile waits for the next turn.
        for (int left = _continuing.Count; left > 0 && Stopwatch.GetTimestamp() - begin < ContinuingTicks;)
        {
            int count = Math.Min(left, ContinuingGroup);
            for (int i = 0; i < count; i++)
            {
                _continuing[i].IsContinuing = false;
                _ready.Add(_continuing[i]);
            }

            _continuing.RemoveRange(0, count);
            RunGroups(_ready);
            left = Math.Min(left - count, _continuing.Count);
        }
    }

    private void TakeInbox()
    {
        for (var connection = _inbox.Take(); connection != null;)
        {
            var next = connection.NextInInbox;
            connection.NextInInbox = null;
            // Interlocked: reset before the reasons are looked at, so that whoever adds one now puts it in again.
            Interlocked.Exchange(ref connection.InInbox, 0);
            try
            {
                Fault.Point("worker.inbox");
                if (connection.State == EpollConnectionState.New) Adopt(connection);
                if (connection.State == EpollConnectionState.Open) Attend(connection);
            }
            catch (Exception exception)
            {
                // The others of the inbox are taken out of it, and would wait for ever.
                _server.Log.LogCritical(exception, "Attending to client {Client} failed; its connection is closed",
                    connection.Session.Id);
                _window.Begin();
                Close(connection);
            }

            connection = next;
        }
    }

    private void Attend(EpollConnection connection)
    {
        var session = connection.Session;
        // what it was given is sent
        if (session.IsKilled && session.Blocked is { IsServed: true }) session.CloseAfterReply = true;
        else if (session.IsKilled)
        {
            // Whose own worker killed it has been answered before it came here.
            Close(connection);
            return;
        }

        if (session.TakeMessages())
        {
            var output = _window.Output;
            output.Reply.Version = session.Version;
            // Ends: with the messages that were taken.
            for (bool isMore = true; isMore;)
            {
                isMore = session.WriteTakenMessages(output.Reply, CommandWindow.FlushBytes);
                if (output.Buffer.Length > 0) _sender.Send(connection, output, 0, output.Buffer.Length);
                output.Buffer.Clear();
            }
        }

        if (session.IsParked && !connection.IsWaiting && session.TryEndWait(_now)) _ready.Add(connection);
        else AfterTurn(connection);
    }

    private void Adopt(EpollConnection connection)
    {
        connection.State = EpollConnectionState.Open;
        _slots.Add(connection);
        if (Volatile.Read(ref _stopping) != 0
            || !_poller.TryAdd(connection.Descriptor, Libc.EpollIn, ConnectionSlots.DataOf(connection)))
        {
            Close(connection);
            return;
        }

        connection.Interest = Libc.EpollIn;
        if (!connection.Session.Authenticated) _sweepNeeded = true;
    }

    private void EndWaits()
    {
        for (int i = _waiting.Count - 1; i >= 0; i--)
        {
            var connection = _waiting[i];
            bool open = connection.State == EpollConnectionState.Open;
            if (open && !connection.Session.TryEndWait(_now)) continue;
            _waiting.RemoveAt(i);
            connection.IsWaiting = false;
            if (open) _ready.Add(connection);
        }

        foreach (var connection in _ready)
            if (connection.Session.Steps == null && connection.Session.Held == null) AfterTurn(connection);
        RunGroups(_ready);
    }

    /// <summary>What is looked at from time to time: idle clients, clients that do not say who they are or do not read,
    /// and goodbyes.</summary>
    private void Sweep()
    {
        _sweepDue = _now + SweepMs;
        long timeoutMs = _server.Options.Timeout * 1000L;       // seconds up to 2^31 - 1
        long authMs = _server.Options.AuthTimeout * 1000L;
        if (!_sweepNeeded && _lingering == 0 && timeoutMs <= 0) return;
        _sweepNeeded = false;
        for (int slot = 0; slot < _slots.Length; slot++)
        {
            var connection = _slots[slot];
            if (connection == null) continue;
            var session = connection.Session;
            long idle = _now - session.LastActiveTickMs;
            bool close = connection.State == EpollConnectionState.Lingering ? _now >= connection.SinceTickMs
                : timeoutMs > 0 && idle >= timeoutMs && session.Kind == ClientKind.Normal && !session.IsParked
                && session.Steps == null;
            if (!close && connection.State == EpollConnectionState.Open)
            {
                if (!session.Authenticated && authMs > 0)
                {
                    _sweepNeeded = true;
                    close = _now - session.CreatedTickMs >= authMs;
                    if (close) session.NoteAuthTimeout();
                }

                if (connection.SinceTickMs != 0)
                {
                    _sweepNeeded = true;
                    close |= !_sender.CheckLimits(connection, _now);
                }
            }

            if (close) Close(connection);
        }
    }

    private bool Stop(int served)
    {
        if (_now < _stopDeadline && (served > 0 || _continuing.Count > 0)) return false;
        foreach (var connection in _slots.Snapshot())
        {
            if (connection.State == EpollConnectionState.Open && connection.Backlog != null && _now < _stopDeadline
                && TakesReplies(connection)) continue;
            if (connection.State == EpollConnectionState.Open) Libc.shutdown(connection.Descriptor, Libc.ShutWrite);
            Close(connection);
        }

        return _slots.Count == 0;
    }

    /// <summary>Whether a client has taken some of its replies lately.</summary>
    private bool TakesReplies(EpollConnection connection)
    {
        long bytes = connection.Session.BytesOut;
        _unread ??= [];
        if (!_unread.TryGetValue(connection, out var seen) || seen.Bytes != bytes)
            _unread[connection] = seen = (bytes, _now);
        return _now - seen.TickMs < ITransport.StopUnreadMs;
    }

    private void SetInterest(EpollConnection connection, uint interest)
    {
        if (connection.Interest == interest) return;
        connection.Interest = interest;
        _poller.Change(connection.Descriptor, interest, ConnectionSlots.DataOf(connection));
    }

    /// <summary>The session is over, though the socket may linger.</summary>
    private void EndSession(EpollConnection connection)
    {
        var session = connection.Session;
        session.End();
        if (connection.IsWaiting) _waiting.Remove(connection);
        if (connection.IsContinuing) _continuing.Remove(connection);
        connection.IsWaiting = connection.IsContinuing = false;
        connection.Pending.Clear();
        session.Partial.Reset();
        session.Blocks?.Release(_store);
        session.Blocks = null;
        connection.Backlog?.Clear(_store);
        connection.Backlog = null;
        connection.Charge(_server.Store);
    }

    private void Close(EpollConnection connection)
    {
        if (connection.State == EpollConnectionState.Closed) return;
        bool lingered = connection.State == EpollConnectionState.Lingering;
        if (lingered) _lingering--;
        else EndSession(connection);
        connection.State = EpollConnectionState.Closed;
        _slots.Remove(connection);
        Libc.close(connection.Descriptor);
        if (lingered) _server.Connections.EndLinger();
    }
}

using System.Diagnostics;
using Kv.Server.Diagnostics;
using Kv.Server.Execution;
using Kv.Server.Sessions;
using Kv.Storage;
using Microsoft.Extensions.Logging;

namespace Kv.Server.Network;

/// <summary>A thread that serves its share of the connections: it receives, executes and sends, without handing over to
/// another thread.</summary>
/// <remarks>
/// A turn: wait; then for groups of at most 16 ready sessions receive once each, run the window, send once each; then
/// what other threads left in the inbox, sessions whose wait has ended, and timers. Nothing in a turn blocks.
/// Threads: everything but <see cref="Post"/>, <see cref="Attend"/> and <see cref="BeginStop"/> is the worker's own.
/// </remarks>
internal sealed class EpollWorker
{
    /// <summary>How many sessions that go on have their share between two looks at the clock.</summary>
    private const int ContinuingGroup = 4;

    /// <summary>How long sessions that go on may take in a turn: three milliseconds.</summary>
    private static readonly long ContinuingTicks = 3 * Stopwatch.Frequency / 1000;

    private readonly KvServer _server;
    private readonly Poller _poller = new();
    private readonly WorkerInbox _inbox;
    private readonly WorkerWait _wait;
    private readonly StoreSession _store;
    private readonly ConnectionGroups _groups;
    private readonly ConnectionReader _reader;
    private readonly ConnectionSender _sender;
    private readonly MessageSender _messages;
    private readonly HeldReplies _held;
    private readonly ConnectionSweep _sweep;
    private readonly ConnectionSlots _slots = new();
    private readonly List<EpollConnection> _ready = new(Poller.EventsMax);
    private readonly List<EpollConnection> _waiting = [];
    private readonly List<EpollConnection> _continuing = [], _released = [];
    private readonly Thread _thread;

    private long _now;
    private int _stopping;

    /// <summary>While the server stops: how many bytes clients with unread replies have taken, and since when it is
    /// that many.</summary>
    private Dictionary<EpollConnection, (long Bytes, long TickMs)>? _unread;
    private long _stopDeadline;

    public EpollWorker(KvServer server, int number)
    {
        _server = server;
        _inbox = new WorkerInbox(_poller);
        _store = server.Store.CreateSession();
        var counters = server.Counters.Create();
        _wait = new WorkerWait(server, _poller, _inbox, _store);
        _reader = new ConnectionReader(server, _store, counters);
        _sender = new ConnectionSender(server, _store, counters);
        _held = new HeldReplies(server, _sender, _inbox);
        _groups = new ConnectionGroups(server, this, _store, counters, _reader, _sender, _held);
        _messages = new MessageSender(server, _groups.Window, _sender);
        _sweep = new ConnectionSweep(server, _slots, Close);
        _thread = new Thread(Run) { Name = $"kv-worker-{number}", IsBackground = true };
    }

    public void Start() => _thread.Start();

    /// <summary>Makes the worker look at a connection. From any thread.</summary>
    public void Post(EpollConnection connection) => _inbox.Post(connection);

    /// <summary>Makes the worker look at the options again. From any thread.</summary>
    public void Attend() => _inbox.Attend();

    /// <summary>Whether the worker has gone through a turn since <see cref="Attend"/>. From any thread.</summary>
    public bool HasAttended => _inbox.HasAttended;

    /// <summary>Makes the worker run what was received, close its connections, and end. From any thread.</summary>
    public void BeginStop(long deadlineTickMs)
    {
        // Volatile: the worker that sees the flag sees the deadline.
        _stopDeadline = deadlineTickMs;
        Volatile.Write(ref _stopping, 1);
        _inbox.Attend();
    }

    /// <returns>False when the worker has not ended by then.</returns>
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
                // Whatever mistake of ours it is, it costs the sessions of the group, not the server.
                _server.Log.LogCritical(exception, "A worker's turn failed; the connections it served are closed");
                AbandonTurn();
            }
        }

        foreach (var connection in _slots.Snapshot()) Close(connection);
        _groups.Dispose();
        _reader.Dispose();
        _store.GoOffline();
        _store.Dispose();
        _poller.Dispose();
    }

    /// <summary>Closes the group that was served; the other connections of the turn are served in the next
    /// one.</summary>
    private void AbandonTurn()
    {
        _groups.Abandon();
        EndTurnOf(_ready);
    }

    /// <summary>Ends the turn of connections that have had none.</summary>
    public void EndTurnOf(List<EpollConnection> connections)
    {
        foreach (var connection in connections)
            if (connection.State is EpollConnectionState.Open or EpollConnectionState.Broken) AfterTurn(connection);
        connections.Clear();
    }

    /// <returns>True when the worker is to end.</returns>
    private bool Turn()
    {
        int events = _wait.Wait(WaitMs());
        long begin = _server.Latency.IsOn ? Stopwatch.GetTimestamp() : 0;
        _now = _server.TickMs;
        _store.BeginTurn();
        TakeEvents(events);
        int served = _ready.Count;
        _groups.BeginTurn(_now);
        _groups.Run(_ready);
        if (_continuing.Count > 0) RunContinuing();
        TakeInbox();
        if (_ready.Count > 0) _groups.Run(_ready);        // sessions whose wait somebody has ended
        if (_waiting.Count > 0) EndWaits();
        if (_held.Count + _released.Count > 0) SendHeld();
        if (_now >= _sweep.DueTickMs) _sweep.Run(_now);
        if (begin != 0) _server.Latency.Note(LatencyEvent.WorkerTurn, Stopwatch.GetTimestamp() - begin);
        return Volatile.Read(ref _stopping) != 0 && Stop(served);
    }

    private int WaitMs()
    {
        // In a long pause most of those that go on wait for its end.
        if (_continuing.Count > 0) return _store.Presence.IsTurnedAway ? 1 : 0;
        if (Volatile.Read(ref _stopping) != 0) return 1;
        if (_held.IsAnyReleased) return 0;
        long wait = _sweep.WaitMs;
        foreach (var connection in _waiting)
        {
            long left = Math.Clamp(connection.Session.ParkedUntilTickMs - _server.TickMs, 0, int.MaxValue);
            if (wait == Poller.NoTimeout || left < wait) wait = left;
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
            if ((events & Libc.EpollOut) != 0 && !Flush(connection)) continue;

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
        if (connection.IsContinuing) return;        // RunContinuing comes to it
        if (connection.State != EpollConnectionState.Open || (connection.Session.Gate & SessionGate.Stopped) == 0)
            _ready.Add(connection);
        else if (_reader.ReadAhead(connection, _now)) AfterTurn(connection);
        else Close(connection);
    }

    /// <summary>The client of a long command has closed its side. If it has sent nothing else, its connection is
    /// closed.</summary>
    private void TakeEnd(EpollConnection connection)
    {
        connection.HasInputBeforeEnd = connection.Pending.Length > 0 || _reader.HasInput(connection);
        if (connection.HasInputBeforeEnd || !connection.Session.EndsWithClient) AfterTurn(connection);
        else Close(connection);
    }

    /// <summary>Sends the replies that no longer have to wait.</summary>
    private void SendHeld()
    {
        _held.TakeReleased(_released);
        // Ends: each round takes one out. What a turn that failed has left is there, too.
        while (_released.Count > 0)
        {
            var connection = _released[^1];
            _released.RemoveAt(_released.Count - 1);
            if (connection.State != EpollConnectionState.Open || !Flush(connection)) continue;
            if (connection.Pending.Length > 0 && (connection.Session.Gate & SessionGate.Stopped) == 0)
                _ready.Add(connection);
            else AfterTurn(connection);
        }

        if (_ready.Count > 0) _groups.Run(_ready);
    }

    /// <summary>Decides what becomes of a connection after its commands have been run.</summary>
    public void AfterTurn(EpollConnection connection)
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
        if (!isOpen || !connection.IsOutputAllowed(_now) || !InputLimit.Allows(session, connection.Pending))
        {
            Close(connection);
            return;
        }

        if (connection.EndOfInput && session.WaitsForOthers)
        {
            Close(connection);      // nobody is there to be served
            return;
        }

        if (connection.EndOfInput && !connection.HasMore && (session.Gate & SessionGate.Stopped) == 0)
            session.CloseAfterReply = true;
        if (session.CloseAfterReply) _messages.SendLast(connection);
        bool waitsToSend = connection.Backlog != null;
        if (connection.State == EpollConnectionState.Broken)
        {
            Close(connection);
            return;
        }

        if (session.CloseAfterReply && !waitsToSend)
        {
            Linger(connection);
            return;
        }

        if (session.IsParked)
        {
            // A session that waits until it is woken comes through the inbox: thousands may wait so at no cost.
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

        if (waitsToSend && connection.SinceTickMs != 0 || !session.Authenticated || ArrivalRoom.IsWatched(session))
            _sweep.IsNeeded = true;
        // A client that waits is read from, too: its end comes after all that it has sent.
        bool reads = !connection.EndOfInput && ((session.Gate & SessionGate.Stopped) == 0
            || (session.IsParked && InputLimit.AllowsAhead(session, connection.Pending)));
        bool looksForEnd = session.EndsWithClient && !connection.HasInputBeforeEnd && !connection.EndOfInput;
        SetInterest(connection, (reads ? Libc.EpollIn : 0)
            | (waitsToSend && !_sender.IsHeld(connection) ? Libc.EpollOut : 0)
            | (looksForEnd ? Libc.EpollRdHup : 0));
    }

    /// <summary>Closes our side, and drains what still comes in for a while. Closing the socket at once could reset the
    /// connection, and the client would lose the last replies.</summary>
    private void Linger(EpollConnection connection)
    {
        Debug.Assert(connection.State == EpollConnectionState.Open && connection.Backlog == null,
            "our side is closed once, after the last reply");
        connection.State = EpollConnectionState.Lingering;
        connection.SinceTickMs = _now + 1000;
        _sweep.Lingering++;
        // Before the client can see the end: whoever has seen it finds the session gone and the socket counted.
        _server.Connections.BeginLinger();
        EndSession(connection);
        Libc.shutdown(connection.Descriptor, Libc.ShutWrite);
        SetInterest(connection, Libc.EpollIn);
    }

    /// <summary>Runs the sessions that can go on without input, one after another, for a few milliseconds a turn. A
    /// session that is not done goes to the end of the list; all others of the worker wait no longer than these
    /// milliseconds.</summary>
    private void RunContinuing()
    {
        long begin = Stopwatch.GetTimestamp();
        // Ends: each round takes some of those in the list now; whoever is added meanwhile waits for the next turn.
        for (int left = _continuing.Count; left > 0 && Stopwatch.GetTimestamp() - begin < ContinuingTicks;)
        {
            int count = Math.Min(left, ContinuingGroup);
            for (int i = 0; i < count; i++)
            {
                _continuing[i].IsContinuing = false;
                _ready.Add(_continuing[i]);
            }

            _continuing.RemoveRange(0, count);
            _groups.Run(_ready);
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
                // The loop goes on: the others are out of the inbox already, and would wait for ever.
                _server.Log.LogCritical(exception, "Attending to client {Client} failed; its connection is closed",
                    connection.Session.Id);
                _groups.Window.Begin();
                Close(connection);
            }

            connection = next;
        }
    }

    private void Attend(EpollConnection connection)
    {
        var session = connection.Session;
        session.EndIfChannelIsLost();
        // A blocked client that has been served gets its reply before it is closed: its element has been taken.
        if (session.IsKilled && session.Blocked is { IsServed: true }) session.CloseAfterReply = true;
        else if (session.IsKilled)
        {
            // CLIENT KILL of a client by itself: its reply was sent before it comes here.
            Close(connection);
            return;
        }

        SendMessages(connection);
        if (session.IsParked && !connection.IsWaiting && session.TryEndWait(_now)) _ready.Add(connection);
        else AfterTurn(connection);
    }

    /// <summary>Sends some of what waits, and goes on with messages.</summary>
    /// <returns>False when the connection failed; it is closed.</returns>
    private bool Flush(EpollConnection connection)
    {
        if (_sender.Flush(connection))
        {
            SendMessages(connection);
            if (connection.State != EpollConnectionState.Broken) return true;
        }

        Close(connection);
        return false;
    }

    private void SendMessages(EpollConnection connection)
    {
        if (!_messages.Send(connection)) Post(connection);
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
        if (!connection.Session.Authenticated) _sweep.IsNeeded = true;
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
        _groups.Run(_ready);
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
        Debug.Assert(connection.State is EpollConnectionState.Open or EpollConnectionState.Lingering,
            "a closed descriptor may be somebody else's");
        if (connection.Interest == interest) return;
        connection.Interest = interest;
        _poller.Change(connection.Descriptor, interest, ConnectionSlots.DataOf(connection));
    }

    /// <summary>Ends the session and frees what it holds; the socket may linger.</summary>
    private void EndSession(EpollConnection connection)
    {
        var session = connection.Session;
        session.End();
        if (connection.IsWaiting) _waiting.Remove(connection);
        if (connection.IsContinuing) _continuing.Remove(connection);
        _held.Remove(connection);
        connection.IsWaiting = connection.IsContinuing = false;
        connection.Pending.Clear();
        session.Partial.Reset();
        session.Blocks?.Release(_store);
        session.Blocks = null;
        connection.Backlog?.Clear(_store);
        connection.Backlog = null;
        connection.Charge(_server.Store);
    }

    /// <summary>Closes a connection, if it is not closed yet.</summary>
    public void Close(EpollConnection connection)
    {
        Debug.Assert(Environment.CurrentManagedThreadId == _thread.ManagedThreadId, "a worker closes its own clients");
        if (connection.State == EpollConnectionState.Closed) return;
        bool lingered = connection.State == EpollConnectionState.Lingering;
        Debug.Assert(!lingered || _sweep.Lingering > 0, "what lingers was counted");
        if (lingered) _sweep.Lingering--;
        else EndSession(connection);
        connection.State = EpollConnectionState.Closed;
        _slots.Remove(connection);
        Libc.close(connection.Descriptor);
        if (lingered) _server.Connections.EndLinger();
    }
}

using System.Runtime.InteropServices;
using Kv.Protocol;
using RespBenchmark.Engine;
using RespBenchmark.Measure;
using RespBenchmark.Network;

namespace RespBenchmark.Scenarios;

/// <summary>One client thread and the connections it drives through a scenario, phase by phase: get ready, warm up,
/// measure.</summary>
/// <remarks>Threads: its own, but for <see cref="Add"/> before <see cref="Start"/>, <see cref="Wake"/> and Dispose.
/// Unlike the loops of plain operations it allocates: replies are taken apart.</remarks>
internal sealed unsafe class ScenarioLoop : IDisposable
{
    private const int EventsMax = 256;
    private const ulong WakeEvent = ulong.MaxValue;
    private const long WaitMax = 50_000_000, SpinBelow = 50_000;

    private readonly CellPlan _plan;
    private readonly RunControl _control;
    private readonly ScenarioRecorder _recorder;
    private readonly Arrivals? _arrivals;
    private readonly List<Seat> _seats = [];
    private readonly Queue<Seat> _freed = new();
    private readonly Thread _thread;
    private readonly int _epoll, _wake;
    private readonly byte* _events;
    private long _sendUntil, _waitUntil, _woke;
    private bool _ended, _isSpent, _isBlocked, _hasWorked;
    private int _claimed, _turn;

    public ScenarioLoop(CellPlan plan, RunControl control, ScenarioRecorder recorder, int number, int loops)
    {
        (_plan, _control, _recorder) = (plan, control, recorder);
        if (plan.Arrivals is { } arrivals) _arrivals = new Arrivals(arrivals, number, loops, plan.Seed);
        _epoll = Libc.epoll_create1(Libc.EpollCloseOnExec);
        _wake = Libc.eventfd(0, Libc.EventNonBlock | Libc.EventCloseOnExec);
        if (_epoll < 0 || _wake < 0) throw new ConnectException(plan.Target.Address, "no epoll");
        Libc.Control(_epoll, Libc.EpollAdd, _wake, Libc.EpollIn, WakeEvent);
        _events = (byte*)NativeMemory.Alloc(EventsMax, (nuint)Libc.EventBytes);
        _thread = new Thread(Run) { IsBackground = true, Name = $"scenario {number}" };
    }

    public ScenarioRecorder Recorder => _recorder;

    /// <summary>A connection and what it plays.</summary>
    public void Add(Actor actor, Connection connection)
    {
        var seat = new Seat(actor, connection, _seats.Count);
        actor.Freed = () => _freed.Enqueue(seat);
        _seats.Add(seat);
        _control.SessionOpened();
        Libc.Control(_epoll, Libc.EpollAdd, connection.Descriptor, Libc.EpollIn, (ulong)seat.Index);
    }

    public void Start() => _thread.Start();

    /// <summary>Makes a waiting loop look at what is asked of it. Any thread.</summary>
    public void Wake()
    {
        ulong one = 1;
        Libc.write(_wake, &one, 8);
    }

    public void Dispose()
    {
        if (_thread.IsAlive) _thread.Join();
        foreach (Seat seat in _seats) seat.Connection.Dispose();
        Libc.close(_epoll);
        Libc.close(_wake);
        NativeMemory.Free(_events);
    }

    private void Run()
    {
        int phase = 0;
        while (_control.WaitForPhase(ref phase))
        {
            long begin = Clock.Now;
            bool isFirst = phase == 1;
            if (isFirst) GetReady();
            else Drive();
            _recorder.Wall += Clock.Now - begin;
            _control.LoopEnded();
        }
    }

    /// <summary>Subscribes, blocks: until all are where others may begin.</summary>
    private void GetReady()
    {
        Begin();
        foreach (Seat seat in _seats)
        {
            seat.Actor.Prepare();
            Flush(seat);
        }

        while (!_control.IsStopped && !_seats.TrueForAll(seat => seat.Actor.IsReady))
        {
            Handle(Poll(WaitMax));
            if (Clock.Now < _sendUntil) continue;
            Seat late = _seats.First(seat => !seat.Actor.IsReady);
            Fail(RunEnd.DrainTimeout, $"a {late.Actor.Role} was not ready in time");
        }
    }

    private void Drive()
    {
        Begin();
        foreach (Seat seat in _seats) Fill(seat);
        // Ends: sending ends by time, count or request, and what is outstanding is waited for a bounded time.
        while (true)
        {
            long now = Clock.Now;
            if (!_ended && (now >= _sendUntil || _control.IsStopped)) EndSending();
            if (_arrivals is not null && !_ended) SendDue();
            if (HasNothingLeft) break;
            if (now >= _waitUntil)
            {
                GiveUp();
                break;
            }

            // Looking at the clock is no work.
            if (_hasWorked) _recorder.Busy += Clock.Now - _woke;
            _hasWorked = false;
            Handle(Poll(Wait()));
        }

        _recorder.Busy += Clock.Now - _woke;
    }

    private void Begin()
    {
        long now = _woke = Clock.Now;
        (_ended, _isSpent, _claimed) = (false, false, 0);
        _sendUntil = _control.Duration > TimeSpan.Zero ? now + Clock.Of(_control.Duration) : long.MaxValue;
        _waitUntil = _sendUntil == long.MaxValue ? now + IdleMax : _sendUntil + Clock.Of(_plan.Drain);
        if (_arrivals is null) return;
        PreciseWait.Prepare();
        _arrivals.Begin(now);
    }

    /// <summary>In a run without an end by time: how long nothing at all may come.</summary>
    private long IdleMax => Clock.Of(_plan.Drain) * 6;

    private bool HasNothingLeft =>
        (_ended || _isSpent) && _recorder.Pending <= 0 && _seats.TrueForAll(seat => seat.Actor.Outstanding == 0);

    private void EndSending()
    {
        if (_ended) return;
        _ended = true;
        _waitUntil = Clock.Now + Clock.Of(_plan.Drain);
    }

    private void GiveUp()
    {
        long missing = Math.Max(0, _recorder.Pending) + _seats.Sum(seat => seat.Actor.Outstanding);
        _recorder.Lost += missing;
        Fail(RunEnd.DrainTimeout, $"{missing} operations did not end for {_plan.Drain.TotalSeconds:0.###} s");
    }

    private long Wait()
    {
        if (_arrivals is null || _ended || _isBlocked) return WaitMax;
        return Math.Min(WaitMax, _arrivals.Next - Clock.Now);
    }

    private int Poll(long wait)
    {
        if (wait == WaitMax) return PreciseWait.For(_epoll, _events, EventsMax, wait);
        return wait < SpinBelow ? Libc.epoll_wait(_epoll, _events, EventsMax, 0)
            : PreciseWait.For(_epoll, _events, EventsMax, wait - SpinBelow);
    }

    private void Handle(int count)
    {
        _woke = Clock.Now;
        _hasWorked = count > 0;
        for (int index = 0; index < count; index++)
        {
            ulong data = Libc.DataOf(_events, index);
            if (data == WakeEvent)
            {
                ulong ignored;
                Libc.read(_wake, &ignored, 8);
                continue;
            }

            Seat seat = _seats[(int)data];
            uint events = Libc.EventsOf(_events, index);
            if ((events & ~Libc.EpollOut) != 0) Receive(seat);
            if ((events & Libc.EpollOut) != 0) Flush(seat);
        }
    }

    private void Receive(Seat seat)
    {
        Span<byte> room = seat.Room();
        nint received;
        fixed (byte* start = room) received =
            Libc.ReceiveNow(seat.Connection.Descriptor, start, (nuint)room.Length, Libc.MsgDontWait);
        long now = Clock.Now;
        if (received <= 0)
        {
            int error = received < 0 ? Marshal.GetLastSystemError() : 0;
            if (error is Libc.EAgain or Libc.EIntr) return;
            Lost(seat, error == 0 ? "the server closed it" : Marshal.GetPInvokeErrorMessage(error));
            return;
        }

        _recorder.BytesIn += received;
        _recorder.LastReply = now;
        if (_sendUntil == long.MaxValue && !_ended) _waitUntil = now + IdleMax;
        if (seat.Take((int)received, now) is { } problem)
        {
            Fail(RunEnd.BrokenReply, $"{seat.Actor.Role}: {problem}");
            return;
        }

        if (_plan.AbortOnError && _recorder.Errors > 0) Fail(RunEnd.ErrorReply, _recorder.ErrorClasses.FirstText);
        Fill(seat);
        // Who waits is waiting again before who wakes it goes on.
        while (_freed.TryDequeue(out Seat? freed)) Fill(freed);
    }

    /// <summary>Closed loop: begins what may begin. Sends what there is.</summary>
    private void Fill(Seat seat)
    {
        if (_arrivals is null)
        {
            while (!_ended && !_control.IsStopped && seat.Actor.CanBegin && Claim())
            {
                long now = Clock.Now;
                Left(now);
                seat.Actor.Begin(now, now);
            }
        }

        Flush(seat);
    }

    /// <summary>Open loop: begins all that is due and that a session is free for.</summary>
    private void SendDue()
    {
        long now = Clock.Now;
        _isBlocked = false;
        // Ends: each round begins one, or leaves; the turn is bounded.
        for (int turn = 0; turn < EventsMax && _arrivals!.Next <= now; turn++)
        {
            if (_arrivals.Next >= _sendUntil) break;
            Seat? seat = NextFree();
            if (seat is null || !Claim())
            {
                _isBlocked = true;      // until a reply frees one
                break;
            }

            _hasWorked = true;
            _recorder.Left(now - _arrivals.Next);
            Left(now);
            seat.Actor.Begin(_arrivals.Next, now);
            _arrivals.Advance();
            Flush(seat);
            now = Clock.Now;
        }

        if (_arrivals!.Next >= _sendUntil) EndSending();
    }

    private Seat? NextFree()
    {
        for (int tried = 0; tried < _seats.Count; tried++)
        {
            if (++_turn >= _seats.Count) _turn = 0;
            if (_seats[_turn].Actor.CanBegin) return _seats[_turn];
        }

        return null;
    }

    private void Left(long now)
    {
        _recorder.Sent++;
        if (_recorder.FirstSend == 0) _recorder.FirstSend = now;
    }

    /// <summary>Takes one operation off what may still begin.</summary>
    private bool Claim()
    {
        if (!_control.IsLimited) return true;
        if (_claimed == 0) _claimed = _control.Take(1);
        if (_claimed > 0)
        {
            _claimed--;
            return true;
        }

        if (!_isSpent) _waitUntil = Clock.Now + Clock.Of(_plan.Drain);
        _isSpent = true;
        return false;
    }

    private void Flush(Seat seat)
    {
        RequestBuffer requests = seat.Actor.Requests;
        // Ends: what is unsent gets less, or the kernel takes no more.
        while (!requests.Unsent.IsEmpty)
        {
            ReadOnlySpan<byte> bytes = requests.Unsent;
            nint sent;
            fixed (byte* start = bytes) sent = Libc.SendNow(seat.Connection.Descriptor, start, (nuint)bytes.Length,
                Libc.MsgDontWait | Libc.MsgNoSignal);
            if (sent < 0)
            {
                int error = Marshal.GetLastSystemError();
                if (error is not (Libc.EAgain or Libc.EIntr)) Lost(seat, Marshal.GetPInvokeErrorMessage(error));
                else Watch(seat, true);
                return;
            }

            _recorder.BytesOut += sent;
            requests.Sent((int)sent);
        }

        Watch(seat, false);
    }

    private void Watch(Seat seat, bool writes)
    {
        if (seat.WatchesWrite == writes) return;
        seat.WatchesWrite = writes;
        Libc.Control(_epoll, Libc.EpollModify, seat.Connection.Descriptor, Libc.EpollIn | (writes ? Libc.EpollOut : 0),
            (ulong)seat.Index);
    }

    /// <summary>A role without its connection leaves no scenario.</summary>
    private void Lost(Seat seat, string why) =>
        Fail(RunEnd.AllDisconnected, $"a {seat.Actor.Role} lost its connection: {why}");

    private void Fail(RunEnd end, string? why)
    {
        _control.Fail(end, why);
        _control.Stop();
        EndSending();
        // Nothing that is missing can come any more, but for an error reply's run.
        if (end != RunEnd.ErrorReply) _waitUntil = 0;
    }

    /// <summary>An actor's connection and what it received of a reply.</summary>
    private sealed class Seat(Actor actor, Connection connection, int index)
    {
        private const int RoomMin = 4096;

        private byte[] _received = new byte[4 * RoomMin];
        private int _count;

        public Actor Actor { get; } = actor;

        public Connection Connection { get; } = connection;

        public int Index { get; } = index;

        public bool WatchesWrite { get; set; }

        public Span<byte> Room()
        {
            if (_received.Length - _count < RoomMin) Array.Resize(ref _received, _received.Length * 2);
            return _received.AsSpan(_count);
        }

        /// <summary>Hands over whole replies.</summary>
        /// <returns>Null; or why it cannot go on.</returns>
        public string? Take(int count, long now)
        {
            _count += count;
            int used = 0;
            // Ends: each round takes a reply off what was received.
            while (used < _count)
            {
                ReplyStatus status = ReplyReader.TryRead(_received.AsSpan(used, _count - used), out int consumed,
                    out RespValue reply);
                if (status == ReplyStatus.NeedMoreData) break;
                if (status != ReplyStatus.Complete) return "what came back is no RESP";
                used += consumed;
                if (Actor.Receive(reply, now) is { } problem) return problem;
            }

            _received.AsSpan(used, _count - used).CopyTo(_received);
            _count -= used;
            return null;
        }
    }
}

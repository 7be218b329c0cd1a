using System.Runtime.CompilerServices;
using RespBenchmark.Measure;
using RespBenchmark.Network;
using RespBenchmark.Workload;

namespace RespBenchmark.Engine;

/// <summary>One client thread and the sessions it drives: what may be sent and when, and what a reply means. How bytes
/// move is left to its kinds: <see cref="EpollLoop"/> and <see cref="PortableLoop"/>.</summary>
/// <remarks>Threads: all but the marked members belong to the loop's thread (portable: to whoever holds its
/// lock).</remarks>
internal abstract class Loop : IDisposable
{
    private readonly object _gate = new();
    private readonly ManualResetEventSlim _obeyed = new(false);
    private readonly List<(int Number, Connection Connection)> _added = [];
    private readonly Thread _thread;
    private int _request;
    private bool _idle = true;
    private int _claimed;
    private bool _isSpent;
    private readonly int _refill;

    protected Loop(CellPlan plan, RunControl control, int number, int loops)
    {
        Plan = plan;
        Control = control;
        Number = number;
        Source = plan.Workload.Open(number, loops, plan.Sessions, plan.Seed);
        Recorder = new Recorder(plan.Workload.Kinds, plan.Arrivals is not null);
        Framer = new ReplyFramer(plan.Workload, Recorder, !plan.BatchLatency
            && !plan.Flood, plan.VerifyShare, plan.Seed + (ulong)number);
        if (plan.Arrivals is { } arrivals) Arrivals = new Arrivals(arrivals, number, loops, plan.Seed);
        _refill = plan.Mode == DepthMode.Window ? Math.Max(1, plan.Depth / 4) : plan.Depth;
        _thread = new Thread(Run) { IsBackground = true, Name = $"loop {number}" };
    }

    [Flags]
    private enum Request
    {
        None = 0,
        Swap = 1,
        Reset = 2,
    }

    public Recorder Recorder { get; }

    /// <summary>Sessions of the loop, closed ones too.</summary>
    public List<Session> Sessions { get; } = [];

    protected CellPlan Plan { get; }

    protected RunControl Control { get; }

    protected int Number { get; }

    protected RequestSource Source { get; }

    protected ReplyFramer Framer { get; }

    protected Arrivals? Arrivals { get; }

    /// <summary>Whether a phase runs.</summary>
    protected bool IsDriving => !_idle;

    /// <summary>Nothing more is begun in this phase.</summary>
    protected bool SendingEnded { get; private set; }

    /// <summary>Commands of all sessions that were sent and not answered.</summary>
    protected long Outstanding { get; private set; }

    /// <summary>Nanoseconds of the clock; <see cref="long.MaxValue"/>: none.</summary>
    protected long SendUntil { get; private set; }

    /// <summary>When missing replies are given up. Moves on with each reply in a run that only a count
    /// bounds.</summary>
    protected long WaitUntil { get; private set; }

    // a stale read delays what was asked by one round
    protected bool HasRequest => Volatile.Read(ref _request) != 0;

    public void Start() => _thread.Start();

    /// <summary>Any thread: hands over a connection; the loop takes it up in its next round.</summary>
    public void Add(int number, Connection connection)
    {
        lock (_gate) _added.Add((number, connection));
        Ask(Request.None);
    }

    /// <summary>Any thread: lets the loop exchange its histograms.</summary>
    /// <returns>False: it did not in time, and will when it can; there is nothing to read now.</returns>
    public bool Swap() => Ask(Request.Swap);

    /// <summary>Any thread: lets the loop forget what it measured.</summary>
    public bool Reset() => Ask(Request.Reset);

    /// <summary>Makes a waiting loop look at what is asked of it. Any thread.</summary>
    public abstract void Wake();

    /// <summary>One phase: until sending has ended and all replies are in, or are given up.</summary>
    protected abstract void Drive();

    /// <summary>Takes up a connection.</summary>
    protected abstract void Adopt(Session session);

    /// <summary>Ends what the transport holds of a session.</summary>
    protected abstract void Release(Session session);

    public virtual void Dispose()
    {
        if (_thread.IsAlive) _thread.Join();
        foreach (Session session in Sessions) session.Connection?.Dispose();
        foreach ((int _, Connection connection) in _added) connection.Dispose();
        Source.Dispose();
        _obeyed.Dispose();
    }

    /// <summary>Commands that a session may begin now.</summary>
    protected int Allowance(Session session)
    {
        if (session.IsCut) return Math.Max(1, session.ToSend);
        if (session.ToSend == 0 && !Grant(session)) return 0;
        if (SendingEnded)
        {
            Forfeit(session);
            return 0;
        }

        // The bound of bytes in flight is in commands what it can hold of the longest reply, and never less than one.
        long room = Plan.InflightBytesMax - session.ExpectedBytes;
        if (room <= 0) return session.Inflight.Commands == 0 ? 1 : 0;
        if (session.ToSend == 1) return 1;
        long commands = Math.Max(1, room / LongestReply);
        return (int)Math.Min(session.ToSend, commands);
    }

    protected long LongestReply => _longestReply != 0 ? _longestReply
        : _longestReply = Math.Max(1, Plan.Workload.Kinds.Max(kind => kind.ReplyBytes));

    private long _longestReply;

    private bool Grant(Session session)
    {
        if (SendingEnded || session.StreamEnded) return false;
        int outstanding = session.Inflight.Commands;
        int wanted = Plan.Flood ? 4096 : Plan.Depth - outstanding;
        if (!Plan.Flood)
        {
            if (outstanding > 0 && wanted < _refill) return false;
            if (outstanding == 0)
            {
                session.Stream.InBatch = 0;
                session.BatchSent = 0;
            }
        }

        return (session.ToSend = Claim(wanted)) > 0;
    }

    /// <summary>Takes commands off what the run may still send.</summary>
    protected int Claim(int wanted)
    {
        if (!Control.IsLimited) return wanted;
        if (_claimed < wanted) _claimed += Control.Take(wanted - _claimed);
        int got = Math.Min(wanted, _claimed);
        _claimed -= got;
        if (got == 0 && !_isSpent)
        {
            _isSpent = true;
            WaitUntil = Clock.Now + Clock.Of(Plan.Drain);
        }

        return got;
    }

    /// <summary>Gives back what a session was granted and will not send.</summary>
    private void Forfeit(Session session)
    {
        if (Control.IsLimited) _claimed += session.ToSend;
        session.ToSend = 0;
    }

    /// <summary>Enters rendered commands as outstanding. To be called before they are sent.</summary>
    /// <returns>False: the session's stream has ended; there is nothing to send.</returns>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    protected bool Rendered(Session session, in RequestChunk chunk, long now)
    {
        if (chunk.Bytes.IsEmpty && chunk.Commands == 0)
        {
            session.StreamEnded = true;
            session.IsCut = false;
            Forfeit(session);
            return false;
        }

        session.IsCut = chunk.IsCut;
        if (session.BatchSent == 0) session.BatchSent = now;
        Recorder.Sent += chunk.Commands;
        if (Recorder.FirstSend == 0) Recorder.FirstSend = now;
        Outstanding += chunk.Commands;
        session.ToSend = Math.Max(0, session.ToSend - chunk.Commands);
        if (Arrivals is null && chunk.Kinds.IsEmpty)
        {
            session.Inflight.Add(chunk.Commands, chunk.Kind, now, now);
            session.ExpectedBytes += (long)chunk.Commands * session.ReplyBytes[chunk.Kind];
        }
        else
        {
            Enter(session, chunk, now);
        }

        if (Plan.VerifyShare > 0) session.Inflight.AddKeys(chunk.Keys);
        return true;
    }

    private void Enter(Session session, in RequestChunk chunk, long now)
    {
        for (int index = 0; index < chunk.Commands; index++)
        {
            byte kind = chunk.Kinds.IsEmpty ? chunk.Kind : chunk.Kinds[index];
            long intended = now;
            if (Arrivals is not null)
            {
                intended = Arrivals.Next;
                Recorder.Left(now - intended);
                Arrivals.Advance();
            }

            session.Inflight.Add(1, kind, now, intended);
            session.ExpectedBytes += session.ReplyBytes[kind];
        }
    }

    /// <summary>Reads what a session received.</summary>
    /// <returns>Bytes used, the rest begins a line; -1: the session is broken off.</returns>
    protected int Received(Session session, ReadOnlySpan<byte> input, int received, long now)
    {
        int before = session.Inflight.Commands;
        int used = Framer.Read(session, input, now);
        int replies = before - session.Inflight.Commands;
        Recorder.BytesIn += received;
        if (replies > 0)
        {
            Outstanding -= replies;
            session.HasAnswered = true;
            Recorder.LastReply = now;
            if (SendUntil == long.MaxValue && !SendingEnded)
                WaitUntil = now + (_isSpent ? Clock.Of(Plan.Drain) : IdleMax);
            if (Plan.AbortOnError && Recorder.Errors > 0) Abort(session);
            if (Plan.BatchLatency && session.Inflight.Commands == 0 && session is { ToSend: 0, IsCut: false })
                Recorder.BatchReplied(session.LastKind, now - session.BatchSent);
        }

        if (session.Refusal is { } refusal)
        {
            Close(session, RunEnd.AllDisconnected, refusal);
            return -1;
        }

        if (used < 0)
        {
            Close(session, RunEnd.BrokenReply, session.Breakage);
            return -1;
        }

        session.BytesParsed += used;
        return used;
    }

    private void Abort(Session session)
    {
        if (Control.IsStopped) return;
        Control.Fail(RunEnd.ErrorReply, Recorder.ErrorClasses.FirstText);
        Control.Stop();
        EndSending();
    }

    /// <summary>Ends a session for good; what it has outstanding is lost.</summary>
    protected void Close(Session session, RunEnd end, string? why)
    {
        if (session.IsClosed) return;
        session.IsClosed = true;
        Recorder.Lost += session.Inflight.Commands;
        Outstanding -= session.Inflight.Commands;
        session.Inflight.Clear();
        session.IsCut = false;
        Forfeit(session);
        Release(session);
        bool last = Control.SessionClosed();
        Control.Fail(end == RunEnd.AllDisconnected && !last ? RunEnd.Completed : end, why);
        if (!Sessions.TrueForAll(one => one.IsClosed)) return;
        Control.GiveBack(_claimed);
        _claimed = 0;
    }

    /// <summary>Nothing more is to be sent or received: sending has ended, the count is spent, or all streams have
    /// ended.</summary>
    protected bool HasNothingLeft
    {
        get
        {
            if (SendingEnded) return Outstanding == 0 && Sessions.TrueForAll(one => !one.IsCut);
            // its own are still to come
            if (Sessions.Count == 0 && Plan.SessionsMax > Plan.Sessions)
                return Control.IsSpent || Control.HasNoSessions;
            // What was granted before the count was spent is still to be sent.
            if (_isSpent && Outstanding == 0) return Sessions.TrueForAll(one => one is { IsCut: false, ToSend: 0 });
            return Sessions.TrueForAll(one => one.IsClosed || (one.StreamEnded && one.Inflight.Commands == 0));
        }
    }

    protected void BeginPhase()
    {
        long now = Clock.Now;
        SendingEnded = _isSpent = false;
        _claimed = 0;
        SendUntil = Control.Duration > TimeSpan.Zero ? now + Clock.Of(Control.Duration) : long.MaxValue;
        WaitUntil = SendUntil == long.MaxValue ? now + IdleMax : SendUntil + Clock.Of(Plan.Drain);
        Arrivals?.Begin(now);
    }

    /// <summary>To be called each round: ends sending when it is time, or when asked to.</summary>
    /// <returns>False: the replies that are missing are given up.</returns>
    protected bool Watch(long now)
    {
        if (!SendingEnded && (now >= SendUntil || Control.IsStopped)) EndSending();
        return now < WaitUntil || Sessions.Count == 0;      // without sessions nothing is missing
    }

    protected void EndSending()
    {
        if (SendingEnded) return;
        SendingEnded = true;
        WaitUntil = Clock.Now + Clock.Of(Plan.Drain);
    }

    /// <summary>Gives up what is outstanding: its connections are of no more use.</summary>
    protected void GiveUp()
    {
        Control.Fail(RunEnd.DrainTimeout, $"no reply to {Outstanding} commands for {Plan.Drain.TotalSeconds:0.###} s");
        foreach (Session session in Sessions)
        {
            if (session.Inflight.Commands > 0 || session.IsCut) Close(session, RunEnd.DrainTimeout, null);
        }
    }

    /// <summary>Does what other threads asked for.</summary>
    protected void Obey()
    {
        lock (_gate)
        {
            ObeyLatched();
        }
    }

    private void ObeyLatched()
    {
        // The bits are taken in one exchange: a bit set after it asks for another round.
        var request = (Request)Interlocked.Exchange(ref _request, 0);
        foreach ((int number, Connection connection) in _added)
        {
            var session = new Session(number, connection, Plan) { Index = Sessions.Count };
            Sessions.Add(session);
            Control.SessionOpened();
            Adopt(session);
        }

        _added.Clear();
        if ((request & Request.Reset) != 0) Recorder.Reset();
        if ((request & Request.Swap) != 0) Recorder.Swap();
        _obeyed.Set();
    }

    private bool Ask(Request request)
    {
        lock (_gate)
        {
            _obeyed.Reset();
            Interlocked.Or(ref _request, (int)request | 4);
            if (_idle)
            {
                ObeyLatched();
                return true;
            }
        }

        Wake();
        return _obeyed.Wait(200);
    }

    /// <summary>In a run without an end by time: how long no reply at all may come.</summary>
    private long IdleMax => Clock.Of(Plan.Drain) * 6;

    private void Run()
    {
        Pin();
        int phase = 0;
        while (Control.WaitForPhase(ref phase))
        {
            lock (_gate) _idle = false;
            long allocated = GC.GetAllocatedBytesForCurrentThread();
            long begin = Clock.Now;
            BeginPhase();
            Drive();
            lock (_gate)
            {
                if (HasRequest) ObeyLatched();
                _idle = true;
            }

            Recorder.Wall += Clock.Now - begin;
            Recorder.Allocated += GC.GetAllocatedBytesForCurrentThread() - allocated;
            Control.LoopEnded();
        }
    }

    private void Pin()
    {
        if (Plan.Cores.Count == 0 || !OperatingSystem.IsLinux()) return;
        int core = Plan.Cores[Number % Plan.Cores.Count];
        if (!Affinity.Pin([core])) Control.Fail(RunEnd.Completed, $"a loop could not be pinned to core {core}");
    }
}

using RespBenchmark.Measure;
using RespBenchmark.Network;

namespace RespBenchmark.Engine;

/// <summary>One run of a cell: its connections, its loops, and what they measured.</summary>
/// <remarks>Threads: the controlling thread's only, but for <see cref="Stop"/>; loops are threads of its own.</remarks>
internal sealed class LoadRun : IDisposable
{
    private readonly CellPlan _plan;
    private readonly Dialer _dialer;
    private readonly RunControl _control;
    private readonly Loop[] _loops;
    private readonly HistogramSet _total;
    private readonly Histogram _interval = new();
    private Histogram[] _intervalKinds = [];
    private int _sessions, _collections;
    private TimeSpan _pause;
    private RunCounters _intervalBase;
    private TimeSpan _intervalStart;
    private bool _stopped;

    private LoadRun(CellPlan plan, Dialer dialer)
    {
        _plan = plan;
        _dialer = dialer;
        bool portable = plan.Model == SessionModel.Portable || plan.Target.Tls is not null
            || !OperatingSystem.IsLinux();
        int loops = LoopCount(plan, dialer);
        _control = new RunControl(loops);
        _loops = new Loop[loops];
        for (int number = 0; number < loops; number++)
        {
            _loops[number] = portable ? new PortableLoop(plan, _control, number, loops, dialer)
                : new EpollLoop(plan, _control, number, loops, dialer);
        }

        _total = new HistogramSet(plan.Workload.Kinds.Count, plan.Arrivals is not null);
    }

    /// <summary>Connects all sessions, handshakes done, and starts the loops, idle.</summary>
    /// <exception cref="ConnectException">A connection could not be made.</exception>
    /// <exception cref="TargetException">The server answered a handshake, or a script, with an error.</exception>
    public static LoadRun Connect(CellPlan plan)
    {
        var run = new LoadRun(plan, new Dialer(plan.Target));
        try
        {
            run.LoadScripts();
            run.SetSessions(plan.Sessions);
        }
        catch
        {
            foreach (Loop loop in run._loops) loop.Start();
            run.Dispose();
            throw;
        }

        foreach (Loop loop in run._loops) loop.Start();
        return run;
    }

    /// <summary>Threads that drive the sessions.</summary>
    public int Loops => _loops.Length;

    /// <summary>From now on intervals come by kind, too; 224 KiB a kind, so that only who writes them asks for
    /// it.</summary>
    public void SplitIntervals() => _intervalKinds = [.. _plan.Workload.Kinds.Select(_ => new Histogram())];

    /// <summary>Since the measurement began or was reset; cheap, any time.</summary>
    public RunCounters Counters
    {
        get
        {
            RunCounters sum = default;
            foreach (Loop loop in _loops) sum += loop.Recorder.Counters;
            return sum;
        }
    }

    /// <summary>Since the first send of the measurement; once it ended, to its last reply.</summary>
    public TimeSpan Elapsed
    {
        get
        {
            long first = FirstSend;
            if (first == 0) return TimeSpan.Zero;
            long last = _control.HasEnded ? LastReply : Clock.Now;
            return Clock.Span(Math.Max(0, last - first));
        }
    }

    private long FirstSend
    {
        get
        {
            long first = long.MaxValue;
            foreach (Loop loop in _loops)
            {
                long one = Volatile.Read(ref loop.Recorder.FirstSend);      // stale is only early
                if (one != 0) first = Math.Min(first, one);
            }

            return first == long.MaxValue ? 0 : first;
        }
    }

    private long LastReply => _loops.Max(loop => Volatile.Read(ref loop.Recorder.LastReply));

    /// <summary>Drives the workload for a time, waits for its replies, and forgets what was measured.</summary>
    /// <remarks>A workload that ends (a load) is not driven: nothing would be left to measure.</remarks>
    public void WarmUp(TimeSpan time)
    {
        if (time <= TimeSpan.Zero || _plan.Workload.Commands is not null || _stopped) return;
        _control.Start(time, commands: 0);
        if (_stopped) _control.Stop();
        _control.WaitForEnd(Timeout.InfiniteTimeSpan);      // ends: sending by time, the drain by its own bound
    }

    /// <summary>Begins the measurement.</summary>
    public void Begin()
    {
        ResetMeasurement();
        _control.Start(_plan.Duration, _plan.Commands);
        if (_stopped) _control.Stop();
    }

    /// <summary>Waits until the run has ended or the time passed.</summary>
    /// <returns>True: it has ended.</returns>
    public bool Wait(TimeSpan timeout) => _control.WaitForEnd(timeout);

    /// <summary>Asks the loops to stop sending; the run then ends within the drain. Any thread.</summary>
    public void Stop()
    {
        _stopped = true;
        if (_control.HasEnded) return;
        _control.Fail(RunEnd.Interrupted, null);
        _control.Stop();
        foreach (Loop loop in _loops) loop.Wake();
    }

    /// <summary>What was recorded since the measurement began or the last call.</summary>
    public IntervalSample TakeInterval()
    {
        Collect(_interval);
        RunCounters counters = Counters;
        TimeSpan now = Elapsed;
        var sample = new IntervalSample(_intervalStart, now - _intervalStart, counters - _intervalBase,
            _interval) { Kinds = _intervalKinds };
        (_intervalBase, _intervalStart) = (counters, now);
        return sample;
    }

    /// <summary>Opens more sessions, also while running, spread over the loops. There are never fewer.</summary>
    public void SetSessions(int sessions)
    {
        for (; _sessions < sessions; _sessions++)
            _loops[_sessions % _loops.Length].Add(_sessions, _dialer.Open());
    }

    /// <summary>Forgets all that was measured so far, and counts from now.</summary>
    public void ResetMeasurement()
    {
        foreach (Loop loop in _loops) loop.Reset();
        _total.Reset();
        _interval.Reset();
        _intervalBase = default;
        _intervalStart = TimeSpan.Zero;
        _collections = GC.CollectionCount(0);
        _pause = GC.GetTotalPauseDuration();
    }

    /// <summary>Everything measured. To be called when <see cref="Wait"/> has said that the run ended.</summary>
    public Measurement Finish()
    {
        var service = new Histogram();
        Collect(service);
        service.Reset();
        foreach (Histogram one in _total.Service) service.Add(one);
        return new Measurement
        {
            Elapsed = Elapsed,
            Counters = Counters,
            Service = service,
            Response = _total.Response,
            Lag = _total.Lag,
            Kinds = [.. _plan.Workload.Kinds.Select(KindOf)],
            Errors = ErrorClasses.Merge(_loops.Select(loop => loop.Recorder.ErrorClasses)),
            LoopOccupancy = [.. _loops.Select(loop => loop.Recorder.Occupancy)],
            End = _control.End,
            Failure = _control.Failure,
            GeneratorLate = IsGeneratorLate(),
            Collections = GC.CollectionCount(0) - _collections,
            CollectionPause = GC.GetTotalPauseDuration() - _pause,
            AllocatedBytes = _loops.Sum(loop => loop.Recorder.Allocated),
        };
    }

    public void Dispose()
    {
        _control.Exit();
        foreach (Loop loop in _loops) loop.Wake();
        foreach (Loop loop in _loops) loop.Dispose();
    }

    /// <summary>Adds what loops recorded to the total; <paramref name="service"/> gets it alone.</summary>
    private void Collect(Histogram service)
    {
        service.Reset();
        foreach (Histogram kind in _intervalKinds) kind.Reset();
        foreach (Loop loop in _loops)
        {
            if (!loop.Swap()) continue;
            HistogramSet recorded = loop.Recorder.Inactive;
            foreach (Histogram one in recorded.Service) service.Add(one);
            for (int kind = 0; kind < _intervalKinds.Length; kind++) _intervalKinds[kind].Add(recorded.Service[kind]);
            _total.Add(recorded);
            recorded.Reset();
        }
    }

    private KindMeasurement KindOf(Workload.CommandKind kind, int number)
    {
        long ops = 0, errors = 0, nils = 0;
        foreach (Loop loop in _loops)
        {
            (long loopOps, long loopErrors, long loopNils) = loop.Recorder.OfKind(number);
            ops += loopOps;
            errors += loopErrors;
            nils += loopNils;
        }

        return new KindMeasurement(kind.Name, ops, errors, nils, _total.Service[number]);
    }

    private bool IsGeneratorLate()
    {
        if (_total.Lag is not { Count: > 0 } lag) return false;
        long late = _loops.Sum(loop => loop.Recorder.LateSends);
        return late * 100 > lag.Count || lag.ValueAt(0.99) > _total.Response!.ValueAt(0.5) / 10;
    }

    private void LoadScripts()
    {
        if (_plan.Workload.Scripts.Count == 0) return;
        using Connection connection = _dialer.Open();
        foreach (string script in _plan.Workload.Scripts) connection.Ask(Handshake.Encode("SCRIPT", "LOAD", script), 1);
    }

    /// <summary>Threads that drive a plan's sessions.</summary>
    internal static int LoopCount(CellPlan plan, Dialer dialer)
    {
        int sessions = Math.Max(1, Math.Max(plan.Sessions, plan.SessionsMax));
        if (plan.Model == SessionModel.Thread) return sessions;
        if (plan.Loops > 0) return Math.Min(sessions, plan.Loops);
        int cores = plan.Cores.Count > 0 ? plan.Cores.Count : Environment.ProcessorCount;
        bool shared = plan.Cores.Count == 0 && dialer.IsLocal;
        return Math.Min(sessions, shared ? Math.Max(1, cores / 2) : cores);
    }
}

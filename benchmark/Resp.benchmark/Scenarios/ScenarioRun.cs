using System.Globalization;
using Kv.Protocol;
using RespBenchmark.Engine;
using RespBenchmark.Measure;
using RespBenchmark.Network;

namespace RespBenchmark.Scenarios;

/// <summary>One run of a scenario: its connections, its loops, what they measured, and the keys it made and takes
/// away.</summary>
/// <remarks>Threads: the controlling one's, but for <see cref="Stop"/>.</remarks>
internal sealed class ScenarioRun : IDisposable
{
    private const int KeysAtOnce = 1000;
    private static readonly TimeSpan ReadyMax = TimeSpan.FromSeconds(10);

    private readonly Scenario _scenario;
    private readonly CellPlan _plan;
    private readonly ScenarioStage _stage;
    private readonly RunControl _control;
    private readonly List<ScenarioLoop> _loops = [];
    private volatile bool _stopped;
    private int _collections;
    private TimeSpan _pause;

    private ScenarioRun(Scenario scenario, CellPlan plan, ScenarioStage stage)
    {
        (_scenario, _plan, _stage) = (scenario, plan, stage);
        _control = new RunControl(LoopCount);
        for (int number = 0; number < LoopCount; number++)
            _loops.Add(new ScenarioLoop(plan, _control,
                new ScenarioRecorder(scenario.Latencies.Count, scenario.Counts.Count), number, LoopCount));
    }

    /// <summary>Makes what the scenario needs, connects all, and gets the waiting ones to wait.</summary>
    /// <exception cref="ConnectException">A connection could not be made.</exception>
    /// <exception cref="TargetException">The server refused something.</exception>
    public static ScenarioRun Connect(Scenario scenario, CellPlan plan, ScenarioStage stage)
    {
        var run = new ScenarioRun(scenario, plan, stage);
        try
        {
            run.Prepare();
            return run;
        }
        catch
        {
            run.Dispose();
            throw;
        }
    }

    public RunCounters Counters => new(Sum(one => Volatile.Read(ref one.Ops)), Sum(one => Volatile.Read(ref one.Ops)),
        Sum(one => Volatile.Read(ref one.Sent)),
        Sum(one => Volatile.Read(ref one.Errors)), 0, 0, 0, Sum(one => one.Lost), Sum(one => one.BytesOut),
        Sum(one => one.BytesIn));

    public TimeSpan Elapsed
    {
        get
        {
            long first = _loops.Select(loop => Volatile.Read(ref loop.Recorder.FirstSend)).Where(one => one != 0)
                .DefaultIfEmpty().Min();
            if (first == 0) return TimeSpan.Zero;
            long last = _control.HasEnded ? _loops.Max(loop => loop.Recorder.LastReply) : Clock.Now;
            return Clock.Span(Math.Max(0, last - first));
        }
    }

    /// <summary>A count by its name, at any time.</summary>
    public long CountOf(string name) => Sum(one => one.CountOf(_scenario.Counts.ToList().IndexOf(name)));

    /// <summary>Drives for a time and forgets what was measured.</summary>
    public void WarmUp(TimeSpan time)
    {
        if (time > TimeSpan.Zero && !_stopped && _control.End == RunEnd.Completed)
            Phase(time, 0, Timeout.InfiniteTimeSpan);
    }

    public void Begin()
    {
        _loops.ForEach(loop => loop.Recorder.Reset());
        _collections = GC.CollectionCount(0);
        _pause = GC.GetTotalPauseDuration();
        if (_control.End == RunEnd.Completed) Phase(_plan.Duration, _plan.Commands, TimeSpan.Zero);
    }

    /// <returns>True: it has ended.</returns>
    public bool Wait(TimeSpan timeout) => _control.WaitForEnd(timeout);

    /// <summary>Asks the loops to begin nothing more. Any thread.</summary>
    public void Stop()
    {
        _stopped = true;
        if (_control.HasEnded) return;
        _control.Fail(RunEnd.Interrupted, null);
        _control.Stop();
        _loops.ForEach(loop => loop.Wake());
    }

    /// <summary>Everything measured, once <see cref="Wait"/> said that it has ended; looks at the keys.</summary>
    public Measurement Finish()
    {
        Histogram[] latencies = [.. _scenario.Latencies.Select((_, number) => Merged(one => one.Latency(number)))];
        bool isOpen = _plan.Arrivals is not null;
        Histogram lag = Merged(one => one.Lag);
        Histogram response = Merged(one => one.Response);
        bool late = isOpen && lag.Count > 0
            && (Sum(one => one.LateSends) * 100 > lag.Count || lag.ValueAt(0.99) > response.ValueAt(0.5) / 10);
        return new Measurement
        {
            Elapsed = Elapsed,
            Counters = Counters with { Wrong = LostUpdates() },
            Service = latencies[0],
            Response = isOpen ? response : null,
            Lag = isOpen ? lag : null,
            Kinds = [.. _scenario.Latencies.Select(
                (name, number) => new KindMeasurement(name, latencies[number].Count, 0, 0, latencies[number]))],
            Errors = ErrorClasses.Merge(_loops.Select(loop => loop.Recorder.ErrorClasses)),
            LoopOccupancy = [.. _loops.Select(loop => loop.Recorder.Occupancy)],
            End = _control.End,
            Failure = _control.Failure,
            GeneratorLate = late,
            Collections = GC.CollectionCount(0) - _collections,
            CollectionPause = GC.GetTotalPauseDuration() - _pause,
        };
    }

    /// <summary>The scenario's own figures, by name.</summary>
    public IReadOnlyDictionary<string, double> Figures(Measurement measured)
    {
        const string perSecond = "_s";
        double seconds = Math.Max(measured.Elapsed.TotalSeconds, 1e-9);
        var figures = new Dictionary<string, double>();
        foreach (string name in _scenario.Counts)
            figures[name] = name.EndsWith(perSecond, StringComparison.Ordinal)
                ? CountOf(name) / seconds : CountOf(name);
        foreach ((string name, double value) in _scenario.Figures(_stage, CountOf, measured.Counters.Ops))
            figures[name] = value;
        if (_scenario.Counters(_stage).Any()) figures["lost_updates"] = measured.Counters.Wrong;
        if (_scenario.HasPeers) figures["lost"] = measured.Counters.Lost;
        return figures;
    }

    public void Dispose()
    {
        _control.Exit();
        _loops.ForEach(loop => loop.Wake());
        _loops.ForEach(loop => loop.Dispose());
        TakeAway();
    }

    private int LoopCount =>
        LoadRun.LoopCount(_plan with { Sessions = _stage.Groups(_scenario.HasPeers) }, new Dialer(_plan.Target));

    private void Prepare()
    {
        using (ControlConnection control = ControlConnection.Open(_plan.Target))
        {
            _scenario.Prepare(control, _stage);
            foreach (string script in _scenario.ScriptTexts)
                if (control.Send("SCRIPT", "LOAD", script) is { IsError: true } refused)
                    throw new TargetException(refused.Text);
        }

        var dialer = new Dialer(_plan.Target);
        for (int group = 0; group < _stage.Groups(_scenario.HasPeers); group++)
        {
            ScenarioLoop loop = _loops[group % _loops.Count];
            foreach (Actor actor in _scenario.Group(group, _stage, loop.Recorder)) loop.Add(actor, dialer.Open());
        }

        _loops.ForEach(loop => loop.Start());
        Phase(ReadyMax, 0, Timeout.InfiniteTimeSpan);
    }

    private void Phase(TimeSpan duration, long commands, TimeSpan wait)
    {
        _control.Start(duration, commands);
        if (_stopped) _control.Stop();
        if (wait != TimeSpan.Zero) _control.WaitForEnd(wait);      // ends: by time, and the drain by its own bound
    }

    private long Sum(Func<ScenarioRecorder, long> of) => _loops.Sum(loop => of(loop.Recorder));

    private Histogram Merged(Func<ScenarioRecorder, Histogram> of)
    {
        var all = new Histogram();
        foreach (ScenarioLoop loop in _loops) all.Add(of(loop.Recorder));
        return all;
    }

    /// <summary>Updates that the keys do not hold. 0 also where it cannot be known: an operation failed half
    /// way.</summary>
    private long LostUpdates()
    {
        if (_control.End is not (RunEnd.Completed or RunEnd.Interrupted)
            || _loops.Exists(loop => loop.Recorder.HasErred)) return 0;
        long expected = Sum(one => one.Updates), found = 0;
        if (expected == 0) return 0;
        using ControlConnection control = ControlConnection.Open(_plan.Target);
        foreach (string[] keys in _scenario.Counters(_stage).Chunk(KeysAtOnce))
        {
            foreach (RespValue value in control.Send(["MGET", .. keys]).Elements)
                if (long.TryParse(value.Text, NumberStyles.AllowLeadingSign, CultureInfo.InvariantCulture,
                    out long number)) found += number;
        }

        return Math.Abs(expected - found);
    }

    private void TakeAway()
    {
        try
        {
            using ControlConnection control = ControlConnection.Open(_plan.Target);
            foreach (string[] keys in _scenario.Keys(_stage).Chunk(KeysAtOnce)) control.Send(["DEL", .. keys]);
        }
        catch (Exception failure) when (failure is ConnectException or TargetException)
        {
            // The server is gone, and with it what was to be taken away; the run has said so.
        }
    }
}

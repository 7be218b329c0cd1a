using RespBenchmark.CommandLine;
using RespBenchmark.Engine;
using RespBenchmark.Measure;
using RespBenchmark.Saturation;
using RespBenchmark.Workload;

namespace RespBenchmark.Tair;

/// <summary>Runs a template as Tair's resp-benchmark does: with a number of connections or as many as help, for a
/// count, a time, or until interrupted; or loads with it.</summary>
/// <remarks>Threads: one.</remarks>
internal sealed class TairRunner(TairOptions options, Surroundings surroundings)
{
    // A load of automatic connections takes this many: its sequence is dealt to connections that are there from the
    // start.
    private const int LoadConnections = 64;

    private static readonly TimeSpan Period = ConnectionLadder.Period, First = TimeSpan.FromMilliseconds(1);

    private readonly TairScreen _screen = TairScreen.On(surroundings, options.Extras.Progress);
    private readonly bool _draws = options.Extras.Progress != ProgressForm.Off;
    private readonly Histogram _latencies = new();
    private int _connections = options.Connections;
    private bool _stoppedByTime;
    private CellWatch? _watch;
    private CellLog? _log;

    /// <returns>The exit code.</returns>
    public int Run()
    {
        var workload = ReadTemplate();
        _screen.Begin(options);
        var plan = PlanOf(workload);
        using var watch = _watch = CellWatch.Open(options.Target, plan.Sessions, options.Extras, surroundings);
        WarmUp.Run(plan, surroundings.Interrupt);
        using var run = LoadRun.Connect(plan);
        using var attached = surroundings.Interrupt.OnRequest(run.Stop);
        // A ramp is not part of the measurement: its file is opened when it is over.
        if (options.Load || options.Connections > 0) OpenLog(run, plan);
        watch.Begin();
        run.Begin();
        if (options.Load) WatchLoad(run);
        else if (options.Connections > 0) WatchRun(run, plan, null);
        else WatchRun(run, plan, new ConnectionLadder());
        _log?.Take(run);
        _log?.Dispose();
        var measured = run.Finish();
        return Report(plan, measured, watch.Stop());
    }

    private Workload.Workload ReadTemplate()
    {
        try
        {
            return TairTemplate.Parse(options.Command, options.Load, options.Requests);
        }
        catch (UsageException bad)
        {
            throw new UsageException(bad.Message, ExitCode.RunError);
        }
    }

    private void OpenLog(LoadRun run, CellPlan plan) => _log = CellLog.Open(options.Extras, options.Command, plan, run);

    private void WatchLoad(LoadRun run)
    {
        for (var wait = First; !run.Wait(wait); wait = Period)
        {
            var interval = run.TakeInterval();
            _log?.Add(interval);
            if (_draws) _screen.State(TairText.Loading(RateOf(interval), (double)run.Counters.Ops / options.Requests));
        }
    }

    private void WatchRun(LoadRun run, CellPlan plan, ConnectionLadder? ladder)
    {
        int connections = ladder?.Connections ?? options.Connections;
        TimeSpan stepStart = TimeSpan.Zero;
        long stepOps = 0;
        for (var wait = First; !run.Wait(UntilEnd(run, ladder, wait)); wait = Period)
        {
            if (ladder is not { IsReady: false } && IsOver(run, ladder))
            {
                _stoppedByTime = true;
                run.Stop();
                continue;
            }

            var interval = run.TakeInterval();
            _latencies.Add(interval.Service);
            _log?.Add(interval);
            if (_draws) _screen.State(TairText.Running(RateOf(interval), OverallOf(run), connections, _latencies));
            if (ladder is not { IsReady: false }) continue;
            var stepTime = run.Elapsed - stepStart;
            double stepRate = stepTime > TimeSpan.Zero ? (run.Counters.Ops - stepOps) / stepTime.TotalSeconds : 0;
            if (!ladder.Observe(stepTime, stepRate)) continue;
            surroundings.Note($"# {connections} connections: {stepRate:F0} requests per second");
            if (ladder.IsReady)
            {
                run.ResetMeasurement();
                OpenLog(run, plan with { Sessions = connections });
                _watch!.Begin();
                _latencies.Reset();
                continue;
            }

            run.SetSessions(connections = ladder.Connections);
            (stepStart, stepOps) = (run.Elapsed, run.Counters.Ops);
        }

        _connections = connections;
    }

    // With automatic connections the time runs from when they are ready, so it is kept here and not by the engine.
    private bool IsOver(LoadRun run, ConnectionLadder? ladder) =>
        ladder is not null && options.Seconds > 0 && run.Elapsed >= TimeSpan.FromSeconds(options.Seconds);

    private TimeSpan UntilEnd(LoadRun run, ConnectionLadder? ladder, TimeSpan wait)
    {
        if (ladder is not { IsReady: true } || options.Seconds == 0) return wait;
        var left = TimeSpan.FromSeconds(options.Seconds) - run.Elapsed;
        return left <= TimeSpan.Zero ? TimeSpan.FromMilliseconds(1) : left < wait ? left : wait;
    }

    private int Report(CellPlan plan, Measurement measured, ResourceUse? use)
    {
        if (measured.End is RunEnd.ErrorReply or RunEnd.AllDisconnected or RunEnd.BrokenReply or RunEnd.DrainTimeout)
        {
            surroundings.Note(
                $"Failed to execute pipeline: {measured.Failure ?? "the server closed every connection"}");
            return ExitCode.RunError;
        }

        _screen.State(options.Load
            ? TairText.Loaded(measured.OpsPerSecond, measured.Elapsed)
            : TairText.Final(measured.OpsPerSecond, _connections, measured.Service));
        _screen.End();
        _watch!.Add(new CellOutcome { Op = options.Command, Plan = plan with { Sessions = _connections },
            Measurement = measured }, use);
        int exitCode = options.Extras.Finish(surroundings, Grammar.RespBenchmark);
        // A load that was cut short has not loaded; a run without bounds is meant to be interrupted.
        bool isCut = measured.End == RunEnd.Interrupted && !_stoppedByTime
            && (options.Load || options.Requests > 0 || options.Seconds > 0);
        return isCut && exitCode == ExitCode.Ok ? ExitCode.RunError : exitCode;
    }

    private CellPlan PlanOf(Workload.Workload workload)
    {
        bool isAuto = options.Connections == 0;
        if (isAuto && options.Load) _connections = LoadConnections;
        return options.Extras.Apply(new CellPlan
        {
            Target = options.Target,
            Workload = workload,
            Sessions = isAuto ? (options.Load ? LoadConnections : 1) : options.Connections,
            SessionsMax = isAuto && !options.Load ? ConnectionLadder.ConnectionsMax : 0,
            Depth = options.Pipeline,
            Mode = DepthMode.Batch,
            Loops = options.Cores.Length,
            Cores = options.Cores,
            Commands = options.Load ? 0 : options.Requests,
            Duration = isAuto || options.Load ? TimeSpan.Zero : TimeSpan.FromSeconds(options.Seconds),
            AbortOnError = true,
        });
    }

    private static double RateOf(in IntervalSample interval) =>
        interval.Length > TimeSpan.Zero ? interval.Counters.Ops / interval.Length.TotalSeconds : 0;

    private static double OverallOf(LoadRun run) =>
        run.Elapsed > TimeSpan.Zero ? run.Counters.Ops / run.Elapsed.TotalSeconds : 0;
}

using System.Diagnostics;
using RespBenchmark.CommandLine;
using RespBenchmark.Engine;
using RespBenchmark.Measure;
using RespBenchmark.Saturation;
using RespBenchmark.Workload;

namespace RespBenchmark.Garnet;

/// <summary>Online mode through StackExchange.Redis: what an application sees.</summary>
/// <remarks>Threads: one controls; sessions run on the thread pool.</remarks>
internal sealed class StackExchangeOnline(GarnetOptions options, Surroundings surroundings)
{
    private static readonly TimeSpan WarmUp = TimeSpan.FromMilliseconds(300), CalibrationTime = TimeSpan.FromSeconds(2),
        Second = TimeSpan.FromSeconds(1);

    private readonly CommandKind[] _kinds = [.. options.OpWorkload.Select(op => new CommandKind(op, ReplyRule.None))];
    private readonly string _mix =
        string.Join(',', options.OpWorkload.Zip(options.OpPercent, (op, percent) => $"{op}:{percent}"));
    private CellWatch? _watch;
    private bool _hasErrors;

    /// <returns>The exit code.</returns>
    public int Run()
    {
        surroundings.Output.Write(GarnetOnlineText.Runner(options.Client, options.InsideThread > 1));
        using var log = OnlineBlocks.OpenLog(options);
        if (options.RunTime == 0) return ExitCode.Ok;
        using var watch = _watch = CellWatch.Open(options.Target, options.Pool ? options.Threads.Max() : 1,
            options.Extras, surroundings);
        foreach (int sessions in OnlineBlocks.Sessions(options, surroundings)) RunBlock(sessions, log);
        int exitCode = options.Extras.Finish(surroundings, Grammar.Garnet);
        return _hasErrors ? ExitCode.RunError : exitCode;
    }

    private void RunBlock(int sessions, TextWriter? log)
    {
        Warm(sessions);
        using var load = StackExchangeLoad.Connect(options, options.Target, sessions);
        surroundings.Note($"# {sessions} sessions over {load.Multiplexers} multiplexers of StackExchange.Redis");
        using var attached = surroundings.Interrupt.OnRequest(load.Stop);
        CellPlan plan = PlanOf(sessions);
        using var histograms = CellLog.Open(options.Extras, _mix, plan, _kinds);
        var rows = new OnlineRows(options, surroundings, log);
        Histogram[] all = NewHistograms();
        _watch!.Begin();
        long begun = Stopwatch.GetTimestamp();
        load.Start();
        Follow(load, rows, histograms, begun, all);
        bool interrupted = surroundings.Interrupt.Requested;
        load.Stop();
        bool isWhole = load.WaitForEnd(options.Extras.Drain);
        TimeSpan elapsed = Stopwatch.GetElapsedTime(begun);
        load.TakeInterval(all);
        ResourceUse? use = _watch.Stop();
        Measurement measured = Measured(load, all, elapsed, use, isWhole, interrupted);
        rows.Summarize(elapsed, measured.Counters.Errors, measured.Counters.Nils, load.Totals.Reads);
        CellFailures.Note(measured, surroundings);
        _hasErrors |= measured.Counters.Errors > 0 || !isWhole;
        _watch.Add(new CellOutcome
        {
            Op = _mix, Plan = plan, Measurement = measured, Keys = options.DbSize, Value = $"{options.ValueLength}",
            Distribution = options.Zipf ? "zipf:0.99" : "uniform",
        }, use, target => Calibrate(target, sessions));
    }

    /// <summary>A row every two seconds and a line of the histogram files every second, until the rows are all
    /// printed.</summary>
    private void Follow(StackExchangeLoad load, OnlineRows rows, CellLog histograms, long begun, Histogram[] all)
    {
        TimeSpan last = TimeSpan.Zero, rowBegan = TimeSpan.Zero;
        var row = new Histogram();
        Histogram[] interval = NewHistograms();
        long counted = 0;
        for (int seconds = 1, printed = 0;
            !load.Stopping.IsCancellationRequested && (options.RunTime < 0 || printed < options.RunTime); seconds++)
        {
            TimeSpan left = (seconds * Second) - Stopwatch.GetElapsedTime(begun);
            load.Stopping.WaitHandle.WaitOne(left > TimeSpan.Zero ? left : TimeSpan.Zero);
            TimeSpan now = Stopwatch.GetElapsedTime(begun);
            load.TakeInterval(interval);
            histograms.Add(new IntervalSample(last, now - last, default, interval[0]) { Kinds = interval });
            last = now;
            for (int kind = 0; kind < interval.Length; kind++)
            {
                row.Add(interval[kind]);
                all[kind].Add(interval[kind]);
                interval[kind].Reset();
            }

            if (now < (printed + 1) * OnlineRows.Period && !load.Stopping.IsCancellationRequested) continue;
            long ops = load.Totals.Ops;
            rows.Add(row, ops - counted, now - rowBegan);
            (counted, rowBegan, printed) = (ops, now, printed + 1);
            row.Reset();
        }
    }

    /// <summary>Compiles the library's paths and ours: PING over connections of its own, discarded.</summary>
    private void Warm(int sessions)
    {
        if (surroundings.Interrupt.Requested) return;
        GarnetOptions ping = options.With(["PING"], [100]);
        using var load = StackExchangeLoad.Connect(
            ping, options.Target, Math.Min(sessions, Environment.ProcessorCount));
        Drive(load, WarmUp);
    }

    /// <summary>Operations a second of the same sessions where the server does nothing.</summary>
    private double Calibrate(Network.Target target, int sessions)
    {
        using var load = StackExchangeLoad.Connect(options, target, sessions, isBare: true);
        long begun = Stopwatch.GetTimestamp();
        Drive(load, CalibrationTime);
        return load.Totals.Ops / Stopwatch.GetElapsedTime(begun).TotalSeconds;
    }

    private void Drive(StackExchangeLoad load, TimeSpan time)
    {
        load.Start();
        surroundings.Interrupt.Wait(time);
        load.Stop();
        load.WaitForEnd(options.Extras.Drain);
    }

    private Measurement Measured(StackExchangeLoad load, Histogram[] all, TimeSpan elapsed, ResourceUse? use,
        bool isWhole, bool interrupted)
    {
        SharedRecorder.Totals totals = load.Totals;
        var service = new Histogram();
        foreach (Histogram kind in all) service.Add(kind);
        long commands = totals.Ops + totals.Errors;
        return new Measurement
        {
            Elapsed = elapsed,
            Counters = new RunCounters(totals.Ops, commands, commands, totals.Errors, totals.Nils, 0, 0, 0, 0, 0),
            Service = service,
            Kinds =
                [.. _kinds.Select((kind, number) => new KindMeasurement(kind.Name, load.OpsOf(number), 0,
                    kind.Name == "GET" ? totals.Nils : 0, all[number]))],
            Errors = load.Errors(),
            // The library's threads are the pool's: the busiest of the process stands for a loop.
            LoopOccupancy = use is null ? [] : [use.ClientHot],
            End = !isWhole ? RunEnd.DrainTimeout : interrupted ? RunEnd.Interrupted : RunEnd.Completed,
            Failure = isWhole ? null : "replies were missing when the drain was over",
        };
    }

    private CellPlan PlanOf(int sessions) => new()
    {
        Target = options.Target, Workload = new LibraryWorkload(_kinds), Sessions = sessions,
            Depth = options.InsideThread, Mode = DepthMode.Batch,
    };

    private Histogram[] NewHistograms() => [.. _kinds.Select(_ => new Histogram())];

    /// <summary>Kinds for reports; what is sent is the library's.</summary>
    private sealed class LibraryWorkload(IReadOnlyList<CommandKind> kinds) : Workload.Workload
    {
        public override IReadOnlyList<CommandKind> Kinds => kinds;

        public override RequestSource Open(int loop, int loops, int sessions, ulong seed) =>
            throw new InvalidOperationException("StackExchange.Redis sends by itself");
    }
}

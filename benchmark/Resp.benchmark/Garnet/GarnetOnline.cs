using RespBenchmark.CommandLine;
using RespBenchmark.Engine;
using RespBenchmark.Measure;
using RespBenchmark.Workload;

namespace RespBenchmark.Garnet;

/// <summary>Online mode of Garnet's tool on our engine: a mix of operations, a row of latencies every two seconds, a
/// block for each session count.</summary>
/// <remarks>Threads: one.</remarks>
internal sealed class GarnetOnline(GarnetOptions options, Surroundings surroundings)
{
    private CellWatch? _watch;

    /// <returns>The exit code.</returns>
    public int Run()
    {
        surroundings.Output.Write(GarnetOnlineText.Runner(options.Client, options.InsideThread > 1));
        using var log = OnlineBlocks.OpenLog(options);
        if (options.RunTime == 0) return ExitCode.Ok;
        using var watch = _watch = CellWatch.Open(options.Target, options.Threads.Max(), options.Extras, surroundings);
        WarmUp.Run(PlanOf(options.Threads[0]), surroundings.Interrupt);
        bool hasErrors = false;
        foreach (int sessions in OnlineBlocks.Sessions(options, surroundings))
        {
            var measured = RunBlock(sessions, log);
            hasErrors |= measured.Counters.Errors > 0 || measured.End is not (RunEnd.Completed or RunEnd.Interrupted);
        }

        int exitCode = options.Extras.Finish(surroundings, Grammar.Garnet);
        return hasErrors ? ExitCode.RunError : exitCode;
    }

    private Measurement RunBlock(int sessions, TextWriter? log)
    {
        var plan = PlanOf(sessions);
        using var run = LoadRun.Connect(plan);
        using var attached = surroundings.Interrupt.OnRequest(run.Stop);
        surroundings.Note($"# {sessions} connections driven by {run.Loops} client threads");
        var rows = new OnlineRows(options, surroundings, log);
        string mix = string.Join(',', options.OpWorkload.Zip(options.OpPercent, (op, percent) => $"{op}:{percent}"));
        using var histograms = CellLog.Open(options.Extras, mix, plan, run);
        _watch!.Begin();
        run.Begin();
        long begun = System.Diagnostics.Stopwatch.GetTimestamp();
        for (int row = 1; options.RunTime < 0 || row <= options.RunTime; row++)
        {
            // The last row waits for the end, which is its time and the drain.
            var due = row == options.RunTime ? Timeout.InfiniteTimeSpan : OnlineBlocks.Until(begun, row);
            bool ended = run.Wait(due);
            var interval = run.TakeInterval();
            rows.Add(interval.Service, interval.Counters.Ops, interval.Length);
            histograms.Add(interval);
            if (ended) break;
        }

        histograms.Follow(run);
        var measured = run.Finish();
        var use = _watch.Stop();
        long reads = measured.Kinds.Where(kind => kind.Name == "GET").Sum(kind => kind.Ops);
        rows.Summarize(measured.Elapsed, measured.Counters.Errors, measured.Counters.Nils, reads);
        CellFailures.Note(measured, surroundings);
        _watch.Add(new CellOutcome
        {
            Op = mix, Plan = plan, Measurement = measured, Keys = options.DbSize, Value = $"{options.ValueLength}",
            Distribution = options.Zipf ? "zipf:0.99" : "uniform",
        }, use);
        return measured;
    }

    private CellPlan PlanOf(int sessions)
    {
        var settings = OpSettings.Garnet(options.DbSize, options.KeyLength, options.ValueLength, 1, options.Zipf,
            options.Ttl,
            options.SortedSets, online: true);
        var mix = options.OpWorkload.Select((op, index) => (GarnetOps.Find(op)!, options.OpPercent[index]));
        return options.Extras.Apply(new CellPlan
        {
            Target = options.Target,
            Workload = GarnetOps.OnlineMix([.. mix], settings),
            Sessions = sessions,
            Depth = options.InsideThread,
            Mode = DepthMode.Batch,
            BatchLatency = options.InsideThread > 1 && !options.Burst,
            Flood = options.Burst,
            Duration = options.RunTime < 0 ? TimeSpan.Zero : options.RunTime * OnlineRows.Period,
        });
    }
}

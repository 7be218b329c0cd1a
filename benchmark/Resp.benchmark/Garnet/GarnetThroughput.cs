using System.Diagnostics;
using RespBenchmark.CommandLine;
using RespBenchmark.Engine;
using RespBenchmark.Measure;
using RespBenchmark.Workload;

namespace RespBenchmark.Garnet;

/// <summary>Throughput mode of Garnet's tool: a load, then a cell for each batch size and session count.</summary>
/// <remarks>Threads: one.</remarks>
internal sealed class GarnetThroughput(GarnetOptions options, Surroundings surroundings)
{
    private readonly TextWriter _output = surroundings.Output;
    private readonly GarnetOp _op = GarnetOps.Find(options.Op)!;
    private bool _hasErrors;
    private CellWatch? _watch;

    /// <returns>The exit code.</returns>
    public int Run()
    {
        using var watch = _watch = CellWatch.Open(options.Target, options.Threads.Max(), options.Extras, surroundings);
        if (GarnetRules.Loads(options)) _hasErrors |= !new GarnetLoad(options, _op, surroundings).Run();
        if (options.RunTime > 0)
        {
            foreach (int batch in options.BatchSizes) RunBatchSize(batch);
        }

        int exitCode = options.Extras.Finish(surroundings, Grammar.Garnet);
        return _hasErrors || surroundings.Interrupt.Requested ? ExitCode.RunError : exitCode;
    }

    private void RunBatchSize(int batch)
    {
        if (surroundings.Interrupt.Requested) return;
        long begun = Stopwatch.GetTimestamp();
        var workload = GarnetOps.Throughput(_op,
            OpSettings.Garnet(options.DbSize, options.KeyLength, options.ValueLength, batch,
            options.Zipf, options.Ttl));
        string about = _op.Name == "PFMERGE" ? GarnetThroughputText.MergeKeys(GarnetOps.MergeKeys(options.DbSize)) : "";
        _output.Write(GarnetThroughputText.Restriction(options.TotalOps, batch));
        _output.Write(GarnetThroughputText.Generation(_op.Name, options.TotalOps, batch,
            workload.BatchBytes(_op.CommandsPerBatch(batch)), about));
        _output.Write(GarnetThroughputText.LoadingTime(Stopwatch.GetElapsedTime(begun)));
        foreach (int sessions in options.Threads)
        {
            if (surroundings.Interrupt.Requested) return;
            RunCell(workload, batch, sessions);
        }
    }

    private void RunCell(ShapedWorkload workload, int batch, int sessions)
    {
        var plan = options.Extras.Apply(new CellPlan
        {
            Target = options.Target,
            Workload = workload,
            Sessions = sessions,
            Depth = _op.CommandsPerBatch(batch),
            Mode = DepthMode.Batch,
            Duration = TimeSpan.FromSeconds(options.RunTime),
        });
        using var run = LoadRun.Connect(plan);
        using var attached = surroundings.Interrupt.OnRequest(run.Stop);
        surroundings.Note($"# {sessions} connections driven by {run.Loops} client threads");
        // A tenth of the cell, a second at most.
        run.WarmUp(TimeSpan.FromSeconds(Math.Min(1, options.RunTime / 10.0)));
        using var log = CellLog.Open(options.Extras, _op.Name, plan, run);
        _watch!.Begin();
        run.Begin();
        log.Follow(run);
        var measured = run.Finish();
        var use = _watch.Stop();
        _output.Write(GarnetThroughputText.Result(_op.Name, sessions, measured.Elapsed, measured.Counters.Ops,
            options.Extras.GarnetFormat));
        _output.Flush();
        CellFailures.Note(measured, surroundings);
        if (measured.Counters.Nils > 0)
            surroundings.Note($"# {measured.Counters.Nils} of {measured.Counters.Commands} replies were nil");
        _hasErrors |= measured.Counters.Errors > 0 || measured.End is not (RunEnd.Completed or RunEnd.Interrupted);
        _watch.Add(new CellOutcome
        {
            Op = _op.Name, Plan = plan, Measurement = measured, Keys = options.DbSize, Value = $"{options.ValueLength}",
            Distribution = options.Zipf ? "zipf:0.99" : "uniform",
        }, use);
    }
}

using System.Diagnostics;
using RespBenchmark.CommandLine;
using RespBenchmark.Workload;

namespace RespBenchmark.Garnet;

/// <summary>The load before throughput mode, and its part of the text.</summary>
internal sealed class GarnetLoad(GarnetOptions options, GarnetOp op, Surroundings surroundings)
{
    private const long CountedKeysMax = 1 << 20;

    /// <returns>Whether all was loaded without an error.</returns>
    public bool Run()
    {
        long begun = Stopwatch.GetTimestamp();
        var settings = OpSettings.Garnet(options.DbSize, options.KeyLength, options.ValueLength);
        if (LoadPlan.For(op.Load, settings, options.LoadThreads, options.LoadUsingSet) is not { } plan) return true;
        var output = surroundings.Output;
        if (op.Load == LoadKind.HyperLogLogs) output.Write(GarnetThroughputText.LoadIntroduction(plan.Name));
        output.Write(GarnetThroughputText.Restriction(plan.Keys, (int)plan.BatchKeys));
        output.Write(GarnetThroughputText.Generation(plan.Name, plan.Keys, (int)plan.BatchKeys, plan.BatchBytes));
        output.Write(GarnetThroughputText.LoadingTime(Stopwatch.GetElapsedTime(begun)));
        output.Flush();

        var phase = new LoadPhase(options.Target, plan);
        using var attached = surroundings.Interrupt.OnRequest(phase.Stop);
        var outcome = phase.Run(loops: options.Extras.Loops);
        var measured = outcome.Measurement;
        output.Write(GarnetThroughputText.Result(plan.Name, plan.Sessions, measured.Elapsed, measured.Counters.Ops,
            options.Extras.GarnetFormat));
        // The original counts after strings only.
        if (options.DbSize <= CountedKeysMax && op.Load != LoadKind.HyperLogLogs && outcome.Stored is { } stored)
            output.Write(GarnetThroughputText.Loaded(stored));
        output.Flush();
        foreach (string warning in outcome.Warnings) surroundings.Note($"# {warning}");
        return outcome.IsComplete;
    }
}

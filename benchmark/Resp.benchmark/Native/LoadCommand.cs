using System.Globalization;
using RespBenchmark.CommandLine;
using RespBenchmark.Measure;
using RespBenchmark.Network;
using RespBenchmark.Workload;

namespace RespBenchmark.Native;

/// <summary>Fills the keys and says whether they are there.</summary>
internal static class LoadCommand
{
    /// <summary>Runs the verb.</summary>
    public static int Run(LoadVerb verb, Surroundings surroundings)
    {
        var workload = new WorkloadReader(verb);
        bool whole = true;
        foreach (Target target in TargetReader.Read(verb))
        {
            if (verb.Flush) Flush(target);
            if (Load(target, workload, verb, surroundings) is not { } loaded) continue;
            foreach (string warning in loaded.Warnings) surroundings.Output.WriteLine($"WARN {target.Name}: {warning}");
            whole &= loaded.Warnings.Count == 0;
        }

        return whole ? ExitCode.Ok : ExitCode.RunError;
    }

    /// <summary>Empties a target.</summary>
    /// <exception cref="TargetException">It refuses.</exception>
    public static void Flush(Target target)
    {
        using ControlConnection control = ControlConnection.Open(target);
        if (control.Send("FLUSHALL") is { IsError: true } refused) throw new TargetException(refused.Text);
    }

    /// <summary>Loads one target.</summary>
    /// <returns>Null: the workload needs no load.</returns>
    public static Loaded? Load(Target target, WorkloadReader workload, WorkloadOptions options,
        Surroundings surroundings)
    {
        if (workload.Load() is not { } plan) return null;
        var phase = new LoadPhase(target, plan);
        using IDisposable attached = surroundings.Interrupt.OnRequest(phase.Stop);
        LoadOutcome outcome = phase.Run(seed: options.Seed);
        RunCounters counters = outcome.Measurement.Counters;
        string stored = outcome.Stored is { } keys
            ? string.Create(CultureInfo.InvariantCulture, $"dbsize {keys:N0}") : "dbsize unknown";
        surroundings.Output.WriteLine(string.Create(CultureInfo.InvariantCulture,
            $"load {target.Name}  {plan.Name} {plan.Keys:N0} keys  {outcome.Measurement.Elapsed.TotalSeconds:F1} s  "
            + $"{outcome.Measurement.OpsPerSecond:N0} keys/s  {stored}"));
        return new Loaded(plan, outcome, counters.Errors > 0
            ? [.. outcome.Warnings, $"{counters.Errors} error replies while loading"] : outcome.Warnings);
    }
}

/// <summary>A load that was run.</summary>
/// <param name="Warnings">What is missing or wrong.</param>
internal sealed record Loaded(LoadPlan Plan, LoadOutcome Outcome, IReadOnlyList<string> Warnings);

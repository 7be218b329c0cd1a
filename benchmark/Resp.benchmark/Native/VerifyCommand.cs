using System.Globalization;
using RespBenchmark.CommandLine;
using RespBenchmark.Engine;
using RespBenchmark.Measure;
using RespBenchmark.Network;

namespace RespBenchmark.Native;

/// <summary>Reads every key back, in order, and compares its value.</summary>
internal static class VerifyCommand
{
    private const int SessionsMax = 8, Depth = 64;

    public static int Run(VerifyVerb verb, Surroundings surroundings)
    {
        verb.Data = "verify";
        verb.Distribution = "seq";
        var workload = new WorkloadReader(verb);
        bool whole = true;
        foreach (Target target in TargetReader.Read(verb))
        {
            using LoadRun run = LoadRun.Connect(new CellPlan
            {
                Target = target, Workload = workload.Workload(1), Sessions = SessionsMax, Depth = Depth, Loops = 1,
                Commands = verb.Keys, VerifyShare = 1, Seed = verb.Seed,
            });
            using IDisposable attached = surroundings.Interrupt.OnRequest(run.Stop);
            run.Begin();
            while (!run.Wait(TimeSpan.FromSeconds(1)))
            {
                // Ends with the last key, or what LoadRun bounds.
            }

            Measurement measured = run.Finish();
            RunCounters counters = measured.Counters;
            bool good = counters is { Wrong: 0, Nils: 0, Errors: 0, Lost: 0 } && measured.End == RunEnd.Completed;
            surroundings.Output.WriteLine(string.Create(CultureInfo.InvariantCulture,
                $"verify {target.Name}  {counters.Commands:N0} keys read, {counters.Wrong:N0} wrong, "
                + $"{counters.Nils:N0} missing, {counters.Errors:N0} "
                + $"errors{(measured.Failure is { } failure ? ": " + failure : "")}"));
            whole &= good;
        }

        return whole ? ExitCode.Ok : ExitCode.VerificationFailed;
    }
}

using RespBenchmark.CommandLine;
using RespBenchmark.Network;
using RespBenchmark.Saturation;

namespace RespBenchmark.Native;

/// <summary>Looks for what spoils figures, without load.</summary>
internal static class DoctorCommand
{
    private const int SessionsExpected = 128;

    /// <returns>0: nothing found.</returns>
    public static int Run(DoctorVerb verb, Surroundings surroundings)
    {
        int found = 0;
        foreach (Target target in TargetReader.Read(verb))
        {
            TargetWatch watch = TargetWatch.Open(target);
            string seen = watch.Process is { } process ? $"pid {process}, cpus {string.Join(',', watch.Cores)}"
                : "its process is not seen: --server-pid, or it runs elsewhere";
            surroundings.Output.WriteLine($"{target.Name} {target.Address}: {watch.Facts.Name}, {seen}");
            foreach (string warning in watch.Warnings(SessionsExpected))
            {
                surroundings.Output.WriteLine($"WARN {target.Name}: {warning}");
                found++;
            }
        }

        surroundings.Output.WriteLine(found == 0 ? "nothing found" : $"{found} found");
        return ExitCode.Ok;
    }
}

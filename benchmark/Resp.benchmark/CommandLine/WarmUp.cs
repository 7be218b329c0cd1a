using RespBenchmark.Engine;
using RespBenchmark.Workload;

namespace RespBenchmark.CommandLine;

/// <summary>Makes our own code hot before the first cell of a run, where driving the cell itself would change what the
/// server holds: the same loops, sessions and depth send PING.</summary>
internal static class WarmUp
{
    private static readonly TimeSpan Time = TimeSpan.FromMilliseconds(300);

    /// <exception cref="Network.ConnectException">No connection.</exception>
    public static void Run(CellPlan plan, Interrupt interrupt)
    {
        var ping = GarnetOps.Throughput(GarnetOps.Find("PING")!,
            OpSettings.Garnet(keys: 1, keyLength: 1, valueLength: 1));
        // A few sessions are enough: what is warmed is the code.
        const int sessionsMax = 8, depthMax = 64;
        using var run = LoadRun.Connect(plan with
        {
            Workload = ping, Sessions = Math.Min(plan.Sessions, sessionsMax), Depth = Math.Min(plan.Depth, depthMax),
            Arrivals = null, AbortOnError = false, Reconnect = false, Commands = 0, Duration = Time, Flood = false,
        });
        using var attached = interrupt.OnRequest(run.Stop);
        run.WarmUp(Time);
    }
}

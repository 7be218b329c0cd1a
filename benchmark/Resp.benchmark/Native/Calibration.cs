using RespBenchmark.CommandLine;
using RespBenchmark.Engine;
using RespBenchmark.Network;
using RespBenchmark.Saturation;

namespace RespBenchmark.Native;

/// <summary>What the client alone reaches: the same shape against a null server in a process of its own.</summary>
internal static class Calibration
{
    private static readonly TimeSpan Length = TimeSpan.FromSeconds(2);

    /// <returns>Operations a second.</returns>
    public static double Run(CellRunner runner, CellPlan plan, Surroundings surroundings) =>
        With(plan.Target, surroundings, (target, process) =>
        runner.Run(TargetWatch.Open(target, process),
            plan with { Target = target, Duration = Length, Commands = 0, Arrivals = null, VerifyShare = 0 },
            "calibration").Repetition.OpsS);

    /// <summary>The same for a client that is not our engine.</summary>
    /// <param name="measure">Operations a second against a target.</param>
    public static double Run(Target like, Func<Target, double> measure, Surroundings surroundings) =>
        With(like with { UnixPath = null }, surroundings, (target, _) => measure(target));

    private static double With(Target like, Surroundings surroundings, Func<Target, int, double> measure)
    {
        string socket = Path.Combine(Path.GetTempPath(), $"null-{Guid.NewGuid():N}.sock");
        Target target = new() { Name = "null", UnixPath = like.UnixPath is null ? null : socket,
            Port = like.UnixPath is null ? FreePort() : 0 };
        string where = target.UnixPath is null ? $"--port {target.Port}" : $"--unix {socket}";
        using StartedServer server = StartedServer.Start($"{Program()} null-server {where}", target, null);
        double rate = measure(target, server.ProcessId);
        surroundings.Note($"calibration: {rate:N0} ops/s against a null server");
        return rate;
    }

    /// <summary>How this program is called again.</summary>
    private static string Program()
    {
        string assembly = typeof(Calibration).Assembly.Location;
        string host = Path.ChangeExtension(assembly, null);
        return File.Exists(host) ? $"'{host}'" : $"'{Environment.ProcessPath}' '{assembly}'";
    }

    private static int FreePort()
    {
        using var listener = new System.Net.Sockets.TcpListener(System.Net.IPAddress.Loopback, 0);
        listener.Start();
        return ((System.Net.IPEndPoint)listener.LocalEndpoint).Port;
    }
}

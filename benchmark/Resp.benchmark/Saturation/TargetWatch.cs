using RespBenchmark.Engine;
using RespBenchmark.Measure;
using RespBenchmark.Network;
using RespBenchmark.Reports;

namespace RespBenchmark.Saturation;

/// <summary>A target that is loaded, as seen from beside the load: its process, what it says of itself, what it
/// used.</summary>
internal sealed class TargetWatch
{
    /// <summary>Shorter measurements are not judged: the kernel counts idle time in ticks of 10 ms, and 25 of them tell
    /// 5 % from none.</summary>
    public static readonly TimeSpan JudgedMin = TimeSpan.FromMilliseconds(250);

    private static readonly string[] ReportedInfo =
        ["redis_version", "garnet_version", "kv_version", "os", "arch_bits", "multiplexing_api", "process_id"];
    private static readonly string[] ReportedConfig =
        ["io-threads", "save", "appendonly", "maxmemory", "maxmemory-policy", "worker-threads"];

    private readonly IReadOnlyList<int> _clientCores = ServerProcess.CoresOf(Environment.ProcessId);

    private TargetWatch(Target target, ServerFacts facts, int? process)
    {
        Target = target;
        Facts = facts;
        Process = process;
        Cores = process is { } id ? ServerProcess.CoresOf(id) : [];
    }

    public Target Target { get; }

    public ServerFacts Facts { get; }

    /// <summary>Null: on another host, or not to be seen.</summary>
    public int? Process { get; }

    /// <summary>The processors it may use; empty when it is not seen.</summary>
    public IReadOnlyList<int> Cores { get; }

    /// <summary>Looks at a target.</summary>
    /// <param name="process">0: found out; -1: not to be watched; else the process.</param>
    /// <exception cref="ConnectException">It cannot be reached.</exception>
    public static TargetWatch Open(Target target, int process = 0)
    {
        using ControlConnection control = ControlConnection.Open(target);
        var facts = ServerFacts.Read(control);
        return new TargetWatch(target, facts, process switch
        {
            -1 => null,
            0 => ServerProcess.Find(target, facts.ProcessId),
            _ => process,
        });
    }

    /// <summary>What is wrong before any load.</summary>
    /// <param name="canPin">Whether the grammar has options for that.</param>
    public IEnumerable<string> Warnings(int sessions, bool canPin = true) =>
        Saturation.Warnings.OfServer(Facts, sessions, Cores.Count)
            .Concat(Saturation.Warnings.OfHost(ServerProcess.IsHere(Target), _clientCores, Cores,
                canPin ? "--pin-client and --pin-server part them" : "taskset -c parts them"))
            .Concat(Saturation.Warnings.OfClient());

    /// <summary>What reports say of it.</summary>
    public TargetReport Report() => new()
    {
        Name = Target.Name, Addr = Target.Address, Product = Facts.Name, Pid = Process,
        Cpus = Cores.Count > 0 ? string.Join(',', Cores) : null,
        Info = Facts.Info.Where(pair => ReportedInfo.Contains(pair.Key)).ToDictionary(),
        Config = Facts.Config.Where(pair => ReportedConfig.Contains(pair.Key)).ToDictionary(),
    };

    /// <summary>Begins to watch both sides.</summary>
    public ResourceMonitor Begin() => ResourceMonitor.Start(Process);

    /// <summary>Who was the bound; unknown where the measurement was too short to tell.</summary>
    public Verdict Judge(CellPlan plan, Measurement measurement, ResourceUse use)
    {
        if (measurement.Elapsed < JudgedMin) return Verdict.Unknown;
        const double rateShareMin = 0.99;
        bool rateMet = plan.Arrivals is { } arrivals && measurement.OpsPerSecond >= arrivals.Rate * rateShareMin
            && !measurement.GeneratorLate;
        return Verdicts.Judge(use, measurement.LoopOccupancy.DefaultIfEmpty().Max(), Math.Max(1, _clientCores.Count),
            Cores.Count,
            _clientCores.Intersect(Cores).Any(), plan.Arrivals is not null, rateMet);
    }
}

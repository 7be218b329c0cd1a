using RespBenchmark.CommandLine;
using RespBenchmark.Engine;
using RespBenchmark.Measure;
using RespBenchmark.Network;

namespace RespBenchmark.Saturation;

/// <summary>A target that is loaded, as seen from beside the load: its process, what it says of itself, what it used.</summary>
internal sealed class TargetWatch
{
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
    public IEnumerable<string> Warnings(int sessions) =>
        Saturation.Warnings.OfServer(Facts, sessions, Cores.Count)
            .Concat(Saturation.Warnings.OfHost(ServerProcess.IsHere(Target), _clientCores, Cores))
            .Concat(Saturation.Warnings.OfClient());

    /// <summary>Begins to watch both sides.</summary>
    public ResourceMonitor Begin() => ResourceMonitor.Start(Process);

    /// <summary>Who was the bound.</summary>
    public Verdict Judge(CellPlan plan, Measurement measurement, ResourceUse use)
    {
        const double rateShareMin = 0.99;
        bool rateMet = plan.Arrivals is { } arrivals && measurement.OpsPerSecond >= arrivals.Rate * rateShareMin && !measurement.GeneratorLate;
        return Verdicts.Judge(use, measurement.LoopOccupancy.DefaultIfEmpty().Max(), Math.Max(1, _clientCores.Count), Cores.Count,
            _clientCores.Intersect(Cores).Any(), plan.Arrivals is not null, rateMet);
    }
}

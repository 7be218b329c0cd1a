using RespBenchmark.Reports;

namespace RespBenchmark.Saturation;

/// <summary>What both sides used in one second. Shares are of one processor, 1.0 its whole.</summary>
internal readonly record struct ResourceSecond(
    double ClientCpu,
    double ClientHot,
    double ServerCpu,
    double ServerHot,
    long ClientRss,
    long ServerRss,
    double HostIdle,
    double Steal,
    double Throttled);

/// <summary>What a repetition used: medians over its seconds, sums over its whole.</summary>
internal sealed record ResourceUse
{
    public bool ServerSeen { get; init; }

    /// <summary>Processors' worth; medians.</summary>
    public double ClientCpu { get; init; }

    /// <summary>The busiest thread of the client, as a share of one processor; median.</summary>
    public double ClientHot { get; init; }

    public double ServerCpu { get; init; }

    /// <summary>The busiest thread of the server, as a share of one processor; median.</summary>
    public double ServerHot { get; init; }

    public long ClientRss { get; init; }

    public long ServerRss { get; init; }

    /// <summary>Shares of all processors; medians.</summary>
    public double HostIdle { get; init; }

    public double Steal { get; init; }

    public double Throttled { get; init; }

    /// <summary>ns over the whole repetition.</summary>
    public long ClientCpuNs { get; init; }

    public long ServerCpuNs { get; init; }

    public long ClientSwitches { get; init; }

    public long ServerSwitches { get; init; }

    public long ClientFaults { get; init; }

    /// <summary>Null: the kernel does not say.</summary>
    public long? ClientMigrations { get; init; }

    public IReadOnlyList<ResourceSecond> Series { get; init; } = [];

    /// <summary>What the engine measured, with what was used meanwhile.</summary>
    public Repetition AddTo(Repetition repetition) => repetition with
    {
        ClientCpu = ClientCpu,
        ServerHot = ServerSeen ? ServerHot : null,
        ServerCpu = ServerSeen ? ServerCpu : null,
        Rss = ServerSeen ? ServerRss : null,
        Ctxt = ClientSwitches,
        TaskClockMs = ClientCpuNs / 1e6,
        Migrations = ClientMigrations,
        Faults = ClientFaults,
    };
}

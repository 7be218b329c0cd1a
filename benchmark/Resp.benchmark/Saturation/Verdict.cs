namespace RespBenchmark.Saturation;

/// <summary>What bounded a cell.</summary>
internal enum Verdict
{
    Unknown,
    ServerBound,
    ClientBound,
    HostBound,
    LatencyBound,
    RateBound,
}

/// <summary>Who was saturated, from what both sides used; the rules of docs/load-generator.md.</summary>
internal static class Verdicts
{
    private const double Full = 0.9, Roomy = 0.8, IdleMin = 0.05, LossMax = 0.01;

    /// <param name="use">Medians over the repetition.</param>
    /// <param name="hottestLoop">The busiest client loop, as the share of its time in send, receive and parse.</param>
    /// <param name="clientCores">Processors the client may use.</param>
    /// <param name="serverCores">Processors the server may use; 0 when it is not seen.</param>
    /// <param name="shared">Whether client and server may run on the same processors.</param>
    /// <param name="openLoop">Whether the rate was given.</param>
    /// <param name="rateMet">Whether it was reached.</param>
    public static Verdict Judge(ResourceUse use, double hottestLoop, int clientCores, int serverCores, bool shared,
        bool openLoop, bool rateMet)
    {
        bool clientFull = hottestLoop >= Full || use.ClientCpu >= Full * clientCores;
        bool serverFull = use.ServerSeen && (use.ServerHot >= Full || use.ServerCpu >= Full * serverCores);
        bool clientRoomy = hottestLoop < Roomy && use.ClientCpu < Roomy * clientCores;
        bool hostFull = use.Steal > LossMax || use.Throttled > LossMax || (shared && use.HostIdle < IdleMin);

        if (hostFull) return Verdict.HostBound;
        if (openLoop && rateMet) return Verdict.RateBound;
        if (clientFull && (!use.ServerSeen || !serverFull)) return Verdict.ClientBound;
        if (!use.ServerSeen) return Verdict.Unknown;
        if (serverFull) return clientRoomy ? Verdict.ServerBound : Verdict.HostBound;
        return openLoop ? Verdict.Unknown : Verdict.LatencyBound;
    }

    /// <summary>As tables print it.</summary>
    public static string Name(this Verdict verdict) => verdict switch
    {
        Verdict.ServerBound => "SERVER-BOUND",
        Verdict.ClientBound => "CLIENT-BOUND",
        Verdict.HostBound => "HOST-BOUND",
        Verdict.LatencyBound => "LATENCY-BOUND",
        Verdict.RateBound => "RATE-BOUND",
        _ => "UNKNOWN",
    };

    /// <summary>What to do about it; empty where nothing.</summary>
    /// <param name="serverSeen">Whether the server's process was watched.</param>
    /// <param name="generatorLate">Whether sends of an open loop left late.</param>
    public static string Advice(this Verdict verdict, bool serverSeen, bool generatorLate) => verdict switch
    {
        Verdict.HostBound => "split the cores",
        Verdict.ClientBound => "more loops or cores: not a server result",
        // Whatever the server did: what waited here is in its latencies.
        _ when generatorLate => "GENERATOR LATE: give the client a core of its own, more loops, or a lower rate",
        Verdict.LatencyBound => "raise conns or depth",
        Verdict.Unknown => serverSeen ? "the rate was not met and nobody was busy: raise conns" : "--server-pid",
        _ => "",
    };
}

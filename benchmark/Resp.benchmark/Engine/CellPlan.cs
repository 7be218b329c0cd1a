using RespBenchmark.Network;

namespace RespBenchmark.Engine;

/// <summary>One cell to run: whom to load, with what, in which shape, for how long.</summary>
internal sealed record CellPlan
{
    public required Target Target { get; init; }

    public required Workload.Workload Workload { get; init; }

    /// <summary>Connections, each with its own replies outstanding.</summary>
    public int Sessions { get; init; } = 1;

    /// <summary>The most connections that a run opens while it goes on; 0: none more. There are loops for so
    /// many.</summary>
    public int SessionsMax { get; init; }

    /// <summary>Commands outstanding per session.</summary>
    public int Depth { get; init; } = 1;

    public DepthMode Mode { get; init; } = DepthMode.Window;

    /// <summary>Client threads; 0: chosen by sessions, cores and where the target is.</summary>
    public int Loops { get; init; }

    public SessionModel Model { get; init; }

    /// <summary>The cores to pin loops to, in turn; empty: not pinned.</summary>
    public IReadOnlyList<int> Cores { get; init; } = [];

    /// <summary>Commands to send in all; 0: until <see cref="Duration"/>.</summary>
    public long Commands { get; init; }

    /// <summary>How long to send; zero: until <see cref="Commands"/> or Stop.</summary>
    public TimeSpan Duration { get; init; }

    /// <summary>How long replies are waited for when sending has ended.</summary>
    public TimeSpan Drain { get; init; } = TimeSpan.FromSeconds(10);

    /// <summary>Driven like the measurement before it, and discarded.</summary>
    public TimeSpan Warmup { get; init; }

    /// <summary>Null: closed loop.</summary>
    public ArrivalPlan? Arrivals { get; init; }

    /// <summary>End the run at the first error reply.</summary>
    public bool AbortOnError { get; init; }

    /// <summary>A new connection for every request (redis-benchmark -k 0).</summary>
    public bool Reconnect { get; init; }

    /// <summary>One latency for a batch as a whole, first send to last reply, instead of one a reply (online,
    /// itp).</summary>
    public bool BatchLatency { get; init; }

    /// <summary>Sends without waiting for replies, up to <see cref="InflightBytesMax"/>; no latency is kept (online
    /// --burst).</summary>
    public bool Flood { get; init; }

    /// <summary>The share of replies compared with what the key must hold, 0 to 1; needs a workload that tracks
    /// keys.</summary>
    public double VerifyShare { get; init; }

    /// <summary>Expected reply bytes and unsent bytes of a session beyond which it reads before it sends.</summary>
    public long InflightBytesMax { get; init; } = 64 * 1024 * 1024;

    public ulong Seed { get; init; } = 1;
}

/// <summary>How a session keeps its depth: send all and wait for all, or send one for each reply.</summary>
internal enum DepthMode
{
    Batch,
    Window,
}

/// <summary>What drives sessions: epoll loops, a blocking thread a session, or two (any stream: TLS, other
/// systems).</summary>
internal enum SessionModel
{
    Auto,
    Epoll,
    Thread,
    Portable,
}

/// <summary>Open loop: when operations are meant to leave.</summary>
internal sealed record ArrivalPlan
{
    /// <summary>Operations a second over all loops.</summary>
    public required double Rate { get; init; }

    public ArrivalShape Shape { get; init; } = ArrivalShape.Poisson;

    /// <summary>Operations that leave together in a burst.</summary>
    public int Burst { get; init; } = 1;

    /// <summary>Operations outstanding per session beyond which later ones wait, their intended time kept.</summary>
    public int InflightMax { get; init; } = 1024;
}

internal enum ArrivalShape
{
    Poisson,
    Uniform,
    Burst,
}

using RespBenchmark.Measure;

namespace RespBenchmark.Engine;

/// <summary>What was recorded in one interval of a run.</summary>
/// <param name="Start">Since the measurement's first send.</param>
/// <param name="Service">Of all kinds and loops; the run's own, valid until the next interval is taken.</param>
internal readonly record struct IntervalSample(TimeSpan Start, TimeSpan Length, RunCounters Counters, Histogram Service)
{
    /// <summary>The same by kind of the workload, as long valid; empty unless the run splits its intervals.</summary>
    public IReadOnlyList<Histogram> Kinds { get; init; } = [];
}

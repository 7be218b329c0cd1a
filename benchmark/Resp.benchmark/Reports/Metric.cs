namespace RespBenchmark.Reports;

/// <summary>A figure of a repetition that cells are compared by.</summary>
/// <param name="Name">As gates and files spell it.</param>
/// <param name="Unit">For people.</param>
/// <param name="MoreIsBetter">False: a larger one is worse.</param>
/// <param name="IsCount">Added up over repetitions instead of averaged, and exact.</param>
internal sealed record Metric(string Name, string Unit, bool MoreIsBetter, bool IsCount, Func<Repetition, double?> Of)
{
    public static IReadOnlyList<Metric> All { get; } =
    [
        new("ops_s", "ops/s", true, false, rep => rep.OpsS),
        new("p50", "µs", false, false, rep => rep.Latency().P50),
        new("p90", "µs", false, false, rep => rep.Latency().P90),
        new("p99", "µs", false, false, rep => rep.Latency().P99),
        new("p999", "µs", false, false, rep => rep.Latency().P999),
        new("max", "µs", false, false, rep => rep.Latency().Max),
        new("errors", "", false, true, rep => rep.ErrorCount()),
        new("nils", "", false, true, rep => rep.Nils),
    ];

    /// <summary>Those that comparisons hold.</summary>
    public static IReadOnlyList<Metric> Compared { get; } =
        [.. All.Where(metric => metric.Name is "ops_s" or "p50" or "p99" or "p999")];

    public static Metric? Find(string name) => All.FirstOrDefault(metric => metric.Name == name);

    /// <summary>The values of all repetitions that have one.</summary>
    public double[] Values(CellReport cell) => [.. cell.Reps.Select(Of).OfType<double>()];
}

namespace RespBenchmark.Reports.Page;

/// <summary>Finds the rate up to which a server keeps its latency.</summary>
internal static class Knee
{
    public const double RateMin = 0.99, LatencyMax = 5;

    public const string Words =
        "Open loop. The knee is the highest offered rate that was met (99 %) with a p99 of at most "
        + "five times that of the lowest rate.";

    /// <param name="cells">Of one target, by rising rate.</param>
    /// <returns>Null: the lowest rate was not met, or nothing is known of its latency.</returns>
    public static double? Of(IReadOnlyList<CellReport> cells)
    {
        double? knee = null, first = null;
        foreach (var cell in cells)
        {
            if (MergedLatency.Of(cell).P99 is not { } p99) break;
            first ??= p99;
            bool met = cell.Reps.Average(rep => rep.OpsS) >= RateMin * cell.Axis.Rate;
            if (!met || p99 > LatencyMax * first) break;
            knee = cell.Axis.Rate;
        }

        return knee;
    }
}

namespace RespBenchmark.Measure;

/// <summary>A step of the percentile spectrum: so many values, this share of all at least, do not exceed Value
/// (ns).</summary>
internal readonly record struct PercentileStep(double Share, long Value, long CountTo);

/// <summary>The levels at which HDR tools show a distribution: some ticks for each halving of what lies
/// beyond.</summary>
internal static class PercentileSteps
{
    /// <summary>From 0 to the level the largest value reaches, then 1. A level may repeat a value.</summary>
    public static List<PercentileStep> Of(Histogram histogram, int ticksPerHalf = 5)
    {
        var steps = new List<PercentileStep>();
        if (histogram.Count == 0) return steps;

        double percent = 0;
        long seen = 0;
        var counts = histogram.Counts;
        for (int index = 0; seen < histogram.Count; index++)
        {
            if (counts[index] == 0) continue;
            seen += counts[index];
            // The largest value ends on its own line: levels that only it reaches would say the same without end.
            // Ends: every step adds at least 100 / (ticks * 2^53).
            while (100.0 * seen / histogram.Count >= percent)
            {
                steps.Add(new PercentileStep(percent / 100, Histogram.HighestOf(index), seen));
                percent += StepAfter(percent, ticksPerHalf);
                if (seen == histogram.Count) break;
            }
        }

        steps.Add(new PercentileStep(1, steps[^1].Value, histogram.Count));
        return steps;
    }

    // 0 to 50 % is the first half, 50 to 75 % the second, 75 to 87.5 % the third: each has as many ticks.
    private static double StepAfter(double percent, int ticksPerHalf)
    {
        int halvings = (int)Math.Floor(Math.Log2(100 / (100 - percent))) + 1;
        return 100 / (ticksPerHalf * Math.Pow(2, halvings));
    }
}

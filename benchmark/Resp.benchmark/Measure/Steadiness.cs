namespace RespBenchmark.Measure;

/// <summary>Tells whether a server has warmed up, from its operations a second in windows of 1 s.</summary>
/// <remarks>Steady: the last five differ by chance only. Spread at most 2 %, and no trend: the slope of a line through
/// them is either not significant (t, 5 %) or moves less than 1 % over the five.</remarks>
internal static class Steadiness
{
    public const int Windows = 5;
    public const double VariationMax = 0.02, DriftMax = 0.01;

    /// <summary>The longest that a warm-up is extended to.</summary>
    public static readonly TimeSpan WarmupMax = TimeSpan.FromSeconds(30);

    /// <param name="opsPerSecond">Of each window, oldest first. Fewer than five are not steady.</param>
    public static bool IsSteady(IReadOnlyList<double> opsPerSecond)
    {
        if (opsPerSecond.Count < Windows) return false;
        double[] last = [.. opsPerSecond.Skip(opsPerSecond.Count - Windows)];
        var sample = Sample.Of(last);
        return sample.Mean > 0 && sample.Variation <= VariationMax && !HasTrend(last, sample.Mean);
    }

    private static bool HasTrend(double[] values, double mean)
    {
        double middle = (values.Length - 1) / 2.0, products = 0, squares = 0, rest = 0;
        for (int x = 0; x < values.Length; x++)
        {
            products += (x - middle) * (values[x] - mean);
            squares += (x - middle) * (x - middle);
        }

        double slope = products / squares;
        if (Math.Abs(slope) * (values.Length - 1) <= DriftMax * mean) return false;
        for (int x = 0; x < values.Length; x++)
        {
            double away = values[x] - mean - slope * (x - middle);
            rest += away * away;
        }

        int degrees = values.Length - 2;
        double error = Math.Sqrt(rest / degrees / squares);
        return error == 0 || StudentT.TwoSided(slope / error, degrees) < 0.05;
    }
}

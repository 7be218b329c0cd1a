namespace RespBenchmark.Measure;

/// <summary>Holm's correction: of many tests some look significant by chance.</summary>
/// <remarks>Source: S. Holm, Scandinavian Journal of Statistics 6, 1979.</remarks>
internal static class Holm
{
    /// <summary>The corrected p of each, in the same order: below 0.05 it is significant among all of them. NaN (no
    /// test was made) stays and does not count.</summary>
    public static double[] Correct(IReadOnlyList<double> p)
    {
        int[] order = [.. Enumerable.Range(0, p.Count).Where(index => !double.IsNaN(p[index]))
            .OrderBy(index => p[index])];
        double[] corrected = [.. Enumerable.Repeat(double.NaN, p.Count)];
        double largest = 0;
        for (int place = 0; place < order.Length; place++)
        {
            // The smallest of m must pass m tests, the next m - 1; none may pass where a smaller one did not.
            largest = Math.Max(largest, Math.Min(1, p[order[place]] * (order.Length - place)));
            corrected[order[place]] = largest;
        }

        return corrected;
    }
}

namespace RespBenchmark.Measure;

/// <summary>What a few numbers, one a repetition, say together. Undefined figures are NaN.</summary>
internal sealed record Sample(int Count, double Mean, double Deviation, double Median)
{
    /// <summary>Spread over mean beyond which repetitions say little about each other.</summary>
    public const double UnstableVariation = 0.10;

    public static Sample Of(IReadOnlyCollection<double> values)
    {
        int count = values.Count;
        if (count == 0) return new Sample(0, double.NaN, double.NaN, double.NaN);

        double mean = values.Sum() / count;
        double squares = values.Sum(value => (value - mean) * (value - mean));
        double[] sorted = [.. values.Order()];
        double median = count % 2 == 1 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2;
        return new Sample(count, mean, count > 1 ? Math.Sqrt(squares / (count - 1)) : double.NaN, median);
    }

    /// <summary>Standard deviation over mean.</summary>
    public double Variation => Deviation / Math.Abs(Mean);

    /// <summary>Half the width of the 95 % interval of the mean (Student's t).</summary>
    public double Interval95 =>
        Count > 1 ? StudentT.Quantile(0.975, Count - 1) * Deviation / Math.Sqrt(Count) : double.NaN;

    public bool Unstable => Variation > UnstableVariation;
}

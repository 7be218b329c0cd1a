namespace RespBenchmark.Measure;

/// <summary>How many times as large the values of A are as those of B, with the 95 % interval.</summary>
/// <remarks>The ratio of the geometric means, by Welch's t on the logarithms: swapping A and B gives the reciprocal of
/// all three. With fewer than 2 values a side there is no interval: it is NaN. Source: B. L. Welch, Biometrika 34,
/// 1947.</remarks>
internal readonly record struct RatioTest(double Ratio, double Low, double High)
{
    public static RatioTest None { get; } = new(double.NaN, double.NaN, double.NaN);

    /// <summary>None where a value is not positive: it has no logarithm.</summary>
    public static RatioTest Of(IReadOnlyCollection<double> a, IReadOnlyCollection<double> b)
    {
        if (a.Count == 0 || b.Count == 0 || !a.Concat(b).All(value => value > 0 && double.IsFinite(value))) return None;

        var logA = Sample.Of([.. a.Select(value => Math.Log(value))]);
        var logB = Sample.Of([.. b.Select(value => Math.Log(value))]);
        double difference = logA.Mean - logB.Mean;
        if (a.Count < 2 || b.Count < 2) return new RatioTest(Math.Exp(difference), double.NaN, double.NaN);

        double errorA = logA.Deviation * logA.Deviation / a.Count, errorB = logB.Deviation * logB.Deviation / b.Count;
        double error = errorA + errorB;
        if (error == 0) return new RatioTest(Math.Exp(difference), Math.Exp(difference), Math.Exp(difference));

        // Welch and Satterthwaite: as many degrees of freedom as a t of the same spread would have.
        double degrees = error * error / (errorA * errorA / (a.Count - 1) + errorB * errorB / (b.Count - 1));
        double half = StudentT.Quantile(0.975, degrees) * Math.Sqrt(error);
        return new RatioTest(Math.Exp(difference), Math.Exp(difference - half), Math.Exp(difference + half));
    }
}

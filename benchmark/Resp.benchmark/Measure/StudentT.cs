namespace RespBenchmark.Measure;

/// <summary>Student's t distribution.</summary>
/// <remarks>Source: the regularized incomplete beta function as a continued fraction, evaluated by Lentz's method;
/// ln Γ by Lanczos' approximation (g = 7, 9 terms). Exact to about 1e-12.</remarks>
internal static class StudentT
{
    /// <summary>The probability of a value of at most <paramref name="t"/>.</summary>
    public static double Cumulative(double t, double degrees)
    {
        double beyond = IncompleteBeta(degrees / (degrees + t * t), degrees / 2, 0.5) / 2;
        return t > 0 ? 1 - beyond : beyond;
    }

    /// <summary>The probability of a value as far from 0 as <paramref name="t"/>, on either side.</summary>
    public static double TwoSided(double t, double degrees) =>
        IncompleteBeta(degrees / (degrees + t * t), degrees / 2, 0.5);

    /// <summary>The t that a share of all values, 0.5 to below 1, does not exceed.</summary>
    public static double Quantile(double share, double degrees)
    {
        double low = 0, high = 1;
        // Ends: doubling reaches any share below 1 of a distribution, at the latest at infinity.
        while (Cumulative(high, degrees) < share && double.IsFinite(high)) high *= 2;
        for (int halving = 0; halving < 200; halving++)
        {
            double middle = (low + high) / 2;
            if (Cumulative(middle, degrees) < share) low = middle; else high = middle;
        }

        return (low + high) / 2;
    }

    private static double IncompleteBeta(double x, double a, double b)
    {
        if (x <= 0) return 0;
        if (x >= 1) return 1;
        double front = Math.Exp(LogGamma(a + b) - LogGamma(a) - LogGamma(b) + a * Math.Log(x) + b * Math.Log(1 - x));
        // The fraction converges fast below the mean; above it the mirrored one does.
        return x < (a + 1) / (a + b + 2) ? front * Fraction(x, a, b) / a : 1 - front * Fraction(1 - x, b, a) / b;
    }

    private static double Fraction(double x, double a, double b)
    {
        const double Tiny = 1e-300;
        double c = 1, d = 1 / NotZero(1 - (a + b) * x / (a + 1)), fraction = d;
        for (int m = 1; m <= 500; m++)
        {
            double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
            d = 1 / NotZero(1 + even * d);
            c = NotZero(1 + even / c);
            fraction *= d * c;
            double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
            d = 1 / NotZero(1 + odd * d);
            c = NotZero(1 + odd / c);
            fraction *= d * c;
            if (Math.Abs(d * c - 1) < 1e-15) break;
        }

        return fraction;

        static double NotZero(double value) => Math.Abs(value) < Tiny ? Tiny : value;
    }

    private static readonly double[] Lanczos =
    [
        0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059,
        12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7,
    ];

    private static double LogGamma(double x)
    {
        if (x < 0.5) return Math.Log(Math.PI / Math.Sin(Math.PI * x)) - LogGamma(1 - x);
        x--;
        double sum = Lanczos[0], t = x + 7.5;
        for (int index = 1; index < Lanczos.Length; index++) sum += Lanczos[index] / (x + index);
        return 0.5 * Math.Log(2 * Math.PI) + (x + 0.5) * Math.Log(t) - t + Math.Log(sum);
    }
}

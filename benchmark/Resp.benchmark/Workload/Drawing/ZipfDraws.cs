namespace RespBenchmark.Workload;

/// <summary>Rank r with probability proportional to 1/(r+1)^θ: rank 0 is the most frequent. Any θ in (0, 5), also
/// 1.</summary>
/// <remarks>
/// Rejection-inversion: draws from the area under the curve x^-θ, which contains the histogram's bars, and rejects what
/// is outside a bar; at least three of four draws are taken, whatever n. No table: memory and time do not depend on n.
/// Source: Hörmann and Derflinger, "Rejection-inversion to generate variates from monotone discrete distributions",
/// 1996.
/// </remarks>
internal sealed class ZipfDraws : Draws
{
    private readonly double _theta, _firstArea, _wholeArea, _surelyInside;
    private readonly long _n;

    public ZipfDraws(long n, double theta)
    {
        if (theta is not (> 0 and < 5))
            throw new ArgumentOutOfRangeException(nameof(theta), theta, "zipf needs 0 < θ < 5");
        _n = n;
        _theta = theta;
        // Ranks count from 1 in here. The area up to 1.5 less the bar of 1 is where drawing begins.
        _firstArea = AreaUpTo(1.5) - 1;
        _wholeArea = AreaUpTo(n + 0.5);
        // Left of its middle by less than this, a number is inside its bar, whichever it is: the bar of 2 is the worst.
        _surelyInside = 2 - InverseArea(AreaUpTo(2.5) - Height(2));
    }

    public override long Next(ref Xoshiro256 generator, ref SessionStream session)
    {
        // Ends: each turn is taken with a probability of at least 3/4.
        while (true)
        {
            double area = _wholeArea + (generator.Unit() * (_firstArea - _wholeArea));
            double x = InverseArea(area);
            long rank = Math.Clamp((long)(x + 0.5), 1, _n);
            if (rank - x <= _surelyInside || area >= AreaUpTo(rank + 0.5) - Height(rank)) return rank - 1;
        }
    }

    private double Height(double x) => Math.Exp(-_theta * Math.Log(x));

    /// <summary>The integral of x^-θ, up to a constant: (x^(1−θ) − 1) / (1−θ), which is log x at θ = 1.</summary>
    private double AreaUpTo(double x)
    {
        double log = Math.Log(x);
        return ExponentialShare((1 - _theta) * log) * log;
    }

    private double InverseArea(double area)
    {
        // Rounding may put it a little below the curve's begin at -1.
        double t = Math.Max(-1, area * (1 - _theta));
        return Math.Exp(LogarithmShare(t) * area);
    }

    /// <summary>(e^t − 1)/t, by its series near 0 where the quotient would cancel.</summary>
    private static double ExponentialShare(double t) =>
        Math.Abs(t) > 1e-5 ? (Math.Exp(t) - 1) / t : 1 + (t / 2 * (1 + (t / 3)));

    /// <summary>log(1 + t)/t, by its series near 0.</summary>
    private static double LogarithmShare(double t) =>
        Math.Abs(t) > 1e-5 ? Math.Log(1 + t) / t : 1 - (t / 2) + (t * t / 3);
}

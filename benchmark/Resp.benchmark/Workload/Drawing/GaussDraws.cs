namespace RespBenchmark.Workload;

/// <summary>A bell around the middle of 0..n−1, its deviation a share of n; what falls outside is drawn
/// again.</summary>
internal sealed class GaussDraws(long n, double deviationShare) : Draws
{
    public override long Next(ref Xoshiro256 generator, ref SessionStream session)
    {
        // Ends: even for the widest bell allowed (deviation n) more than a third of all draws are inside.
        while (true)
        {
            double x = (n * 0.5) + (n * deviationShare * Normal(ref generator));
            if (x >= 0 && x < n) return (long)x;
        }
    }

    /// <summary>A standard normal number, by Box and Muller's way; the second of the pair is not kept.</summary>
    public static double Normal(ref Xoshiro256 generator) =>
        Math.Sqrt(-2 * Math.Log(generator.UnitAboveZero())) * Math.Cos(2 * Math.PI * generator.Unit());
}

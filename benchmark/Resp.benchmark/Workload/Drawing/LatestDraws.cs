namespace RespBenchmark.Workload;

/// <summary>The highest number the most frequent, falling off towards 0 as a zipf distribution does.</summary>
internal sealed class LatestDraws(long n, double theta) : Draws
{
    private readonly ZipfDraws _age = new(n, theta);

    public override long Next(ref Xoshiro256 generator, ref SessionStream session) =>
        n - 1 - _age.Next(ref generator, ref session);
}

namespace RespBenchmark.Workload;

/// <summary>A share of the draws goes through all numbers in order, each session through a slice of its own: somebody
/// who reads everything once, beside those who read what is popular.</summary>
internal sealed class ScanDraws(Draws others, long n, int sessions, double share) : Draws
{
    private readonly PartitionDraws _scan = new(n, sessions);
    private readonly ulong _threshold = share >= 1 ? ulong.MaxValue : (ulong)(share * ulong.MaxValue);

    public override long Next(ref Xoshiro256 generator, ref SessionStream session) =>
        generator.Next() < _threshold ? _scan.Next(ref generator, ref session)
            : others.Next(ref generator, ref session);
}

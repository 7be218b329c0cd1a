using System.Numerics;

namespace RespBenchmark.Workload;

/// <summary>Another distribution's ranks spread over all numbers, so that the frequent ones are no
/// neighbours.</summary>
/// <remarks>A bijection: no two ranks meet, and each number has its rank's frequency. It mixes the k bits that n−1
/// needs and walks on while the result is not below n.</remarks>
internal sealed class ScrambledDraws(Draws ranks, long n) : Draws
{
    private readonly int _bits = Math.Max(2, 64 - BitOperations.LeadingZeroCount((ulong)(n - 1)));

    public override long Next(ref Xoshiro256 generator, ref SessionStream session) =>
        Scramble(ranks.Next(ref generator, ref session));

    public long Scramble(long rank)
    {
        ulong mask = (1UL << _bits) - 1;
        ulong x = (ulong)rank;
        // Ends: each step is a bijection of k bits, so the walk comes back to the rank itself, which is below n, at the
        // latest; as n > 2^(k-1), two steps are enough on average.
        do
        {
            x = (x * 0x9E3779B97F4A7C15) & mask;            // odd factor: a bijection
            x ^= x >> ((_bits + 1) / 2);                    // the low half takes the high half in: one too
            x = ((x * 0xD1B54A32D192ED03) + 0x632BE59BD9B4E019) & mask;
            x ^= x >> ((_bits + 1) / 2);
        }
        while (x >= (ulong)n);
        return (long)x;
    }
}

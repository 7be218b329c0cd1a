namespace RespBenchmark.Workload;

/// <summary>The keys of a load: each session through its slice once, in order.</summary>
/// <param name="pairs">Keys of a whole command.</param>
/// <param name="isRest">Only what a slice has beyond its whole commands.</param>
internal sealed class SliceDraws(long n, int slices, long pairs, bool isRest) : Draws
{
    private readonly SessionCounters _next = new(slices);

    public override long Next(ref Xoshiro256 generator, ref SessionStream session)
    {
        (long begin, long length) = Slice.Of(n, slices, session.Session);
        return begin + (isRest ? length - (length % pairs) : 0) + _next[session.Session]++;
    }
}

/// <summary>That, as a distribution.</summary>
internal sealed record SliceDistribution(int Slices, long Pairs, bool IsRest) : Distribution
{
    public override Draws Open(long n, in Seat seat) => new SliceDraws(n, Slices, Pairs, IsRest);
}

namespace RespBenchmark.Workload;

/// <summary>A load: each session through its slice once.</summary>
internal sealed class SliceDraws(long n, int slices) : Draws
{
    private readonly SessionCounters _next = new(slices);

    public override long Next(ref Xoshiro256 generator, ref SessionStream session) =>
        Slice.Of(n, slices, session.Session).Begin + _next[session.Session]++;
}

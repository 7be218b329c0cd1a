using RespBenchmark.Engine;

namespace RespBenchmark.Workload;

/// <summary>Another distribution whose numbers move on after each period: what was popular no longer is.</summary>
/// <remarks>All sessions move together, by the clock, from when they were opened. They move by a share of n, the golden
/// ratio's, that comes near to none of the numbers that were popular shortly before.</remarks>
internal sealed class MovingDraws(Draws draws, long n, TimeSpan period) : Draws
{
    private const double Step = 0.6180339887498949;

    private readonly long _begun = Clock.Now, _period = Clock.Of(period), _step = Math.Max(1, (long)(n * Step));

    public override long Next(ref Xoshiro256 generator, ref SessionStream session) =>
        (draws.Next(ref generator, ref session) + Moved(Clock.Now - _begun)) % n;

    /// <summary>How far the numbers have moved after so many nanoseconds.</summary>
    public long Moved(long elapsed) => (long)((UInt128)(ulong)(elapsed / _period) * (ulong)_step % (ulong)n);
}

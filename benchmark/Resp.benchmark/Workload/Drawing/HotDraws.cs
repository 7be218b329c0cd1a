namespace RespBenchmark.Workload;

/// <summary>A share of the draws on the first so many numbers, the rest on the others; alike within each.</summary>
internal sealed class HotDraws : Draws
{
    private readonly long _n, _hot;
    private readonly ulong _threshold;

    public HotDraws(long n, double drawShare, double keyShare)
    {
        _n = n;
        _hot = Math.Clamp((long)Math.Round(n * keyShare), 1, n);
        _threshold = drawShare >= 1 || _hot == n ? ulong.MaxValue : (ulong)(drawShare * ulong.MaxValue);
    }

    public override long Next(ref Xoshiro256 generator, ref SessionStream session) =>
        generator.Next() < _threshold || _hot == _n ? generator.Below(_hot) : _hot + generator.Below(_n - _hot);
}

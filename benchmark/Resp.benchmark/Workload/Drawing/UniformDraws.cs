namespace RespBenchmark.Workload;

/// <summary>All numbers alike.</summary>
internal sealed class UniformDraws(long n) : Draws
{
    public override long Next(ref Xoshiro256 generator, ref SessionStream session) => generator.Below(n);

    public override void Fill(ref Xoshiro256 generator, ref SessionStream session, Span<long> column)
    {
        Xoshiro256 local = generator;
        long below = n;
        foreach (ref long draw in column) draw = local.Below(below);
        generator = local;
    }
}

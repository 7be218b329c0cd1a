namespace RespBenchmark.Workload;

/// <summary>A distribution at work for one loop: numbers in 0..n−1.</summary>
internal abstract class Draws
{
    public abstract long Next(ref Xoshiro256 generator, ref SessionStream session);

    /// <summary>As many as the column holds: the same numbers as so many calls of <see cref="Next"/>.</summary>
    public virtual void Fill(ref Xoshiro256 generator, ref SessionStream session, Span<long> column)
    {
        for (int index = 0; index < column.Length; index++) column[index] = Next(ref generator, ref session);
    }
}

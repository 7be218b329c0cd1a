namespace RespBenchmark.Workload;

/// <summary>0, 1, 2 … n−1, 0 …, one sequence for all loops: each takes every so many a block of it, so no lock is
/// needed.</summary>
internal sealed class SequenceDraws(long n, int loop, int loops) : Draws
{
    private LoopShare _share = new(loop, loops);

    public override long Next(ref Xoshiro256 generator, ref SessionStream session)
    {
        long number = _share.Position % n;
        _share.Advance(1);
        return number;
    }
}

/// <summary>A loop's part of a sequence that all loops share: of blocks of 16 every so many is its own.</summary>
internal struct LoopShare(int loop, int loops)
{
    private const int Block = 16;       // short, so that a small load still reaches all loops

    private long _begin = (long)loop * Block;
    private int _inBlock;

    public readonly long Position => _begin + _inBlock;

    /// <summary>Positions that follow each other from here.</summary>
    public readonly int Run => Block - _inBlock;

    /// <param name="count">At most <see cref="Run"/>.</param>
    public void Advance(int count)
    {
        _inBlock += count;
        if (_inBlock < Block) return;
        _inBlock = 0;
        _begin += (long)loops * Block;
    }
}

namespace RespBenchmark.Workload;

/// <summary>What the first part of a cycle of commands drew is drawn again, in order, by the rest of the cycle: ZADD of
/// some members, then ZREM of the same.</summary>
/// <remarks>A draw depends on nothing but the command's place, so batches of several sessions may mix.</remarks>
internal sealed class PairedDraws(Draws draws, int cycle, ulong seed) : Draws
{
    private readonly int _first = (cycle + 1) / 2;

    public override long Next(ref Xoshiro256 generator, ref SessionStream session)
    {
        long inCycle = session.Begun % cycle;
        long place = session.Begun - inCycle + (inCycle % _first);
        var own = new Xoshiro256(seed ^ SplitMix.Mix((ulong)place + SplitMix.Mix((ulong)session.Session)));
        return draws.Next(ref own, ref session);
    }
}

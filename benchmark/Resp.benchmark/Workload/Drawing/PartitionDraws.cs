namespace RespBenchmark.Workload;

/// <summary>Each session goes through a slice of its own of 0..n−1, in order, again and again.</summary>
internal sealed class PartitionDraws(long n, int sessions) : Draws
{
    private readonly SessionCounters _next = new(sessions);

    public override long Next(ref Xoshiro256 generator, ref SessionStream session)
    {
        ref long next = ref _next[session.Session];
        (long begin, long length) = Slice.Of(n, sessions, session.Session);
        // More sessions than numbers, or one that was opened later: it shares another's slice.
        if (length == 0) return session.Session % n;
        long number = begin + next;
        if (++next >= length) next = 0;
        return number;
    }
}

/// <summary>Numbers dealt in order: the first sessions have one more where they do not come out even.</summary>
internal static class Slice
{
    public static (long Begin, long Length) Of(long n, int slices, int index)
    {
        long each = n / slices, more = n % slices;
        index %= slices;
        return (index * each + Math.Min(index, more), each + (index < more ? 1 : 0));
    }
}

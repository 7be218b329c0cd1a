namespace RespBenchmark.Workload;

/// <summary>0, 1, 2 … n−1, 0 …, for each session its own.</summary>
internal sealed class SessionSequenceDraws(long n, int sessions) : Draws
{
    private readonly SessionCounters _next = new(sessions);

    public override long Next(ref Xoshiro256 generator, ref SessionStream session)
    {
        ref long next = ref _next[session.Session];
        long number = next;
        if (++next >= n) next = 0;
        return number;
    }
}

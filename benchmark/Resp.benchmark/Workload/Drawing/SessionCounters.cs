namespace RespBenchmark.Workload;

/// <summary>A counter for each session; more are made when a session beyond the first known ones comes.</summary>
internal sealed class SessionCounters(int sessions)
{
    private long[] _counts = new long[sessions];

    public ref long this[int session]
    {
        get
        {
            if (session >= _counts.Length) Array.Resize(ref _counts, Math.Max(session + 1, 2 * _counts.Length));
            return ref _counts[session];
        }
    }
}

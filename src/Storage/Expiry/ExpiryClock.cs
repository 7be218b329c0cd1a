namespace Kv.Storage;

/// <summary>The wall clock as the store sees it: it never goes back, so that nothing that expired revives.</summary>
internal sealed class ExpiryClock(TimeProvider time)
{
    private long _latestMs;

    /// <summary>Unix milliseconds; at least what anybody was told before.</summary>
    public long ReadMs()
    {
        long now = time.GetUtcNow().ToUnixTimeMilliseconds();
        // Ends: each failure means that another thread moved the mark forward, and it stops at the wall clock.
        long seen = Volatile.Read(ref _latestMs);
        while (now > seen)
        {
            long found = Interlocked.CompareExchange(ref _latestMs, now, seen);
            if (found == seen) return now;
            seen = found;
        }

        return seen;
    }
}

namespace Kv.Server.Metrics;

/// <summary>Lets one line of a kind a second into the log, however often strangers cause it, and counts the
/// others.</summary>
/// <remarks>Threads: any.</remarks>
internal sealed class LogBrake
{
    private const int PeriodMs = 1000;

    private long _takenTickMs = long.MinValue / 2;
    private long _suppressed, _reported;

    /// <summary>Lines that were left out since the start.</summary>
    public long Suppressed => Volatile.Read(ref _suppressed);

    /// <summary>Asks to write a line.</summary>
    /// <param name="nowTickMs">In the time of <see cref="KvServer.TickMs"/>.</param>
    /// <param name="more">Goes at the line's end: how many were left out since the last one; empty for none.</param>
    /// <returns>False when the line is to be left out, which has been counted.</returns>
    public bool TryTake(long nowTickMs, out string more)
    {
        more = "";
        long taken = Volatile.Read(ref _takenTickMs);
        // Interlocked: of several that see the same old time, one takes the second.
        if (nowTickMs - taken < PeriodMs || Interlocked.CompareExchange(ref _takenTickMs, nowTickMs, taken) != taken)
        {
            Interlocked.Increment(ref _suppressed);
            return false;
        }

        long suppressed = Suppressed, reported = Interlocked.Exchange(ref _reported, suppressed);
        if (suppressed > reported) more = $" ({suppressed - reported} more such lines were left out)";
        return true;
    }
}

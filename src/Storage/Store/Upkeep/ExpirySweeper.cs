namespace Kv.Storage;

/// <summary>Removes keys whose time has passed, segment by segment, where the earliest expiry says that there are some.</summary>
/// <remarks>
/// A segment is walked at most once a second: that bounds the work to reading the headers of what has expiries, and the
/// lateness of DBSIZE to a second. Readers never show an expired key, swept or not.
/// </remarks>
internal sealed unsafe class ExpirySweeper(Store store)
{
    private const long RoundMs = 1000;

    private readonly Dictionary<int, long> _walkedMs = [];

    public void Run(List<int> segments, StoreSession session)
    {
        long now = session.NowMs;
        foreach (int segment in segments)
        {
            SegmentInfo* info = store.Log.Info(segment);
            if (Volatile.Read(ref info->EarliestExpiryMs) > now) continue;
            if (_walkedMs.TryGetValue(segment, out long walked) && now - walked < RoundMs && now >= walked) continue;
            _walkedMs[segment] = now;
            Sweep(segment, info, session);
            session.Tick();
        }
    }

    private void Sweep(int segment, SegmentInfo* info, StoreSession session)
    {
        // From here on writers lower the mark for what they add; what is there already is seen by the walk: its end is
        // read after the mark is raised, and a writer lowers the mark after its record is complete.
        Interlocked.Exchange(ref info->EarliestExpiryMs, long.MaxValue);
        long now = session.NowMs, earliest = long.MaxValue;
        try
        {
            Fault.Point("expiry.sweep");
            earliest = Walk(segment, session, now);
        }
        catch
        {
            earliest = now;     // not all were looked at: none is to be forgotten
            throw;
        }
        finally
        {
            if (earliest != long.MaxValue) info->NoteExpiry(earliest);
        }
    }

    /// <summary>Removes what has expired in a segment.</summary>
    /// <returns>The earliest expiry of what is left.</returns>
    private long Walk(int segment, StoreSession session, long now)
    {
        long earliest = long.MaxValue;
        var scan = new LogScanner(store.Log, segment);
        while (scan.Next(out byte* record, out ulong word))
        {
            if (RecordWord.IsDead(word) || (word & RecordWord.HasExpiry) == 0) continue;
            if ((word & RecordWord.Lock) != 0)
            {
                // Perhaps it is being made, and there is no key yet: next time.
                earliest = Math.Min(earliest, now + 1);
                continue;
            }

            long expiry = Record.ExpiryOf(record, word);
            if (expiry == NewValue.NoExpiry) continue;
            bool gone = expiry <= now && session.DeleteExpired(session.Key(Record.KeyOf(record, word)));
            if (!gone) earliest = Math.Min(earliest, Math.Max(expiry, now + 1));
        }

        return earliest;
    }
}

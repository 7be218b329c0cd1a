namespace Kv.Storage;

/// <summary>Removes keys and fields of hashes whose time has passed, segment by segment, where the earliest expiry says
/// that there are some.</summary>
/// <remarks>
/// A segment is walked at most once a second: that bounds the work to reading the headers of what has expiries, and the
/// lateness of DBSIZE to a second. Readers never show an expired key, swept or not.
/// </remarks>
internal sealed unsafe class ExpirySweeper(Store store)
{
    private const long RoundMs = 1000;

    /// <summary>While somebody waits to be told of what expires: with the thread's pause
    /// (<see cref="StoreThread"/>) some 25 ms at most, where the thread gets a processor when it wants
    /// one.</summary>
    private const long PromptRoundMs = 10;

    /// <summary>Then walks take one part in so many of the time: of very many segments each is walked less
    /// often.</summary>
    private const long PromptShare = 5;

    /// <summary>Buckets of a large hash looked at under one lock: some 600 fields, tens of microseconds.</summary>
    private const int BucketsPerHold = 64;

    /// <summary>And in one round: 300,000 fields. The rest has its turn in the next one.</summary>
    private const int HoldsPerRound = 512;

    private readonly Dictionary<int, long> _walkedMs = [];
    private long _tookMs, _promptRoundMs = PromptRoundMs;

    public void Run(List<int> segments, StoreSession session)
    {
        long now = session.NowMs, begin = Environment.TickCount64;
        long roundMs = store.ExpiresPromptly ? _promptRoundMs : RoundMs;
        foreach (int segment in segments)
        {
            SegmentInfo* info = store.Log.Info(segment);
            if (Volatile.Read(ref info->EarliestExpiryMs) > now) continue;
            if (_walkedMs.TryGetValue(segment, out long walked) && now - walked < roundMs && now >= walked) continue;
            _walkedMs[segment] = now;
            Sweep(segment, info, session);
            session.Tick();
        }

        _tookMs += Environment.TickCount64 - begin;
    }

    /// <summary>Ends a round over all databases.</summary>
    public void EndRound()
    {
        _promptRoundMs = Math.Clamp(_tookMs * PromptShare, PromptRoundMs, RoundMs);
        _tookMs = 0;
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
            bool hasFields = RecordWord.HoldsFields(word);
            if (RecordWord.IsDead(word) || ((word & RecordWord.HasExpiry) == 0 && !hasFields)) continue;
            if ((word & RecordWord.Lock) != 0)
            {
                // Perhaps it is being made, and there is no key yet: next time.
                earliest = Math.Min(earliest, now + 1);
                continue;
            }

            long expiry = Record.ExpiryOf(record, word);
            bool gone = false;
            if (expiry != NewValue.NoExpiry)
            {
                gone = expiry <= now && ExpiredKeys.Delete(session, session.Key(Record.KeyOf(record, word)));
                if (!gone) earliest = Math.Min(earliest, Math.Max(expiry, now + 1));
            }

            if (hasFields && !gone) earliest = Math.Min(earliest, RemoveFields(record, word, session, now));
        }

        return earliest;
    }

    /// <summary>Removes the fields of a hash that have expired.</summary>
    /// <returns>When to look again.</returns>
    private static long RemoveFields(byte* record, ulong word, StoreSession session, long now)
    {
        long earliest = FieldExpiryOf(record, word, now);
        if (earliest > now) return earliest;
        if (session.SnapshotWait.TryAwait(session.Key(Record.KeyOf(record, word)))) return now + 1;
        // Ends: after HoldsPerRound rounds at the latest.
        for (int holds = 0; holds < HoldsPerRound; holds++)
        {
            using (HeldKey held = session.Hold(session.Key(Record.KeyOf(record, word)), DataType.Hash))
            {
                // it has become another record, which its segment knows of
                if (held.Status != StoreStatus.Ok) return FieldExpiry.Never;
                Fault.Point("expiry.fields");
                new ExpiredFields(held.Value).Remove(BucketsPerHold, out bool more);
                if (!more) return held.Value.FieldExpiryMs;
            }
        }

        return now + 1;
    }

    /// <summary>When the first field of a hash that is not locked expires. Now, when a writer comes in
    /// between.</summary>
    private static long FieldExpiryOf(byte* record, ulong word, long now)
    {
        if (RecordWord.Kind(word) == ValueKind.Hash)
        {
            // The region of a word that has not changed is there until this epoch ends; half of a pointer that a writer
            // is changing would not be.
            var region = Record.RegionOf(record, word);
            Volatile.ReadBarrier();
            if (!RecordWord.Same(Record.ReadWord(record), word)) return now;
            long earliest = FieldTable.EarliestOf(region);
            Volatile.ReadBarrier();     // what it says before the word again: it may have moved away from there
            return RecordWord.Same(Record.ReadWord(record), word) ? earliest : now;
        }

        long packed = RecordCounts.FieldExpiryOf(record, word);
        Volatile.ReadBarrier();     // the value before the word again
        return RecordWord.Same(Record.ReadWord(record), word) ? packed : now;
    }
}

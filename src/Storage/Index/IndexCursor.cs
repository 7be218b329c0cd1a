using System.Diagnostics;

namespace Kv.Storage;

/// <summary>Walks an index while it changes: SCAN's cursors and random keys.</summary>
/// <remarks>
/// A cursor is a bucket number of the index's current size, counted from the highest bit down (reverse binary): when
/// the index doubles, what has been visited stays visited, since both halves of a bucket follow each other. When it is
/// halved between the two, the near half is visited once more. Source of the idea: Pieter Noordhuis' dictScan in Redis.
/// </remarks>
internal static unsafe class IndexCursor
{
    private const int RandomTriesMax = 256, RandomTriesWhole = 8, KeysPerRun = 4, PlacesPerRun = 32,
        EntriesOnStack = 64;

    public static ulong Scan<TVisit>(HashIndex index, long nowMs, ulong cursor, ref TVisit visit)
        where TVisit : struct, IRecordVisit, allows ref struct =>
        Scan(index, nowMs, cursor, index.DeepestDepth, ref visit);

    /// <summary>Scans a bucket of an index that had this depth when it was read; others may have begun a doubling
    /// since.</summary>
    internal static ulong Scan<TVisit>(HashIndex index, long nowMs, ulong cursor, int depth, ref TVisit visit)
        where TVisit : struct, IRecordVisit, allows ref struct
    {
        Debug.Assert(depth > 0 && depth <= index.MaxDepth, "the index had this depth");
        ulong number = cursor & ((1UL << depth) - 1);
        // Most of a walk's time is waiting for memory: its next steps fetch theirs meanwhile.
        ulong next = Next(number, depth);
        index.PrefetchRecords(next);
        index.Prefetch(Next(next, depth));
        index.Growth.EnsureDepth(number, depth);
        // By the depth of what was visited: others may have split the bucket since, in a doubling that began meanwhile,
        // and then it was only this half; or it is whole, merged in a halving, and its far half has been visited, too.
        return Next(number, Visit(index, nowMs, number, ref visit));
    }

    /// <summary>The bucket after this one, at a depth; 0 after the last one.</summary>
    private static ulong Next(ulong number, int depth) =>
        ReverseBits(ReverseBits(number | ~((1UL << depth) - 1)) + 1);

    /// <summary>Visits one live key, each as likely as another.</summary>
    /// <param name="keys">About how many there are.</param>
    /// <remarks>
    /// Draws a run of buckets, gathers its entries, and draws one of <c>PlacesPerRun</c> places, which are hardly ever
    /// fewer than the entries: when the place is empty or its key has expired, all is drawn again. A run is as long as
    /// it takes for some keys on average, so an almost empty index costs what walking to the next key would.
    /// </remarks>
    public static bool Random<TVisit>(HashIndex index, long keys, long nowMs, ref TVisit visit)
        where TVisit : struct, IRecordVisit, allows ref struct
    {
        int deepest = index.DeepestDepth;
        long buckets = 1L << deepest;
        // 4 to 8 keys a run: Poisson makes more than the places of it once in 10^10.
        long run = 1;
        while (run < buckets && Math.Max(1, keys) * run < KeysPerRun * buckets) run *= 2;

        Span<ulong> entries = stackalloc ulong[EntriesOnStack];
        for (int attempt = 0; attempt < RandomTriesMax; attempt++)
        {
            long first = System.Random.Shared.NextInt64(buckets / run) * run;
            int count = 0;
            for (long number = first; number < first + run; number++)
            {
                index.Growth.EnsureDepth((ulong)number, deepest);
                int before = count;
                // A bucket that is not there (any more) is part of its near one, which has a number of its own.
                if (number >> Gather(index, (ulong)number, ref entries, ref count) != 0) count = before;
            }

            int place = System.Random.Shared.Next(run == buckets ? count : Math.Max(count, PlacesPerRun));
            if (place < count && VisitEntry(index, nowMs, entries[place], ref visit)) return true;
            if (run == buckets && attempt == RandomTriesWhole) break;
        }

        return AnyKey(index, nowMs, ref visit);
    }

    /// <summary>Visits the first living key from a random bucket on, where hardly a key is alive.</summary>
    private static bool AnyKey<TVisit>(HashIndex index, long nowMs, ref TVisit visit)
        where TVisit : struct, IRecordVisit, allows ref struct
    {
        Span<ulong> entries = stackalloc ulong[EntriesOnStack];
        ulong mask = (ulong)index.BucketCount - 1;
        ulong start = (ulong)System.Random.Shared.NextInt64(index.BucketCount);
        for (ulong i = 0; i <= mask; i++)
        {
            int count = 0;
            Gather(index, (start + i) & mask, ref entries, ref count);
            for (int entry = 0; entry < count; entry++)
                if (VisitEntry(index, nowMs, entries[entry], ref visit)) return true;
        }

        return false;
    }

    /// <summary>Visits the keys of a bucket with its chain, as they were at one instant.</summary>
    /// <returns>The depth of the bucket at that instant.</returns>
    private static int Visit<TVisit>(HashIndex index, long nowMs, ulong number, ref TVisit visit)
        where TVisit : struct, IRecordVisit, allows ref struct
    {
        Span<ulong> entries = stackalloc ulong[EntriesOnStack];
        int count = 0;
        int depth = Gather(index, number, ref entries, ref count);
        // Those of the bucket itself have been fetched in the step before.
        if (count > HashBucket.Entries)
            foreach (ulong entry in entries[..count]) index.PrefetchRecord(entry);
        for (int i = 0; i < count; i++) VisitEntry(index, nowMs, entries[i], ref visit);
        return depth;
    }

    /// <summary>Appends the entries of a bucket with its chain, as they were at one instant.</summary>
    /// <returns>The depth of the bucket at that instant.</returns>
    private static int Gather(HashIndex index, ulong number, scoped ref Span<ulong> entries, ref int count)
    {
        // Ends: a round is repeated only when the chain changed or was latched meanwhile; holders of the latch wait for
        // nothing.
        var wait = new SpinWait();
        int before = count;
        while (true)
        {
            ulong* home = index.Home(number, out ulong control, out int depth);
            ulong* bucket = home;
            ulong link = control;
            while (true)
            {
                for (int i = 0; i < HashBucket.Entries; i++)
                {
                    ulong entry = Volatile.Read(ref bucket[i]);
                    if (entry == 0) continue;
                    if (count == entries.Length)
                    {
                        Span<ulong> longer = new ulong[count * 2];
                        entries.CopyTo(longer);
                        entries = longer;
                    }

                    entries[count++] = entry;
                }

                uint next = HashBucket.OverflowOf(link);
                if (next == 0) break;
                bucket = index.Overflow[next];
                link = HashBucket.ReadControl(bucket);
            }

            Volatile.ReadBarrier();
            if (!HashBucket.IsLatched(control) && HashBucket.ReadControl(home) == control) return depth;
            count = before;
            wait.SpinOnce(sleep1Threshold: -1);
        }
    }

    private static bool VisitEntry<TVisit>(HashIndex index, long nowMs, ulong entry, ref TVisit visit)
        where TVisit : struct, IRecordVisit, allows ref struct
    {
        byte* record = index.Log.Pointer(HashBucket.AddressOf(entry));
        // Ends: each round follows a copy that was made since, or a change; a record that nobody copies or changes is
        // visited or gone.
        while (true)
        {
            ulong word = Record.ReadWord(record);
            if (RecordWord.IsDead(word))
            {
                // Replaced by a copy since the entry was read, or deleted: the key decides.
                ReadOnlySpan<byte> key = Record.KeyOf(record, word);
                record = index.Find(key, index.Hash.Of(key));
                if (record == null) return false;
                continue;
            }

            if (RecordWord.Kind(word) == ValueKind.Placeholder || Record.IsExpired(record, word, nowMs)) return false;
            // The expiry may be that of a later word: of one that has just been taken out, its time having passed.
            if ((word & RecordWord.HasExpiry) != 0 && Record.ReadWord(record) != word) continue;
            visit.Visit(Record.KeyOf(record, word), new ValueView(record, word));
            return true;
        }
    }

    /// <summary>The order in which a scan passes hashes: of their bits from the lowest on.</summary>
    internal static ulong ReverseBits(ulong value)
    {
        value = ((value >> 1) & 0x5555555555555555) | ((value & 0x5555555555555555) << 1);
        value = ((value >> 2) & 0x3333333333333333) | ((value & 0x3333333333333333) << 2);
        value = ((value >> 4) & 0x0F0F0F0F0F0F0F0F) | ((value & 0x0F0F0F0F0F0F0F0F) << 4);
        return System.Buffers.Binary.BinaryPrimitives.ReverseEndianness(value);
    }
}

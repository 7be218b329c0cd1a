using System.Numerics;
using System.Runtime.CompilerServices;

namespace Kv.Storage;

/// <summary>Walks an index while it changes: SCAN's cursors and random keys.</summary>
/// <remarks>
/// A cursor is a bucket number of the index's current size, counted from the highest bit down (reverse binary): when the
/// index doubles, what has been visited stays visited, since both halves of a bucket follow each other. The index never
/// shrinks. Source of the idea: Pieter Noordhuis' dictScan in Redis.
/// </remarks>
internal static unsafe class IndexCursor
{
    private const int RandomTriesMax = 256, RandomSlots = 3 * HashBucket.Entries;

    public static ulong Scan<TVisit>(Database database, long nowMs, ulong cursor, ref TVisit visit)
        where TVisit : struct, IRecordVisit, allows ref struct
    {
        HashIndex index = database.Index;
        int depth = index.TargetDepth;
        ulong mask = (1UL << depth) - 1, number = cursor & mask;
        index.Growth.EnsureDepth(number, depth);
        Visit(database, nowMs, number, ref visit);

        cursor = ReverseBits(number | ~mask) + 1;
        return ReverseBits(cursor);
    }

    public static bool Random<TVisit>(Database database, long nowMs, ref TVisit visit)
        where TVisit : struct, IRecordVisit, allows ref struct
    {
        HashIndex index = database.Index;
        for (int attempt = 0; attempt < RandomTriesMax; attempt++)
        {
            // Every slot of every bucket is as likely as another; an empty one, or an expired key, is drawn again.
            ulong number = (ulong)System.Random.Shared.NextInt64(index.BucketCount);
            index.Growth.EnsureDepth(number, index.TargetDepth);
            ulong entry = EntryAt(index, number, System.Random.Shared.Next(RandomSlots));
            if (entry != 0 && VisitEntry(database, nowMs, entry, ref visit)) return true;
        }

        // Almost empty: from a random bucket on, the first that has a key.
        ulong mask = (ulong)index.BucketCount - 1;
        ulong start = (ulong)System.Random.Shared.NextInt64(index.BucketCount);
        for (ulong i = 0; i <= mask; i++)
        {
            ulong* bucket = index.Home((start + i) & mask, out ulong control, out _);
            for (int slot = 0; slot < RandomSlots; slot++)
            {
                ulong entry = EntryAt(index, bucket, control, slot);
                if (entry != 0 && VisitEntry(database, nowMs, entry, ref visit)) return true;
            }
        }

        return false;
    }

    private static ulong EntryAt(HashIndex index, ulong number, int slot) =>
        EntryAt(index, index.Home(number, out ulong control, out _), control, slot);

    private static ulong EntryAt(HashIndex index, ulong* bucket, ulong control, int slot)
    {
        for (; slot >= HashBucket.Entries; slot -= HashBucket.Entries)
        {
            uint next = HashBucket.OverflowOf(control);
            if (next == 0) return 0;
            bucket = index.Overflow[next];
            control = HashBucket.ReadControl(bucket);
        }

        return Volatile.Read(ref bucket[slot]);
    }

    /// <summary>Visits the keys of a bucket with its chain, as they were at one instant.</summary>
    private static void Visit<TVisit>(Database database, long nowMs, ulong number, ref TVisit visit)
        where TVisit : struct, IRecordVisit, allows ref struct
    {
        const int entriesMax = 64;
        HashIndex index = database.Index;
        ulong* entries = stackalloc ulong[entriesMax];
        // Ends: a round is repeated only when the chain changed or was latched meanwhile; holders of the latch wait for nothing.
        var wait = new SpinWait();
        while (true)
        {
            ulong* home = index.Home(number, out ulong control, out _);
            int count = 0;
            ulong* bucket = home;
            ulong link = control;
            while (true)
            {
                for (int i = 0; i < HashBucket.Entries && count < entriesMax; i++)
                {
                    ulong entry = Volatile.Read(ref bucket[i]);
                    if (entry != 0) entries[count++] = entry;
                }

                uint next = HashBucket.OverflowOf(link);
                if (next == 0) break;
                bucket = index.Overflow[next];
                link = HashBucket.ReadControl(bucket);
            }

            Volatile.ReadBarrier();
            if (HashBucket.IsLatched(control) || HashBucket.ReadControl(home) != control)
            {
                wait.SpinOnce(sleep1Threshold: -1);
                continue;
            }

            for (int i = 0; i < count; i++) VisitEntry(database, nowMs, entries[i], ref visit);
            return;
        }
    }

    private static bool VisitEntry<TVisit>(Database database, long nowMs, ulong entry, ref TVisit visit)
        where TVisit : struct, IRecordVisit, allows ref struct
    {
        HashIndex index = database.Index;
        byte* record = index.Log.Pointer(HashBucket.AddressOf(entry));
        // Ends: each round follows a copy that was made since; a record that nobody copies is visited or gone.
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
            visit.Visit(Record.KeyOf(record, word), new ValueView(record, word));
            return true;
        }
    }

    private static ulong ReverseBits(ulong value)
    {
        value = ((value >> 1) & 0x5555555555555555) | ((value & 0x5555555555555555) << 1);
        value = ((value >> 2) & 0x3333333333333333) | ((value & 0x3333333333333333) << 2);
        value = ((value >> 4) & 0x0F0F0F0F0F0F0F0F) | ((value & 0x0F0F0F0F0F0F0F0F) << 4);
        return System.Buffers.Binary.BinaryPrimitives.ReverseEndianness(value);
    }
}

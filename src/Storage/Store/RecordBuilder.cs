using System.Diagnostics;
using System.Runtime.CompilerServices;

namespace Kv.Storage;

/// <summary>Makes records that nobody knows yet: space, key, expiry, value.</summary>
/// <remarks>Threads: one session's. A record comes locked; whoever asked for it publishes or abandons it.</remarks>
internal sealed unsafe class RecordBuilder(SegmentWriters writers, MemoryBudget budget, SegmentedLog log)
{
    /// <summary>Unix milliseconds of this turn.</summary>
    public long NowMs;

    /// <summary>Bytes of records that the session has ended or shortened, all told. Others read it, as of some moments
    /// ago.</summary>
    public long FreedBytes;

    /// <summary>Space for a record, its word written and locked; null when there is no memory.</summary>
    /// <remarks>Throws nothing.</remarks>
    public byte* Allocate(Database database, ulong word)
    {
        SegmentWriter? writer = writers.For(database.Segments);
        return writer == null ? null : writer.Allocate(database.Segments, word, NowMs);
    }

    /// <summary>Makes a complete record, locked, that nobody knows yet.</summary>
    /// <param name="current">What KeepContent keeps.</param>
    /// <param name="longKey">The block of a long key that moves to this record; none: a new one is made.</param>
    public StoreStatus Build<TUpdate>(
        Database database, ReadOnlySpan<byte> key, ref NewValue next, ref TUpdate update, in ValueView current,
        out byte* record, out ulong word, Block longKey = default)
        where TUpdate : struct, IValueUpdate, allows ref struct
    {
        record = null;
        word = 0;
        if (next.Length > Store.ValueBytesMax || key.Length > Store.KeyBytesMax) return StoreStatus.TooLarge;

        bool needsBlock = ValueWriter.NeedsBlock(next);
        Block block = default;
        if (needsBlock)
        {
            block = ValueWriter.TakeBlock(budget, ref next, ref update, current);
            if (block.IsNone) return StoreStatus.OutOfMemory;
        }

        ValueKind kind = needsBlock ? ValueKind.BlockString : next.Kind;
        int valueBytes = needsBlock || kind == ValueKind.Integer ? sizeof(long)
            : kind == ValueKind.GrowingString ? sizeof(uint) + (int)ValueWriter.GrownCapacity(next.Length)
            : (int)next.Length;
        if (!TryStart(database, key, kind, valueBytes, next.ExpiryMs != NewValue.NoExpiry, out record,
            out word, longKey))
        {
            if (needsBlock) ReleaseNow(block);
            return StoreStatus.OutOfMemory;
        }

        try
        {
            Fault.Point("record.build");
            Debug.Assert(Record.IsLocked(record), "nobody looks at a record that is being made");
            if ((word & RecordWord.HasExpiry) != 0) Record.SetExpiry(record, next.ExpiryMs);
            byte* value = Record.ValueOf(record, word);
            if (needsBlock)
            {
                Unsafe.WriteUnaligned(value, block);
            }
            else
            {
                int kept = next.KeepContent ? ValueWriter.CopyContent(current, kind, value, next.Length) : 0;
                ValueWriter.WriteValue(value, kind, kept, ref next, ref update);
            }

            Fault.Point("record.publish");
        }
        catch
        {
            // The update threw. A locked record that nobody unlocks would stop every walk of its segment.
            if (needsBlock) ReleaseNow(block);
            if (longKey.IsNone && RecordWord.KeyField(word) == RecordWord.LongKey)
                ReleaseNow(Record.LongKeyBlock(record, word));
            Kill(record, word);
            record = null;
            throw;
        }

        return StoreStatus.Ok;
    }

    /// <summary>Ends a record: dead and unlocked in one store, and its bytes counted.</summary>
    public void Kill(byte* record, ulong word)
    {
        int size = RecordWord.Size(word);
        Record.Kill(record, word);
        log.AddDead(record, size);
        FreedBytes += size;
    }

    /// <summary>Allocates a record, with its key written and its word locked.</summary>
    public bool TryStart(
        Database database, ReadOnlySpan<byte> key, ValueKind kind, int valueBytes, bool hasExpiry,
        out byte* record, out ulong word, Block longKey = default)
    {
        Debug.Assert(valueBytes is >= 0 and <= RecordWord.InlineValueMax, "longer values are blocks");
        Debug.Assert(longKey.IsNone || longKey.Length == key.Length, "the block is of this key");
        Debug.Assert(longKey.IsNone || key.Length >= RecordWord.LongKey, "only a long key has a block");
        bool isLong = key.Length >= RecordWord.LongKey, isNew = longKey.IsNone;
        word = RecordWord.Make(kind, isLong ? RecordWord.LongKey : key.Length, valueBytes, hasExpiry);
        record = null;
        if (isLong && isNew)
        {
            longKey = Block.Allocate(key.Length, key.Length, budget);
            if (longKey.IsNone) return false;
            key.CopyTo(new Span<byte>(longKey.Content, key.Length));
        }

        record = Allocate(database, word);
        if (record == null)
        {
            if (isLong && isNew) ReleaseNow(longKey);
            return false;
        }

        byte* at = record + RecordWord.KeyOffset(word);
        if (isLong)
        {
            Unsafe.WriteUnaligned(at, longKey);
            Unsafe.WriteUnaligned(at + 8, (long)key.Length);
        }
        else
        {
            key.CopyTo(new Span<byte>(at, key.Length));
        }

        return true;
    }

    /// <summary>Gives up a reference that no reader can have seen.</summary>
    public static void ReleaseNow(Block block)
    {
        if (block.Release()) block.Free();
    }
}

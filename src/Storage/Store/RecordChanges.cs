using System.Runtime.CompilerServices;

namespace Kv.Storage;

/// <summary>How records come, change and go: the steps that every write of a session is made of.</summary>
/// <remarks>
/// Threads: one session's. Everything here happens to records that the session has locked, or that nobody knows yet.
/// Order of every copy: the new record complete, then the index entry, then the old one dead and unlocked in one store.
/// </remarks>
internal sealed unsafe class RecordChanges(Store store, int slot)
{
    private const int SmallestCapacity = 16;
    private const long LargestDoubling = 1 << 20;

    private readonly SegmentedLog _log = store.Log;
    private readonly DeferredActions _deferred = store.Deferred;
    private SegmentWriter?[] _writers = new SegmentWriter?[1];

    /// <summary>The time of this turn.</summary>
    public long NowMs, NowSeconds;

    /// <summary>Looks at a held record, lets the update decide, and does it. The record stays held.</summary>
    public StoreStatus Apply<TUpdate>(ref HeldRecord held, DataType type, ref TUpdate update)
        where TUpdate : struct, IValueUpdate, allows ref struct
    {
        bool existed = held.Exists;
        if (existed && type != DataType.Any && ValueKinds.TypeOf(RecordWord.Kind(held.Word)) != type) return StoreStatus.WrongType;

        long expiry = existed ? Record.ExpiryOf(held.Record, held.Word) : NewValue.NoExpiry;
        var next = new NewValue { ExpiryMs = expiry };
        switch (update.Decide(held.View, ref next))
        {
            case Change.Replace:
                return Replace(ref held, ref next, ref update);
            case Change.Expire:
                return existed ? SetExpiry(ref held, next.ExpiryMs) : StoreStatus.NotFound;
            case Change.Delete:
                if (existed) MakeAbsent(ref held);
                break;
        }

        return existed ? StoreStatus.Ok : StoreStatus.NotFound;
    }

    /// <summary>Makes a record for a key that has none.</summary>
    /// <param name="again">True when another session inserted the key meanwhile: begin anew.</param>
    public StoreStatus Insert<TUpdate>(Database database, in Key key, ref TUpdate update, out bool again)
        where TUpdate : struct, IValueUpdate, allows ref struct
    {
        again = false;
        var next = new NewValue { ExpiryMs = NewValue.NoExpiry };
        if (update.Decide(default, ref next) != Change.Replace) return StoreStatus.NotFound;
        var status = Build(database, key.Bytes, ref next, ref update, default, out byte* record, out ulong word);
        if (status != StoreStatus.Ok) return status;

        Record.WriteWord(record, word);     // unlocked: whoever finds it may use it; release before it is published
        return Publish(database, key, record, word, next.ExpiryMs, out again);
    }

    private StoreStatus Publish(Database database, in Key key, byte* record, ulong word, long expiryMs, out bool again)
    {
        if (!database.Index.TryInsert(key.Bytes, key.Hash, _log.AddressOf(record), out byte* existing))
        {
            again = false;
            Abandon(record, word);
            return StoreStatus.OutOfMemory;
        }

        again = existing != null;
        if (again)
        {
            Abandon(record, word);
            return StoreStatus.Ok;
        }

        Note(database, record, word, expiryMs);
        Grow(database);
        return StoreStatus.Ok;
    }

    /// <summary>Inserts a locked placeholder for a key that a multi-key command holds.</summary>
    /// <param name="expectedBytes">Of the value that will be written: then it fits in place.</param>
    public StoreStatus HoldAbsent(Database database, in Key key, int expectedBytes, ref HeldRecord held, out bool again)
    {
        again = false;
        int valueBytes = expectedBytes <= RecordWord.InlineValueMax - sizeof(uint) ? expectedBytes : 8;
        if (!TryStart(database, key.Bytes, ValueKind.Placeholder, valueBytes, false, out byte* record, out ulong word))
            return StoreStatus.OutOfMemory;
        if (!database.Index.TryInsert(key.Bytes, key.Hash, _log.AddressOf(record), out byte* existing))
        {
            Abandon(record, word);
            return StoreStatus.OutOfMemory;
        }

        again = existing != null;
        if (again)
        {
            Abandon(record, word);
            return StoreStatus.Ok;
        }

        if (RecordWord.KeyField(word) == RecordWord.LongKey) database.StripeOf(slot)->Outside++;
        held = new HeldRecord { Database = database, Record = record, Word = word, Hash = key.Hash };
        Grow(database);
        return StoreStatus.Ok;
    }

    /// <summary>Deletes what a held record holds; the key stays held.</summary>
    public void MakeAbsent(ref HeldRecord held)
    {
        Forget(held.Database, Record.ExpiryOf(held.Record, held.Word));
        ReleaseValue(held.Database, held.Record, held.Word);
        held.Word = RecordWord.WithValue(held.Word, ValueKind.Placeholder, RecordWord.ValueBytes(held.Word));
        if ((held.Word & RecordWord.HasExpiry) != 0) Record.SetExpiry(held.Record, NewValue.NoExpiry);
    }

    /// <summary>Lets go: unlocked as it now is, or out of the index and dead when the key is absent.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void LetGo(ref HeldRecord held)
    {
        if (held.Exists) Record.Unlock(held.Record, held.Word);
        else Bury(ref held);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private void Bury(ref HeldRecord held)
    {
        held.Database.Index.Remove(held.Hash, _log.AddressOf(held.Record));
        if (RecordWord.KeyField(held.Word) == RecordWord.LongKey)
        {
            held.Database.StripeOf(slot)->Outside--;
            Retire(Record.LongKeyBlock(held.Record, held.Word));
        }

        Kill(held.Record, held.Word);
    }

    /// <summary>Moves a live, locked record of another session's segment into the own one, as it is.</summary>
    /// <returns>False when there is no memory: unlocked and unchanged.</returns>
    public bool TryMove(Database database, byte* record, ulong word)
    {
        byte* copy = Writer(database.Segments).Allocate(database.Segments, word, NowMs);
        if (copy == null)
        {
            Record.Unlock(record, word);
            return false;
        }

        int size = RecordWord.Size(word);
        Buffer.MemoryCopy(record + 8, copy + 8, size - 8, size - 8);
        Record.WriteWord(copy, word);       // unlocked, complete; release before it is published
        ulong hash = database.Index.Hash.Of(Record.KeyOf(record, word));
        database.Index.Replace(hash, _log.AddressOf(record), _log.AddressOf(copy));
        long expiry = Record.ExpiryOf(copy, word);
        if (expiry != NewValue.NoExpiry) _log.InfoOf(copy)->NoteExpiry(expiry);
        Kill(record, word);
        return true;
    }

    private StoreStatus Replace<TUpdate>(ref HeldRecord held, ref NewValue next, ref TUpdate update)
        where TUpdate : struct, IValueUpdate, allows ref struct
    {
        if (next.Length > Store.ValueBytesMax) return StoreStatus.TooLarge;     // pages may leave a block more capacity
        if (!TryReplaceInPlace(ref held, ref next, ref update))
        {
            bool existed = held.Exists;
            Database database = held.Database;
            long oldExpiry = existed ? Record.ExpiryOf(held.Record, held.Word) : NewValue.NoExpiry;
            var status = Build(database, held.Key, ref next, ref update, held.View, out byte* record, out ulong word,
                longKey: RecordWord.KeyField(held.Word) == RecordWord.LongKey ? Record.LongKeyBlock(held.Record, held.Word) : default);
            if (status != StoreStatus.Ok) return status;

            database.Index.Replace(held.Hash, _log.AddressOf(held.Record), _log.AddressOf(record));
            if (existed)
            {
                Forget(database, oldExpiry);
                ReleaseValue(database, held.Record, held.Word);
            }

            if (RecordWord.KeyField(word) == RecordWord.LongKey) database.StripeOf(slot)->Outside--;     // moved; Note counts it again
            Kill(held.Record, held.Word);
            held.Record = record;
            held.Word = word;
            Note(database, record, word, next.ExpiryMs);
        }

        return StoreStatus.Ok;
    }

    /// <summary>Writes the new value where the old one is, when its kind and size allow.</summary>
    private bool TryReplaceInPlace<TUpdate>(ref HeldRecord held, ref NewValue next, ref TUpdate update)
        where TUpdate : struct, IValueUpdate, allows ref struct
    {
        ulong word = held.Word;
        bool existed = held.Exists, hasSlot = (word & RecordWord.HasExpiry) != 0;
        if (next.ExpiryMs != NewValue.NoExpiry && !hasSlot) return false;

        bool block = NeedsBlock(next);
        ValueKind kind = block ? ValueKind.BlockString : next.Kind;
        ValueKind oldKind = RecordWord.Kind(word);
        int oldBytes = RecordWord.ValueBytes(word);
        if (block)
        {
            // Only APPEND and the like to a block that nobody else holds: everything else is a new block, hence a copy.
            if (!next.KeepContent || !next.Block.IsNone || oldKind != ValueKind.BlockString) return false;
            Block current = Record.BlockOf(held.Record, word);
            if (!current.IsExclusive || current.Capacity < next.Length) return false;
            Resize(current, next.Length);
            update.Write(new Span<byte>(current.Content, (int)next.Length));
        }
        else
        {
            if (oldKind == ValueKind.BlockString) return false;
            if (next.KeepContent && oldKind != kind) return false;
            int valueBytes = kind switch
            {
                ValueKind.Integer => sizeof(long),
                ValueKind.GrowingString when oldKind == kind && sizeof(uint) + next.Length <= oldBytes => oldBytes,
                ValueKind.GrowingString => int.MaxValue,    // grown with new spare, elsewhere
                _ => (int)next.Length,
            };
            int offset = RecordWord.ValueOffset(word);
            int oldSize = RecordWord.Size(word);
            long size = (offset + (long)valueBytes + 7) & ~7L;
            if (size > oldSize) return false;

            byte* value = held.Record + offset;
            WriteValue(value, kind, KeptBytes(value, kind, oldKind, oldBytes), ref next, ref update);
            word = RecordWord.WithValue(word, kind, valueBytes);
            if (size < oldSize)
            {
                int rest = oldSize - (int)size;
                Record.WriteWord(held.Record + size, RecordWord.Filler(rest));      // before the shorter word: release
                _log.AddDead(held.Record, rest);
            }
        }

        held.Word = block ? RecordWord.NextVersion(word) : word;
        long oldExpiry = existed && hasSlot ? Record.ExpiryOf(held.Record, word) : NewValue.NoExpiry;
        if (existed) Forget(held.Database, oldExpiry);
        if (hasSlot) Record.SetExpiry(held.Record, next.ExpiryMs);
        Note(held.Database, held.Record, held.Word, next.ExpiryMs, alreadyOutside: true);
        return true;
    }

    /// <summary>Bytes of content that are already where the new content goes.</summary>
    private static int KeptBytes(byte* value, ValueKind kind, ValueKind oldKind, int oldBytes)
    {
        if (kind != oldKind) return 0;
        return kind == ValueKind.GrowingString ? (int)Unsafe.ReadUnaligned<uint>(value) : oldBytes;
    }

    /// <summary>Fills a value in its place; with KeepContent the kept bytes stay, and zeros fill up.</summary>
    private static void WriteValue<TUpdate>(byte* value, ValueKind kind, int keptBytes, ref NewValue next, ref TUpdate update)
        where TUpdate : struct, IValueUpdate, allows ref struct
    {
        if (kind == ValueKind.Integer)
        {
            Unsafe.WriteUnaligned(value, next.Integer);
            return;
        }

        int length = (int)next.Length;
        byte* content = value;
        if (kind == ValueKind.GrowingString)
        {
            Unsafe.WriteUnaligned(value, (uint)length);
            content = value + sizeof(uint);
        }

        var destination = new Span<byte>(content, length);
        if (next.KeepContent && keptBytes < length) destination[keptBytes..].Clear();
        update.Write(destination);
    }

    /// <summary>Makes a complete record, locked, that nobody knows yet.</summary>
    /// <param name="current">What KeepContent keeps.</param>
    /// <param name="longKey">The block of a long key that moves to this record; none: a new one is made.</param>
    private StoreStatus Build<TUpdate>(
        Database database, ReadOnlySpan<byte> key, ref NewValue next, ref TUpdate update, in ValueView current,
        out byte* record, out ulong word, Block longKey = default)
        where TUpdate : struct, IValueUpdate, allows ref struct
    {
        record = null;
        word = 0;
        if (next.Length > Store.ValueBytesMax || key.Length > Store.KeyBytesMax) return StoreStatus.TooLarge;

        bool needsBlock = NeedsBlock(next);
        Block block = default;
        if (needsBlock)
        {
            block = TakeBlock(ref next, ref update, current);
            if (block.IsNone) return StoreStatus.OutOfMemory;
        }

        ValueKind kind = needsBlock ? ValueKind.BlockString : next.Kind;
        int valueBytes = needsBlock || kind == ValueKind.Integer ? sizeof(long)
            : kind == ValueKind.GrowingString ? sizeof(uint) + (int)GrownCapacity(next.Length)
            : (int)next.Length;
        if (!TryStart(database, key, kind, valueBytes, next.ExpiryMs != NewValue.NoExpiry, out record, out word, longKey))
        {
            if (needsBlock) ReleaseNow(block);
            return StoreStatus.OutOfMemory;
        }

        if ((word & RecordWord.HasExpiry) != 0) Record.SetExpiry(record, next.ExpiryMs);
        byte* value = Record.ValueOf(record, word);
        if (needsBlock)
        {
            Unsafe.WriteUnaligned(value, block);
        }
        else
        {
            int kept = next.KeepContent ? CopyContent(current, kind, value, next.Length) : 0;
            WriteValue(value, kind, kept, ref next, ref update);
        }

        return StoreStatus.Ok;
    }

    /// <summary>Allocates a record, with its key written and its word locked.</summary>
    private bool TryStart(
        Database database, ReadOnlySpan<byte> key, ValueKind kind, int valueBytes, bool hasExpiry,
        out byte* record, out ulong word, Block longKey = default)
    {
        bool isLong = key.Length >= RecordWord.LongKey, isNew = longKey.IsNone;
        word = RecordWord.Make(kind, isLong ? RecordWord.LongKey : key.Length, valueBytes, hasExpiry);
        record = null;
        if (isLong && isNew)
        {
            longKey = Block.Allocate(key.Length, key.Length, store.Budget);
            if (longKey.IsNone) return false;
            key.CopyTo(new Span<byte>(longKey.Content, key.Length));
        }

        record = Writer(database.Segments).Allocate(database.Segments, word, NowMs);
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

    private static int CopyContent(in ValueView current, ValueKind kind, byte* value, long length)
    {
        if (!current.Exists) return 0;
        Span<byte> digits = stackalloc byte[24];
        ReadOnlySpan<byte> content = ContentOf(current, digits);
        int kept = (int)Math.Min(content.Length, length);
        if (kind == ValueKind.GrowingString) value += sizeof(uint);
        content[..kept].CopyTo(new Span<byte>(value, kept));
        return kept;
    }

    private static ReadOnlySpan<byte> ContentOf(in ValueView current, Span<byte> digits)
    {
        if (current.Kind != ValueKind.Integer) return current.Bytes;
        current.Integer.TryFormat(digits, out int length);
        return digits[..length];
    }

    private static bool NeedsBlock(in NewValue next) =>
        !next.Block.IsNone || (next.Kind != ValueKind.Integer && next.Length > RecordWord.InlineValueMax - sizeof(uint));

    /// <summary>The block of a new value: adopted, or made and filled.</summary>
    private Block TakeBlock<TUpdate>(ref NewValue next, ref TUpdate update, in ValueView current)
        where TUpdate : struct, IValueUpdate, allows ref struct
    {
        if (!next.Block.IsNone)
        {
            next.Block.AddReference();
            return next.Block;
        }

        long capacity = next.Kind == ValueKind.GrowingString ? GrownCapacity(next.Length) : next.Length;
        Block block = Block.Allocate(next.Length, capacity, store.Budget);
        if (block.IsNone) return block;
        var destination = new Span<byte>(block.Content, (int)next.Length);
        if (next.KeepContent && current.Exists)
        {
            Span<byte> digits = stackalloc byte[24];
            ReadOnlySpan<byte> content = ContentOf(current, digits);
            content[..(int)Math.Min(content.Length, next.Length)].CopyTo(destination);
        }

        update.Write(destination);
        return block;
    }

    // Doubling keeps the copies of N appends at N bytes in all; past 1 MB the spare would cost more than the copies.
    private static long GrownCapacity(long length)
    {
        if (length >= LargestDoubling) return Math.Min(length + LargestDoubling, Store.ValueBytesMax);
        long capacity = SmallestCapacity;
        while (capacity < length) capacity *= 2;
        return capacity > RecordWord.InlineValueMax / 2 && length <= RecordWord.InlineValueMax - sizeof(uint)
            ? RecordWord.InlineValueMax - sizeof(uint)
            : capacity;
    }

    private static void Resize(Block block, long length)
    {
        long old = block.Length;
        if (length > old) new Span<byte>(block.Content + old, (int)(length - old)).Clear();
        block.SetLength(length);
    }

    private StoreStatus SetExpiry(ref HeldRecord held, long expiryMs)
    {
        if ((held.Word & RecordWord.HasExpiry) == 0)
        {
            if (expiryMs == NewValue.NoExpiry) return StoreStatus.Ok;
            return AddExpirySlot(ref held, expiryMs);
        }

        Forget(held.Database, Record.ExpiryOf(held.Record, held.Word));
        Record.SetExpiry(held.Record, expiryMs);
        held.Word = RecordWord.NextVersion(held.Word);
        Note(held.Database, held.Record, held.Word, expiryMs, alreadyOutside: true);
        return StoreStatus.Ok;
    }

    /// <summary>The first expiry of a record: a copy that is 8 bytes longer.</summary>
    private StoreStatus AddExpirySlot(ref HeldRecord held, long expiryMs)
    {
        Database database = held.Database;
        ulong word = held.Word | RecordWord.HasExpiry;
        byte* record = Writer(database.Segments).Allocate(database.Segments, word, NowMs);
        if (record == null) return StoreStatus.OutOfMemory;
        Record.SetExpiry(record, expiryMs);
        int content = RecordWord.KeyBytes(word) + RecordWord.ValueBytes(word);
        Buffer.MemoryCopy(held.Record + 8, record + 16, content, content);
        database.Index.Replace(held.Hash, _log.AddressOf(held.Record), _log.AddressOf(record));
        Forget(database, NewValue.NoExpiry);
        Kill(held.Record, held.Word);
        held.Record = record;
        held.Word = word;
        Note(database, record, word, expiryMs, alreadyOutside: true);
        return StoreStatus.Ok;
    }

    private void Note(Database database, byte* record, ulong word, long expiryMs, bool alreadyOutside = false)
    {
        Database.Stripe* stripe = database.StripeOf(slot);
        stripe->Keys++;
        Touch(record);
        if (!alreadyOutside)
        {
            if (RecordWord.HoldsBlock(word)) stripe->Outside++;
            if (RecordWord.KeyField(word) == RecordWord.LongKey) stripe->Outside++;
        }

        if (expiryMs == NewValue.NoExpiry) return;
        stripe->WithExpiry++;
        stripe->ExpirySum += Database.ExpiryPart(expiryMs);
        _log.InfoOf(record)->NoteExpiry(expiryMs);
    }

    private void Forget(Database database, long expiryMs)
    {
        Database.Stripe* stripe = database.StripeOf(slot);
        stripe->Keys--;
        if (expiryMs == NewValue.NoExpiry) return;
        stripe->WithExpiry--;
        stripe->ExpirySum -= Database.ExpiryPart(expiryMs);
    }

    public void CountExpired(Database database) => database.StripeOf(slot)->Expired++;

    private void Grow(Database database)
    {
        IndexGrowth growth = database.Index.Growth;
        // Counted a database: a session that fills two by turns would else ask only for one of them, always the same.
        long inserts = ++database.StripeOf(slot)->Inserts;
        if ((inserts & 63) == 0) growth.Consider(database.Keys);
        if ((inserts & 3) == 0 && growth.IsGrowing) growth.Sweep();
    }

    private void ReleaseValue(Database database, byte* record, ulong word)
    {
        if (!RecordWord.HoldsBlock(word)) return;
        database.StripeOf(slot)->Outside--;
        Retire(Record.BlockOf(record, word));
    }

    /// <summary>Gives up the record's reference once nobody can be reading the record any more.</summary>
    private void Retire(Block block) =>
        _deferred.Defer(static (target, start) => ((Store)target!).Release(new Block((byte*)start)), store, (nint)block.Start, block.MappedBytes);

    private static void ReleaseNow(Block block)
    {
        if (block.Release()) block.Free();
    }

    private void Kill(byte* record, ulong word)
    {
        int size = RecordWord.Size(word);
        Record.Kill(record, word);
        _log.AddDead(record, size);
    }

    /// <summary>Undoes a record that nobody got to know.</summary>
    private void Abandon(byte* record, ulong word)
    {
        if (RecordWord.HoldsBlock(word)) ReleaseNow(Record.BlockOf(record, word));
        if (RecordWord.KeyField(word) == RecordWord.LongKey) ReleaseNow(Record.LongKeyBlock(record, word));
        Kill(record, word);
    }

    /// <summary>Remembers when the segment was last written to, at seconds: a store only when one has passed.</summary>
    public void Touch(byte* record)
    {
        SegmentInfo* info = _log.InfoOf(record);
        if (info->LastWriteSeconds != NowSeconds) info->LastWriteSeconds = NowSeconds;
    }

    private SegmentWriter Writer(SegmentSet owner)
    {
        foreach (SegmentWriter? writer in _writers)
            if (writer != null && writer.Owner == owner) return writer;
        return WriterSlow();
    }

    /// <summary>A writer without a living database, or a new one: at most as many as databases that are written to.</summary>
    private SegmentWriter WriterSlow()
    {
        for (int i = 0; i < _writers.Length; i++)
        {
            if (_writers[i] is { } used && used.Owner is { IsDropped: false }) continue;
            return _writers[i] ??= new SegmentWriter(_log, store.Budget, store.Epochs);
        }

        int count = _writers.Length;
        Array.Resize(ref _writers, count * 2);
        return _writers[count] = new SegmentWriter(_log, store.Budget, store.Epochs);
    }

    /// <summary>Gives up all segments that are written to.</summary>
    public void Seal()
    {
        foreach (SegmentWriter? writer in _writers) writer?.Seal();
    }
}

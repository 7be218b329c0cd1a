using System.Diagnostics;
using System.Runtime.CompilerServices;

namespace Kv.Storage;

/// <summary>How records come, change and go: the steps that every write of a session is made of.</summary>
/// <remarks>
/// Threads: one session's. Everything here happens to records that the session has locked, or that nobody knows yet.
/// Order of every copy: the new record complete, then the index entry, then the old one dead and unlocked in one store.
/// </remarks>
internal sealed unsafe class RecordChanges
{
    private readonly Store _store;
    private readonly int _slot;
    private readonly SegmentedLog _log;
    private readonly SegmentWriters _writers;
    private readonly RecordBuilder _builder;
    private readonly WatchTable _watches;
    private readonly KeyNotices _notices;
    private readonly KeyArrivals _arrivals;
    private readonly RecordCounts _counts;

    /// <param name="queue">What its segments are for.</param>
    public RecordChanges(Store store, int slot, SegmentQueue queue = SegmentQueue.Young)
    {
        _store = store;
        _slot = slot;
        _log = store.Log;
        _watches = store.Watches;
        _notices = new KeyNotices(store, slot);
        _arrivals = _notices.Arrivals;
        _counts = new RecordCounts(store.Log, slot);
        _writers = new SegmentWriters(store.Log, store.Budget, store.Epochs, queue);
        _builder = new RecordBuilder(_writers, store.Budget, store.Log);
    }

    public Store Store => _store;

    /// <summary>Who is told of what is changed here, and how.</summary>
    public KeyNotices Notices => _notices;

    /// <summary>What databases count of their records.</summary>
    public ref readonly RecordCounts Counts => ref _counts;

    /// <summary>Unix milliseconds of this turn.</summary>
    public long NowMs { get; private set; }

    /// <summary>The turn's clock in seconds.</summary>
    public long NowSeconds { get; private set; }

    /// <summary>Keys held now that were absent: the index has their placeholders, though the database does not count
    /// them.</summary>
    /// <remarks>Whoever lets go of the last one sets it to 0.</remarks>
    public long HeldAbsent { get; set; }

    /// <summary>Whether what is done now may be given up and done again: somebody has said so by setting this, and
    /// nothing was changed since.</summary>
    public bool MayBeginAnew { get; set; }

    /// <summary>Changes that commands have made, in builds with assertions: by it goes whether a command that failed,
    /// or only reads, has left all as it was.</summary>
    public long ChangesSeen { get; private set; }

    [Conditional("DEBUG")]
    private void SeeChange(ChangeCause cause = ChangeCause.Command)
    {
        if (cause == ChangeCause.Command) ChangesSeen++;
    }

    /// <summary>Says that the last change was no command's: a hash whose last field's time has passed goes with
    /// it.</summary>
    [Conditional("DEBUG")]
    public void SeeTime()
    {
        Debug.Assert(ChangesSeen > 0, "there was a change");
        ChangesSeen--;
    }

    /// <summary>Tells the time that changes happen at.</summary>
    public void SetClock(long nowMs)
    {
        Debug.Assert(nowMs >= 0, "the clock is not before 1970");
        NowMs = _builder.NowMs = nowMs;
        NowSeconds = nowMs / 1000;
    }

    /// <summary>Tells what expiries are compared with, if that is not the clock.</summary>
    public void SetExpiryClock(long nowMs) => NowMs = _builder.NowMs = nowMs;

    /// <summary>Looks at a held record, lets the update decide, and does it. The record stays held.</summary>
    public StoreStatus Apply<TUpdate>(ref HeldRecord held, DataType type, ref TUpdate update)
        where TUpdate : struct, IValueUpdate, allows ref struct
    {
        Debug.Assert(Record.IsLocked(held.Record), "an update is of a held record");
        bool existed = held.Exists;
        if (existed && type != DataType.Any && ValueKinds.TypeOf(RecordWord.Kind(held.Word)) != type)
            return StoreStatus.WrongType;

        long expiry = existed ? Record.ExpiryOf(held.Record, held.Word) : NewValue.NoExpiry;
        var next = new NewValue { ExpiryMs = expiry };
        // From here on a snapshot shares the block, so the update sees that it has to be copied.
        if (_watches.IsAny && existed && RecordWord.HoldsBlock(held.Word)) _notices.KeepValue(held);
        Fault.Point("update.decide");
        switch (update.Decide(held.View, ref next))
        {
            case Change.Replace:
                return Replace(ref held, ref next, ref update);
            case Change.Expire:
                return existed ? SetExpiry(ref held, next.ExpiryMs) : StoreStatus.NotFound;
            case Change.Delete:
                if (existed) MakeAbsent(ref held);
                else if (_watches.IsAny) _notices.CountChange(held);      // as in Insert
                break;
        }

        return existed ? StoreStatus.Ok : StoreStatus.NotFound;
    }

    /// <summary>Makes a record for a key that has none, as a key that is held: those who listen are told of it before
    /// anybody else can change it.</summary>
    /// <inheritdoc cref="Insert"/>
    public StoreStatus InsertHeld<TUpdate>(Database database, in Key key, ref TUpdate update, out bool again)
        where TUpdate : struct, IValueUpdate, allows ref struct
    {
        var held = default(HeldRecord);
        var status = HoldAbsent(database, key, expectedBytes: 8, ref held, out again);
        if (again || status != StoreStatus.Ok) return status;
        try
        {
            return Apply(ref held, DataType.Any, ref update);
        }
        finally
        {
            LetGo(ref held);
            HeldAbsent = 0;
        }
    }

    /// <summary>Makes a record for a key that has none.</summary>
    /// <param name="again">True when another session inserted the key meanwhile: begin anew.</param>
    public StoreStatus Insert<TUpdate>(Database database, in Key key, ref TUpdate update, out bool again)
        where TUpdate : struct, IValueUpdate, allows ref struct
    {
        again = false;
        var next = new NewValue { ExpiryMs = NewValue.NoExpiry };
        var change = update.Decide(default, ref next);
        if (change != Change.Replace)
        {
            // A value that would have expired at once came and went: whoever watches the key is to know.
            if (change == Change.Delete && _watches.IsAny) _notices.CountChange(database, key);
            return StoreStatus.NotFound;
        }

        var status = _builder.Build(database, key.Bytes, ref next, ref update, default, out byte* record,
            out ulong word);
        if (status != StoreStatus.Ok) return status;

        word = RecordWord.WithUse(word, UseOfNew(database, key));
        Record.WriteWord(record, word);     // unlocked: whoever finds it may use it; release before it is published
        if (_watches.IsAny) _notices.KeepAbsent(database, key.Hash);
        return Publish(database, key, record, word, next.ExpiryMs, out again);
    }

    private StoreStatus Publish(Database database, in Key key, byte* record, ulong word, long expiryMs, out bool again)
    {
        if (!database.Index.TryInsert(key.Bytes, key.Hash, _log.AddressOf(record), out byte* existing, _watches,
            database.Id, _slot))
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

        SeeChange();
        Note(database, record, word, expiryMs);
        Grow(database);
        return StoreStatus.Ok;
    }

    /// <summary>Inserts a locked placeholder for a key that a multi-key command holds.</summary>
    /// <param name="expectedBytes">Of the value that will be written: then it fits in place.</param>
    public StoreStatus HoldAbsent(Database database, in Key key, int expectedBytes, ref HeldRecord held, out bool again)
    {
        Debug.Assert(expectedBytes >= 0, "a value has a length");
        again = false;
        int valueBytes = expectedBytes <= RecordWord.InlineValueMax - sizeof(uint) ? expectedBytes : 8;
        if (!_builder.TryStart(database, key.Bytes, ValueKind.Placeholder, valueBytes, false, out byte* record,
            out ulong word))
            return StoreStatus.OutOfMemory;
        word = RecordWord.WithUse(word, UseOfNew(database, key));     // in memory when it is let go of
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

        if (RecordWord.KeyField(word) == RecordWord.LongKey) database.StripeOf(_slot)->Outside++;
        held = new HeldRecord { Database = database, Record = record, Word = word, Hash = key.Hash };
        HeldAbsent++;
        Grow(database);
        return StoreStatus.Ok;
    }

    private int UseOfNew(Database database, in Key key)
    {
        EvictionRule rule = _store.Eviction;
        _store.Uses.NoteUse();
        if (!rule.Evicts) return rule.NewUse(_store.Uses.Current, wasEvicted: false);
        _store.Shadow.Remove(key.Hash, database.Id);
        return rule.NewUse(_store.Uses.Current, _store.Evicted.TryTake(key.Hash, database.Id));
    }

    /// <summary>Deletes what a held record holds; the key stays held.</summary>
    /// <param name="regionMoved">Its region is another record's by now.</param>
    /// <param name="why">What listeners are told.</param>
    public void MakeAbsent(ref HeldRecord held, bool regionMoved = false, KeyNote why = KeyNote.Deleted)
    {
        Debug.Assert(!regionMoved || RecordWord.HoldsRegion(held.Word), "only a region goes over to another record");
        Debug.Assert(held.Exists, "what is deleted is there");
        Debug.Assert(Record.IsLocked(held.Record), "only who holds a key deletes it");
        MayBeginAnew = false;
        SeeChange(why == KeyNote.Deleted ? ChangeCause.Command : ChangeCause.Time);
        if (_watches.IsAny)
            _notices.CountChange(held, why == KeyNote.Expired ? ChangeCause.Time : ChangeCause.Command);
        _counts.Remove(held.Database, held.Record, held.Word);
        if (regionMoved) held.Database.StripeOf(_slot)->Outside--;
        else ReleaseValue(held.Database, held.Record, held.Word);
        held.Word = RecordWord.WithValue(held.Word, ValueKind.Placeholder, RecordWord.ValueBytes(held.Word));
        // The word before the expiry: who walks the index goes past locks, and would take one whose time has passed for
        // one without a time.
        if (why == KeyNote.Expired) Record.WriteWord(held.Record, held.Word | RecordWord.Lock);
        if ((held.Word & RecordWord.HasExpiry) != 0) Record.SetExpiry(held.Record, NewValue.NoExpiry);
        // Those who listen to ends alone are not among those that a write looks for.
        if (_watches.IsAny || why != KeyNote.Deleted) _notices.Tell(why, held);
    }

    /// <summary>Whether anybody may want to be told what happens to a key.</summary>
    public bool IsHeard => _watches.IsAny;

    /// <summary>Tells those who listen of a held key that has just got a value.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private void TellIfAdded(bool existed, in HeldRecord held)
    {
        if (!existed && _watches.IsAny) _notices.Tell(KeyNote.Added, held);
    }

    /// <summary>Lets go: unlocked as it now is, or out of the index and dead when the key is absent.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void LetGo(ref HeldRecord held)
    {
        Debug.Assert(Record.IsLocked(held.Record), "a key is let go of once");
        if (_arrivals.HasNotes) _notices.Settle(held);
        if (held.Exists) Record.Unlock(held.Record, held.Word);
        else Bury(ref held);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private void Bury(ref HeldRecord held)
    {
        Debug.Assert(held.Prepared == null, "what was prepared has taken the place, or was given up");
        held.Database.Index.Remove(held.Hash, _log.AddressOf(held.Record));
        if (RecordWord.KeyField(held.Word) == RecordWord.LongKey)
        {
            held.Database.StripeOf(_slot)->Outside--;
            Retire(Record.LongKeyBlock(held.Record, held.Word));
        }

        _builder.Kill(held.Record, held.Word);
    }

    /// <summary>Moves a live, locked record of another session's segment into the own one, as it is.</summary>
    /// <returns>False when there is no memory: unlocked and unchanged.</returns>
    public bool TryMove(Database database, byte* record, ulong word)
    {
        Debug.Assert(Record.IsLocked(record), "only a locked record is moved");
        byte* copy = null;
        try
        {
            Fault.Point("reclaim.copy");
            copy = _builder.Allocate(database, word);
        }
        finally
        {
            if (copy == null) Record.Unlock(record, word);
        }

        if (copy == null) return false;

        word = _store.Uses.Renamed(word);       // a walk would not come by again
        int size = RecordWord.Size(word);
        Buffer.MemoryCopy(record + 8, copy + 8, size - 8, size - 8);
        // The mark before the entry: from its entry on the copy is anybody's, who may have put a string where the
        // pointer of a hash was. So whatever is asked of the record is asked of the old one, which stays locked to the
        // end. Should the copy be changed in between, the mark is too early, which costs a look.
        SegmentInfo* info = _log.InfoOf(copy);
        long expiry = Record.ExpiryOf(record, word);
        if (expiry != NewValue.NoExpiry) info->NoteExpiry(expiry);
        if (RecordWord.HoldsFields(word)) info->NoteExpiry(RecordCounts.FieldExpiryOf(record, word));
        ulong hash = database.Index.Hash.Of(Record.KeyOf(record, word));
        Record.WriteWord(copy, word);       // unlocked, complete; release before it is published
        database.Index.Replace(hash, _log.AddressOf(record), _log.AddressOf(copy));
        try
        {
            Fault.Point("reclaim.publish");
        }
        finally
        {
            _builder.Kill(record, word);
            _builder.FreedBytes -= size;        // it lives on
        }

        return true;
    }

    /// <summary>Gets all the memory that a string needs to become the value of a held key; nothing changes
    /// yet.</summary>
    /// <remarks>Whoever prepares goes on with <see cref="FinishString"/>, which cannot fail, or
    /// <see cref="GiveUpPrepared"/>.</remarks>
    public StoreStatus PrepareString(ref HeldRecord held, ReadOnlySpan<byte> value, Block block)
    {
        GiveUpPrepared(ref held);
        var update = new SetString(value, block, NewValue.NoExpiry);
        var next = new NewValue { ExpiryMs = NewValue.NoExpiry };
        update.Decide(default, ref next);
        if (next.Length > Store.ValueBytesMax) return StoreStatus.TooLarge;
        if (FitsInPlace(held.Word, next)) return StoreStatus.Ok;
        return _builder.Build(held.Database, held.Key, ref next, ref update, default, out held.Prepared,
            out held.PreparedWord,
            longKey: LongKeyOf(held));
    }

    /// <summary>Makes the string that was prepared the value of the held key.</summary>
    public void FinishString(ref HeldRecord held, ReadOnlySpan<byte> value)
    {
        Debug.Assert(Record.IsLocked(held.Record), "only who holds a key changes it");
        if (held.Prepared != null)
        {
            Exchange(ref held, held.Prepared, held.PreparedWord, NewValue.NoExpiry);
            held.Prepared = null;
            return;
        }

        var update = new SetString(value, default, NewValue.NoExpiry);
        var next = new NewValue { ExpiryMs = NewValue.NoExpiry };
        update.Decide(default, ref next);
        Invariant.Check(TryReplaceInPlace(ref held, ref next, ref update), "what was prepared fits where it was to go");
    }

    /// <summary>Undoes <see cref="PrepareString"/>.</summary>
    public void GiveUpPrepared(ref HeldRecord held)
    {
        if (held.Prepared == null) return;
        // A long key belongs to the record that is held.
        if (RecordWord.HoldsBlock(held.PreparedWord))
            RecordBuilder.ReleaseNow(Record.BlockOf(held.Prepared, held.PreparedWord));
        _builder.Kill(held.Prepared, held.PreparedWord);
        held.Prepared = null;
    }

    /// <summary>Whether a string without expiry is written where the old value is.</summary>
    private static bool FitsInPlace(ulong word, in NewValue next) =>
        !ValueWriter.NeedsBlock(next) && !RecordWord.HoldsPointer(word)
        && RecordWord.ValueOffset(word) + next.Length <= RecordWord.Size(word);

    /// <summary>Gives the value of a held key, or what is to become one, room for <paramref name="valueBytes"/>, as
    /// another kind if need be.</summary>
    /// <param name="kind">Held in the record: not a block.</param>
    /// <param name="valueBytes">The least room: a value keeps the room that it has.</param>
    /// <param name="keepBytes">Bytes of the old value that the new one begins with.</param>
    /// <returns>Ok; OutOfMemory: nothing was changed.</returns>
    public StoreStatus Resize(ref HeldRecord held, ValueKind kind, int valueBytes, int keepBytes)
    {
        Debug.Assert(Record.IsLocked(held.Record), "room is made in a held record");
        Fault.Point("record.write");
        ulong word = held.Word;
        if (RecordWord.ValueBytes(word) >= valueBytes)
        {
            Debug.Assert(!RecordWord.HoldsPointer(word), "what a pointer leads to goes with the record");
            NoteChange(held);
            bool existed = held.Exists;
            held.Word = RecordWord.WithValue(word, kind, RecordWord.ValueBytes(word));
            if (kind == ValueKind.PackedHash && keepBytes == 0)
                Unsafe.WriteUnaligned(Record.ValueOf(held.Record, held.Word), 0);
            if (!existed) Note(held.Database, held.Record, held.Word, NewValue.NoExpiry, alreadyOutside: true);
            else Touch(held.Record);
            // views go by it
            if (kind != RecordWord.Kind(word)) Record.WriteWord(held.Record, held.Word | RecordWord.Lock);
            TellIfAdded(existed, held);
            return StoreStatus.Ok;
        }

        long expiry = held.Exists ? Record.ExpiryOf(held.Record, word) : NewValue.NoExpiry;
        if (!_builder.TryStart(held.Database, held.Key, kind, valueBytes, expiry != NewValue.NoExpiry, out byte* record,
            out ulong newWord, LongKeyOf(held)))
            return StoreStatus.OutOfMemory;
        if (expiry != NewValue.NoExpiry) Record.SetExpiry(record, expiry);
        Debug.Assert(keepBytes <= valueBytes, "what is kept fits");
        Buffer.MemoryCopy(Record.ValueOf(held.Record, word), Record.ValueOf(record, newWord), valueBytes, keepBytes);
        // no fields: Note looks
        if (kind == ValueKind.PackedHash && keepBytes == 0) Unsafe.WriteUnaligned(Record.ValueOf(record, newWord), 0);
        Exchange(ref held, record, newWord, expiry);
        return StoreStatus.Ok;
    }

    /// <summary>Makes a region the value of a held key, in the place of what it has. Cannot fail: room for 8 bytes is
    /// there.</summary>
    public void SetRegion(ref HeldRecord held, ValueKind kind, Region region)
    {
        Debug.Assert(Record.IsLocked(held.Record), "only who holds a key changes it");
        Debug.Assert(kind is >= ValueKind.List and <= ValueKind.Stream && !region.IsNone, "a large kind has a region");
        Debug.Assert(RecordWord.ValueBytes(held.Word) >= sizeof(long), "there is room for a pointer");
        NoteChange(held);
        Database.Stripe* stripe = held.Database.StripeOf(_slot);
        bool existed = held.Exists, hadFieldExpiry = existed && RecordCounts.HasFieldExpiry(held.Record, held.Word);
        if (existed) ReleaseValue(held.Database, held.Record, held.Word);
        Unsafe.WriteUnaligned(Record.ValueOf(held.Record, held.Word), (nint)region.Start);
        int oldSize = RecordWord.Size(held.Word);
        held.Word = RecordWord.WithValue(held.Word, kind, sizeof(long));
        GiveBack(held.Record, oldSize, RecordWord.Size(held.Word));
        stripe->Outside++;
        if (!existed) Note(held.Database, held.Record, held.Word, NewValue.NoExpiry, alreadyOutside: true);
        else _counts.NoteFieldExpiry(held, hadFieldExpiry);
        Record.WriteWord(held.Record, held.Word | RecordWord.Lock);
        TellIfAdded(existed, held);
    }

    /// <summary>Notes that the value of a held key is being changed where it is: readers that began before will
    /// notice.</summary>
    /// <param name="cause">None: it is no change to those who watch the key.</param>
    public void BeginChange(ref HeldRecord held, ChangeCause cause = ChangeCause.Command)
    {
        Debug.Assert(Record.IsLocked(held.Record), "only who holds a key changes it");
        if (cause != ChangeCause.None) NoteChange(held, cause);
        else
        {
            KeepValue(held);
            if (_watches.IsAny) _notices.Tell(KeyNote.Altered, held);
        }

        held.Word = RecordWord.NextVersion(held.Word);
        Touch(held.Record);
    }

    /// <summary>Lets a snapshot have the value of a held key as it is. Before it changes, where
    /// <see cref="BeginChange"/> follows the change.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void KeepValue(in HeldRecord held)
    {
        if (_watches.IsAny) _notices.KeepValue(held);
    }

    /// <summary>Tells those who watch the key or wait for it. Before anybody can see the change: under the
    /// lock.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private void NoteChange(in HeldRecord held, ChangeCause cause = ChangeCause.Command)
    {
        MayBeginAnew = false;
        SeeChange(cause);
        if (_watches.IsAny) _notices.NoteChange(held, cause);
    }

    private static Block LongKeyOf(in HeldRecord held) =>
        RecordWord.KeyField(held.Word) == RecordWord.LongKey ? Record.LongKeyBlock(held.Record, held.Word) : default;

    private StoreStatus Replace<TUpdate>(ref HeldRecord held, ref NewValue next, ref TUpdate update)
        where TUpdate : struct, IValueUpdate, allows ref struct
    {
        Debug.Assert((Record.ReadWord(held.Record) & RecordWord.Lock) != 0, "the key is held");
        if (next.Length > Store.ValueBytesMax) return StoreStatus.TooLarge;     // pages may leave a block more capacity
        Fault.Point("record.write");
        if (!TryReplaceInPlace(ref held, ref next, ref update))
        {
            var status = _builder.Build(held.Database, held.Key, ref next, ref update, held.View, out byte* record,
                out ulong word, LongKeyOf(held));
            if (status != StoreStatus.Ok) return status;
            Exchange(ref held, record, word, next.ExpiryMs);
        }

        return StoreStatus.Ok;
    }

    /// <summary>Puts a complete, locked record into the place of the held one, which dies. Cannot fail: not the index,
    /// nor the counters, nor Defer.</summary>
    private void Exchange(ref HeldRecord held, byte* record, ulong word, long expiryMs)
    {
        Debug.Assert(Record.IsLocked(record), "what takes the place is not anybody's yet");
        NoteChange(held);
        Database database = held.Database;
        bool existed = held.Exists;
        word = RecordWord.WithUse(word, RecordWord.Use(held.Word));
        database.Index.Replace(held.Hash, _log.AddressOf(held.Record), _log.AddressOf(record));
        if (existed)
        {
            _counts.Remove(database, held.Record, held.Word);
            ReleaseValue(database, held.Record, held.Word);
        }

        // moved; Note counts it again
        if (RecordWord.KeyField(word) == RecordWord.LongKey) database.StripeOf(_slot)->Outside--;
        _builder.Kill(held.Record, held.Word);
        held.Record = record;
        held.Word = word;
        Note(database, record, word, expiryMs);
        TellIfAdded(existed, held);
    }

    /// <summary>Writes the new value where the old one is, when its kind and size allow.</summary>
    private bool TryReplaceInPlace<TUpdate>(ref HeldRecord held, ref NewValue next, ref TUpdate update)
        where TUpdate : struct, IValueUpdate, allows ref struct
    {
        ulong word = held.Word;
        bool existed = held.Exists, hasSlot = (word & RecordWord.HasExpiry) != 0;
        if (next.ExpiryMs != NewValue.NoExpiry && !hasSlot) return false;

        bool block = ValueWriter.NeedsBlock(next);
        ValueKind kind = block ? ValueKind.BlockString : next.Kind;
        ValueKind oldKind = RecordWord.Kind(word);
        int oldBytes = RecordWord.ValueBytes(word);
        bool hadFieldExpiry = existed && RecordCounts.HasFieldExpiry(held.Record, word);
        if (block)
        {
            // Only APPEND and the like to a block that nobody else holds: everything else is a new block, hence a copy.
            if (!next.KeepContent || !next.Block.IsNone || oldKind != ValueKind.BlockString) return false;
            Block current = Record.BlockOf(held.Record, word);
            KeepValue(held);        // a snapshot shares it from here on
            if (!current.IsExclusive || current.Capacity < next.Length) return false;
            NoteChange(held);
            held.Word = RecordWord.NextVersion(word);       // as below
            ValueWriter.Resize(current, next.Length);
            update.Write(new Span<byte>(current.Content, (int)next.Length));
        }
        else
        {
            if (RecordWord.HoldsPointer(word)) return false;
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

            NoteChange(held);
            byte* value = held.Record + offset;
            // should the update throw half way, readers notice that it wrote
            held.Word = RecordWord.NextVersion(word);
            ValueWriter.WriteValue(value, kind, ValueWriter.KeptBytes(value, kind, oldKind, oldBytes), ref next,
                ref update);
            word = RecordWord.WithValue(word, kind, valueBytes);
            GiveBack(held.Record, oldSize, (int)size);
        }

        held.Word = block ? RecordWord.NextVersion(word) : word;
        long oldExpiry = existed && hasSlot ? Record.ExpiryOf(held.Record, word) : NewValue.NoExpiry;
        if (existed) _counts.Remove(held.Database, oldExpiry, hadFieldExpiry);
        if (hasSlot) Record.SetExpiry(held.Record, next.ExpiryMs);
        Note(held.Database, held.Record, held.Word, next.ExpiryMs, alreadyOutside: true);
        TellIfAdded(existed, held);
        return true;
    }

    /// <summary>Makes the end of a record that gets shorter a filler. Before the shorter word is written.</summary>
    private void GiveBack(byte* record, int oldSize, int size)
    {
        Debug.Assert(size <= oldSize && size % 8 == 0, "a record gives whole words back");
        if (size == oldSize) return;
        Record.WriteWord(record + size, RecordWord.Filler(oldSize - size));     // release: before the word that says so
        _log.AddDead(record, oldSize - size);
        _builder.FreedBytes += oldSize - size;
    }

    private StoreStatus SetExpiry(ref HeldRecord held, long expiryMs)
    {
        Debug.Assert(held.Exists && expiryMs >= NewValue.NoExpiry, "a key that is there gets a time, or none");
        if ((held.Word & RecordWord.HasExpiry) == 0)
        {
            if (expiryMs == NewValue.NoExpiry) return StoreStatus.Ok;
            return AddExpirySlot(ref held, expiryMs);
        }

        NoteChange(held);
        _counts.Remove(held.Database, held.Record, held.Word);
        Record.SetExpiry(held.Record, expiryMs);
        held.Word = RecordWord.NextVersion(held.Word);
        Note(held.Database, held.Record, held.Word, expiryMs, alreadyOutside: true);
        return StoreStatus.Ok;
    }

    /// <summary>The first expiry of a record: a copy that is 8 bytes longer.</summary>
    private StoreStatus AddExpirySlot(ref HeldRecord held, long expiryMs)
    {
        Debug.Assert((held.Word & RecordWord.HasExpiry) == 0 && expiryMs >= 0, "a record gets room for an expiry once");
        Database database = held.Database;
        ulong word = held.Word | RecordWord.HasExpiry;
        Fault.Point("expiry.slot");
        byte* record = _builder.Allocate(database, word);
        if (record == null) return StoreStatus.OutOfMemory;
        NoteChange(held);
        Record.SetExpiry(record, expiryMs);
        int content = RecordWord.KeyBytes(word) + RecordWord.ValueBytes(word);
        Buffer.MemoryCopy(held.Record + 8, record + 16, content, content);
        database.Index.Replace(held.Hash, _log.AddressOf(held.Record), _log.AddressOf(record));
        _counts.Remove(database, held.Record, held.Word);
        _builder.Kill(held.Record, held.Word);
        held.Record = record;
        held.Word = word;
        Note(database, record, word, expiryMs, alreadyOutside: true);
        return StoreStatus.Ok;
    }

    /// <summary>Counts a record that has just become what its key has, and when it expires.</summary>
    private void Note(Database database, byte* record, ulong word, long expiryMs, bool alreadyOutside = false)
    {
        Touch(record);
        _counts.Add(database, record, word, expiryMs, alreadyOutside);
    }

    /// <summary>Deletes what a held record holds, since its time has passed; the key stays held.</summary>
    public void Expire(ref HeldRecord held)
    {
        Debug.Assert(Record.IsExpired(held.Record, held.Word, NowMs), "only what has expired expires");
        held.Database.StripeOf(_slot)->Expired++;
        // The word in memory says so, too: by it goes the view of an update.
        MakeAbsent(ref held, why: KeyNote.Expired);
    }

    private void Grow(Database database)
    {
        IndexGrowth growth = database.Index.Growth;
        // Counted a database: a session that fills two by turns would else ask only for one of them, always the same.
        long inserts = ++database.StripeOf(_slot)->Inserts;
        if ((inserts & 63) == 0) growth.Consider(database.Keys + HeldAbsent);
        if ((inserts & (IndexGrowth.InsertsPerSweep - 1)) == 0 && growth.IsGrowing) growth.Sweep();
    }

    private void ReleaseValue(Database database, byte* record, ulong word)
    {
        if (!RecordWord.HoldsPointer(word)) return;
        database.StripeOf(_slot)->Outside--;
        if (RecordWord.HoldsRegion(word)) _store.Release(Record.RegionOf(record, word));
        else Retire(Record.BlockOf(record, word));
    }

    /// <summary>Gives up the record's reference once nobody can be reading the record any more.</summary>
    private void Retire(Block block) => _store.Retire(block);

    /// <summary>Undoes a record that nobody got to know.</summary>
    private void Abandon(byte* record, ulong word)
    {
        Debug.Assert(!RecordWord.HoldsRegion(word), "a new record has no region yet");
        if (RecordWord.HoldsBlock(word)) RecordBuilder.ReleaseNow(Record.BlockOf(record, word));
        if (RecordWord.KeyField(word) == RecordWord.LongKey)
            RecordBuilder.ReleaseNow(Record.LongKeyBlock(record, word));
        _builder.Kill(record, word);
    }

    /// <summary>Notes a change, and remembers when the segment was last written to, at seconds: a store only when one
    /// has passed.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void Touch(byte* record)
    {
        MayBeginAnew = false;
        SegmentInfo* info = _log.InfoOf(record);
        if (info->LastWriteSeconds != NowSeconds) info->LastWriteSeconds = NowSeconds;
    }

    /// <summary>Bytes of records that the session has ended or shortened, all told. From any thread.</summary>
    public long FreedBytes => Volatile.Read(ref _builder.FreedBytes);

    /// <summary>Gives up those segments that are written to and in which much is dead: then they can be
    /// emptied.</summary>
    public void SealDead() => _writers.SealDead();

    /// <summary>Gives up all segments that are written to.</summary>
    public void Seal() => _writers.Seal();
}

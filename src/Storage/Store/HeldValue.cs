using System.Diagnostics;
using System.Runtime.CompilerServices;

namespace Kv.Storage;

/// <summary>The value of a held key, for the collections, which change it in place.</summary>
/// <remarks>
/// The rule of every change: reserve first, which is all that can fail or move the value; then change. Pointers and
/// runs that were taken before a reservation are void.
/// </remarks>
internal readonly unsafe ref struct HeldValue
{
    private readonly RecordChanges _changes;
    private readonly ref HeldRecord _held;

    internal HeldValue(RecordChanges changes, ref HeldRecord held)
    {
        Debug.Assert(Record.IsLocked(held.Record), "the key is held");
        _changes = changes;
        _held = ref held;
    }

    /// <summary>False for a key that is held and has no value (yet, or any more).</summary>
    public bool Exists => _held.Exists;

    public ValueKind Kind => RecordWord.Kind(_held.Word);

    /// <summary>What clients see as its type.</summary>
    public DataType Type => Exists ? ValueKinds.TypeOf(Kind) : DataType.Any;

    /// <summary>The elements of a small collection.</summary>
    public PackedRun Run
    {
        get
        {
            Debug.Assert(Kind is ValueKind.PackedHash or ValueKind.PackedSet or ValueKind.PackedSortedSet,
                "the value is a run");
            return new PackedRun(Record.ValueOf(_held.Record, _held.Word), RecordWord.ValueBytes(_held.Word));
        }
    }

    /// <summary>The bytes that a value in the record has room for.</summary>
    public Span<byte> Bytes => new(Record.ValueOf(_held.Record, _held.Word), RecordWord.ValueBytes(_held.Word));

    /// <summary>Where they are, until the next reservation.</summary>
    public byte* Content => Record.ValueOf(_held.Record, _held.Word);

    /// <summary>Whether it is a large collection.</summary>
    public bool HoldsRegion => RecordWord.HoldsRegion(_held.Word);

    /// <summary>The memory of a large collection.</summary>
    public Region Region => Record.RegionOf(_held.Record, _held.Word);

    /// <summary>Secrets of this store.</summary>
    public ref readonly KeyHash Hash => ref _changes.Store.Hash;

    /// <summary>Unix milliseconds of this turn.</summary>
    public long NowMs => _changes.NowMs;

    /// <summary>What the store may hold.</summary>
    public MemoryBudget Budget => _changes.Store.Budget;

    /// <summary>Up to what size a collection is a packed run.</summary>
    public PackedLimits Limits => _changes.Store.PackedLimits;

    /// <summary>As a reader sees it.</summary>
    public ValueView View => _held.View;

    /// <summary>Makes room for a run whose elements take <paramref name="bytes"/>, for a change that follows. A key
    /// without a value gets an empty run.</summary>
    /// <returns>False when there is no memory: nothing was changed.</returns>
    public bool TryReserveRun(ValueKind kind, int bytes)
    {
        Debug.Assert(bytes is >= 0 and <= PackedRun.BytesMax, "a run has its bounds");
        Debug.Assert(!Exists || Kind == kind, "a run that is there keeps its kind");
        bool isNew = !Exists;
        int room = RecordWord.ValueBytes(_held.Word), wanted = PackedRun.HeaderBytes + bytes;
        int used = isNew ? 0 : PackedRun.HeaderBytes + Run.Used;
        if (wanted > room && !isNew)
            wanted = Math.Min(wanted + Math.Max(8, wanted / 4), PackedRun.HeaderBytes + PackedRun.BytesMax);
        if (_changes.Resize(ref _held, kind, wanted, used) != StoreStatus.Ok) return false;
        if (isNew) Run.SetSize(0, 0);
        return true;
    }

    /// <summary>Makes room for an array in the record, as <see cref="TryReserveRun"/>; the first bytes stay as they
    /// are.</summary>
    public bool TryReserveBytes(ValueKind kind, int bytes)
    {
        Debug.Assert(bytes is >= 0 and <= RecordWord.InlineValueMax, "a value in a record has its bounds");
        int room = RecordWord.ValueBytes(_held.Word);
        if (bytes > room && Exists)
            bytes = Math.Min(bytes + Math.Max(8, bytes / 4), Math.Max(bytes, RecordWord.InlineValueMax - sizeof(long)));
        return _changes.Resize(ref _held, kind, bytes, Exists ? room : 0) == StoreStatus.Ok;
    }

    /// <summary>Makes sure that pieces of <paramref name="bytes"/> in all can be taken from the region without fail,
    /// for a change that follows.</summary>
    /// <param name="isWatched">Whether it is a change to those who watch the key.</param>
    /// <returns>False when there is no memory: nothing was changed.</returns>
    public bool TryReserve(long bytes, bool isWatched = true)
    {
        Debug.Assert(Record.IsLocked(_held.Record), "the key is still held");
        Debug.Assert(bytes >= 0, "pieces have lengths");
        Region region = Region;
        if (!Region.TryReserve(ref region, Budget, bytes, out Region left)) return false;
        if (!left.IsNone)
        {
            Unsafe.WriteUnaligned(Record.ValueOf(_held.Record, _held.Word), (nint)region.Start);
            _changes.Store.Retire(left);
        }

        _changes.BeginChange(ref _held, isWatched ? ChangeCause.Command : ChangeCause.None);
        return true;
    }

    /// <summary>When the first field of a hash expires, or earlier; <see cref="FieldExpiry.Never"/>: none has an
    /// expiry.</summary>
    public long FieldExpiryMs => Exists && RecordWord.HoldsFields(_held.Word)
        ? RecordCounts.FieldExpiryOf(_held.Record, _held.Word) : FieldExpiry.Never;

    /// <summary>To be called after each change of expiries of fields.</summary>
    /// <param name="had">Whether there were any before.</param>
    /// <param name="expired">How many fields were removed because their time had passed.</param>
    public void NoteFieldExpiry(bool had, long expired = 0)
    {
        Debug.Assert(Exists && RecordWord.HoldsFields(_held.Word), "only fields of hashes expire");
        Debug.Assert(expired >= 0, "fields are counted");
        _changes.Counts.NoteFieldExpiry(_held, had);
        if (expired != 0) _changes.Counts.CountExpiredFields(_held, expired);
    }

    /// <summary>Ends a change of a large collection: if much of its memory is free, has it seen to. No reservation is
    /// open any more, and pointers are void.</summary>
    public void TidyRegion()
    {
        if (!HoldsRegion) return;
        // Of one element no more stays than the next ones will take.
        const int eighth = 3;
        Region.EndReservation(RegionMemory.ChargeStep, eighth);
        if (Region.WantsTidying) RegionTidying.KeepPace(this);
        NoteIfSparse();
    }

    /// <summary>To be called after a removal: has the store's thread see to a large collection that has more memory
    /// than it needs. Changes nothing.</summary>
    public void NoteIfSparse()
    {
        SparseRegions sparse = _changes.Store.Sparse;
        if (!HoldsRegion) return;
        bool isNoted = Region.NotedAt == sparse.Now, wasFull = _changes.Store.Room.WasFull;
        if ((isNoted && !wasFull) || !RegionRebuild.MayBeWanted(this)) return;
        if (wasFull) _changes.Store.Room.Doubt();
        if (isNoted) return;
        Region.NotedAt = sparse.Now;
        sparse.Note(_held.Database, _held.Key);
    }

    /// <summary>Gives a large collection another region with the same content. Nobody is told: nothing changes for
    /// them.</summary>
    public void MoveTo(Region region)
    {
        Region old = Region;
        Debug.Assert(!region.IsNone && region.Start != old.Start, "it has moved");
        Debug.Assert(Record.IsLocked(_held.Record), "the key is still held");
        KeepForSnapshot();      // a part of it may be kept: the rest is looked for in the old one
        Unsafe.WriteUnaligned(Record.ValueOf(_held.Record, _held.Word), (nint)region.Start);
        _changes.Store.Release(old);
    }

    /// <summary>For a change that takes no memory.</summary>
    /// <param name="cause">None: it is no change to those who watch the key.</param>
    public void BeginChange(ChangeCause cause = ChangeCause.Command) => _changes.BeginChange(ref _held, cause);

    /// <summary>For a change that <see cref="BeginChange"/> follows: a snapshot may want the value as it is.</summary>
    public void KeepForSnapshot() => _changes.KeepValue(in _held);

    /// <summary>Tells those who listen of a change that those who watch the key are not told of, or of what kind a
    /// change is.</summary>
    public void Tell(KeyNote note)
    {
        if (_changes.IsHeard) _changes.Notices.Tell(note, in _held);
    }

    /// <summary>Whether anybody may want to be told.</summary>
    public bool IsHeard => _changes.IsHeard;

    /// <summary>Tells those who listen what does not follow from the command.</summary>
    public void Tell(in KeyDetail detail)
    {
        if (_changes.IsHeard) _changes.Notices.Tell(detail, in _held);
    }

    /// <summary>Has those who wait for the key looked at, after a change that was not watched.</summary>
    public void NoteArrival()
    {
        if (_changes.IsHeard) _changes.Notices.NoteArrival(in _held);
    }

    /// <summary>Makes a region the value, in the place of what there is.</summary>
    /// <returns>False when there is no memory: the region is freed, and nothing was changed.</returns>
    public bool TryBecome(ValueKind kind, Region region)
    {
        Debug.Assert(!region.IsNone, "there is a region");
        // What has expired, or was deleted in a transaction, may leave less room than a pointer takes.
        if (RecordWord.ValueBytes(_held.Word) < sizeof(long)
            && _changes.Resize(ref _held, ValueKind.PackedSet, sizeof(long), 0) != StoreStatus.Ok)
        {
            region.Free();
            return false;
        }

        _changes.SetRegion(ref _held, kind, region);
        return true;
    }

    /// <summary>Makes bytes the value, whatever was there.</summary>
    /// <param name="kind">A packed kind.</param>
    /// <param name="content">The whole value.</param>
    /// <param name="expiryMs">Unix milliseconds, or -1.</param>
    /// <param name="block">Of a string: a block that has the same content.</param>
    /// <returns>Ok; OutOfMemory: nothing was changed.</returns>
    public StoreStatus TryReplace(ValueKind kind, ReadOnlySpan<byte> content, long expiryMs = NewValue.NoExpiry,
        Block block = default)
    {
        var update = new ReplaceBytes(kind, content, expiryMs, block);
        var status = _changes.Apply(ref _held, DataType.Any, ref update);
        Record.WriteWord(_held.Record, _held.Word | RecordWord.Lock);
        // what it says of a key that had no value
        return status == StoreStatus.NotFound ? StoreStatus.Ok : status;
    }

    /// <summary>Makes a region the value, whatever was there. It is the caller's as long as this has not
    /// succeeded.</summary>
    /// <inheritdoc cref="TryReplace(ValueKind, ReadOnlySpan{byte}, long, Block)"/>
    public StoreStatus TryReplace(ValueKind kind, Region region, long expiryMs = NewValue.NoExpiry)
    {
        Debug.Assert(!region.IsNone && kind is >= ValueKind.List and <= ValueKind.Stream, "a large kind has a region");
        long none = 0;
        var status = TryReplace(ValueKind.String, new ReadOnlySpan<byte>(&none, sizeof(long)), expiryMs);
        if (status == StoreStatus.Ok) _changes.SetRegion(ref _held, kind, region);
        return status;
    }

    /// <summary>Deletes the value; its memory is free. The key stays held.</summary>
    public void Delete()
    {
        _changes.MakeAbsent(ref _held);
        Record.WriteWord(_held.Record, _held.Word | RecordWord.Lock);      // views go by it
    }

    /// <summary>Says, in builds with assertions, that the deletion just made was no command's.</summary>
    [Conditional("DEBUG")]
    public void SeeTime() => _changes.SeeTime();

    private ref struct ReplaceBytes(ValueKind kind, ReadOnlySpan<byte> content, long expiryMs, Block block)
        : IValueUpdate
    {
        private readonly ReadOnlySpan<byte> _content = content;

        public readonly Change Decide(in ValueView current, ref NewValue next)
        {
            next.Kind = kind;
            next.Length = _content.Length;
            next.ExpiryMs = expiryMs;
            next.Block = block;
            return Change.Replace;
        }

        public readonly void Write(Span<byte> destination) => _content.CopyTo(destination);
    }
}

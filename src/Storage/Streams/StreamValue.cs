using System.Diagnostics;

namespace Kv.Storage;

/// <summary>Changes the entries of the stream of a held key.</summary>
/// <remarks>A stream without entries stays: its last id must not come again, and its groups go on.</remarks>
internal readonly unsafe ref struct StreamValue(HeldValue value)
{
    private const long LeavesAtOnce = 64;

    private readonly HeldValue _value = value;

    /// <summary>What a new key's record needs, for <see cref="StoreSession.Hold(in Key, DataType, int)"/>.</summary>
    public const int ExpectedBytes = sizeof(long);

    /// <summary>For reading, until the next change.</summary>
    public StreamView View => new(_value.View);

    public bool Exists => _value.Exists;

    /// <summary>The groups.</summary>
    public StreamGroups Groups => new(_value);

    private LargeStream Stream => new(_value.Region);

    /// <summary>Appends an entry whose id is above the last one. A key without a value becomes a stream.</summary>
    /// <returns>Ok; OutOfMemory, TooLarge: nothing was changed.</returns>
    public StoreStatus TryAppend<TItems>(StreamId id, scoped in TItems items)
        where TItems : struct, IStreamItems, allows ref struct
    {
        PackedLimits limits = _value.Limits;
        AppendPlan plan = LargeStream.Plan(_value.Exists ? _value.Region : default, id, in items,
            new StreamNodeLimits(limits.StreamNodeBytes, limits.StreamNodeEntries));
        if (plan.IsTooLarge) return StoreStatus.TooLarge;
        if (_value.Exists ? !_value.TryReserve(plan.Reserve) : !TryBegin(plan.Reserve)) return StoreStatus.OutOfMemory;
        Stream.Append(in plan, id, in items);
        _value.TidyRegion();
        return StoreStatus.Ok;
    }

    /// <summary>Makes a key without a value a stream without entries.</summary>
    /// <param name="bytes">Of pieces, to have room for.</param>
    /// <returns>False when there is no memory: nothing was changed.</returns>
    public bool TryBegin(long bytes = 0)
    {
        Debug.Assert(!Exists, "only a key without a value becomes a stream");
        Region region = Region.Create(_value.Budget, bytes, isTight: true);
        return !region.IsNone && _value.TryBecome(ValueKind.Stream, region);
    }

    /// <summary>Adds a group that is not there. A key without a value becomes a stream without entries.</summary>
    /// <returns>False when there is no memory: nothing was changed.</returns>
    public bool TryAddGroup(ReadOnlySpan<byte> name, StreamId lastId, long entriesRead)
    {
        bool isNew = !Exists;
        if (isNew && !TryBegin(StreamGroup.RecordBytes + name.Length)) return false;
        if (Groups.TryAdd(name, lastId, entriesRead) != 0) return true;
        if (isNew) _value.Delete();
        return false;
    }

    /// <summary>Deletes an entry. Needs no memory.</summary>
    /// <returns>Whether it was there.</returns>
    public bool Delete(StreamId id)
    {
        LargeStream stream = Stream;
        if (!stream.TryFind(id, out StreamPlace place)) return false;
        _value.BeginChange();
        stream.Delete(place);
        if (id > stream.MaxDeletedId) stream.MaxDeletedId = id;
        if (id == stream.FirstId) stream.FindFirst();
        _value.NoteIfSparse();
        return true;
    }

    /// <summary>Removes entries from the front. Needs no memory.</summary>
    /// <returns>How many.</returns>
    public long Trim(in StreamTrim trim)
    {
        long removed = 0;
        var budget = default(Unbounded);
        Trim(in trim, ref removed, ref budget);
        return removed;
    }

    /// <summary>Removes entries from the front, some at a time. Needs no memory.</summary>
    /// <param name="removed">How many have been removed, 0 at first.</param>
    /// <returns>True when it has ended.</returns>
    public bool Trim<TBudget>(in StreamTrim trim, ref long removed, ref TBudget budget)
        where TBudget : struct, IStepBudget
    {
        // Nobody reads a stream without the lock: noted afterwards.
        _value.KeepForSnapshot();
        long before = removed;
        bool isDone = false;
        // Ends: each round removes some, or is the last.
        while (!isDone && budget.TryTake(IStepBudget.WholePiece))
            isDone = Stream.Trim(in trim, ref removed, TBudget.IsBounded ? LeavesAtOnce : long.MaxValue);
        if (removed != before)
        {
            _value.BeginChange();
            _value.Tell(KeyNote.Trimmed);
        }

        if (isDone && removed != 0) _value.Tell(new KeyDetail(KeyDetailKind.Trimmed) { Count = View.Length });
        if (isDone && removed != 0) _value.TidyRegion();
        return isDone;
    }

    /// <summary>Sets the history of the stream. For XSETID, and for a stream that is read back.</summary>
    /// <param name="lastId">Not below any entry.</param>
    /// <param name="added">Null: leaves it.</param>
    /// <param name="maxDeletedId">0-0: leaves it.</param>
    public void SetHistory(StreamId lastId, long? added, StreamId maxDeletedId)
    {
        Debug.Assert(added is null or >= 0, "entries were added, or none");
        _value.BeginChange(ChangeCause.None);
        LargeStream stream = Stream;
        Debug.Assert(!View.TryGetLast(out StreamId last) || last <= lastId, "no entry is above the last id");
        stream.LastId = lastId;
        if (added is { } entries) stream.Added = entries;
        if (!maxDeletedId.IsZero) stream.MaxDeletedId = maxDeletedId;
        _value.Tell(KeyNote.Changed);
    }
}

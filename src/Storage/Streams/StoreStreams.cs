namespace Kv.Storage;

/// <summary>Streams of a session's database: entries of fields and values, in the order of their ids.
/// <see cref="StoreTypes"/> says what holds for all operations.</summary>
/// <remarks>
/// An id is above all that the stream has given out before, also those of entries that are gone; so a stream without
/// entries stays. Cost: adding, counting and the last id O(1), finding an id O(log of the entries).
/// </remarks>
public readonly struct StoreStreams
{
    private readonly StoreSession _session;

    internal StoreStreams(StoreSession session) => _session = session;

    /// <summary>Adds an entry of several fields, whose id the store chooses. A key that is missing becomes a
    /// stream.</summary>
    /// <param name="key">The key.</param>
    /// <param name="fields">At least one; they are kept in their order, and a name may come twice.</param>
    /// <param name="id">Its id: the session's time, and 0; or what follows the last id, where that is not of an earlier
    /// millisecond. 0-0 unless the status is Ok.</param>
    /// <param name="keep">What stays once it is there, in the same step: of older entries, and of it.</param>
    /// <returns>Ok, WrongType, OutOfMemory, TooLarge or NotAboveLast (the last id is the greatest that there
    /// is).</returns>
    public StreamAddStatus Add(ReadOnlySpan<byte> key, FieldBuffer fields, out StreamId id,
        StreamKeep keep = default) => Add(key, default, hasId: false, new BufferItems(fields), keep, out id);

    /// <summary>Adds an entry of one field, whose id the store chooses.</summary>
    /// <param name="key">The key.</param>
    /// <param name="field">Any bytes.</param>
    /// <param name="value">Any bytes.</param>
    /// <param name="id">As with several fields.</param>
    /// <param name="keep">As with several fields.</param>
    /// <returns>As with several fields.</returns>
    public StreamAddStatus Add(ReadOnlySpan<byte> key, ReadOnlySpan<byte> field, ReadOnlySpan<byte> value,
        out StreamId id, StreamKeep keep = default) =>
        Add(key, default, hasId: false, new OneItem(field, value), keep, out id);

    /// <summary>Adds an entry of several fields, whose id the caller chooses. A key that is missing becomes a
    /// stream.</summary>
    /// <param name="key">The key.</param>
    /// <param name="id">Above the last one of the stream, and 0-0.</param>
    /// <param name="fields">At least one; they are kept in their order, and a name may come twice.</param>
    /// <param name="keep">What stays once it is there, in the same step: of older entries, and of it.</param>
    /// <returns>Ok, WrongType, OutOfMemory, TooLarge or NotAboveLast.</returns>
    public StreamAddStatus Add(ReadOnlySpan<byte> key, StreamId id, FieldBuffer fields, StreamKeep keep = default) =>
        Add(key, id, hasId: true, new BufferItems(fields), keep, out _);

    /// <summary>Adds an entry of one field, whose id the caller chooses.</summary>
    /// <param name="key">The key.</param>
    /// <param name="id">Above the last one of the stream, and 0-0.</param>
    /// <param name="field">Any bytes.</param>
    /// <param name="value">Any bytes.</param>
    /// <param name="keep">As with several fields.</param>
    /// <returns>Ok, WrongType, OutOfMemory, TooLarge or NotAboveLast.</returns>
    public StreamAddStatus Add(ReadOnlySpan<byte> key, StreamId id, ReadOnlySpan<byte> field, ReadOnlySpan<byte> value,
        StreamKeep keep = default) =>
        Add(key, id, hasId: true, new OneItem(field, value), keep, out _);

    /// <summary>Counts the entries.</summary>
    /// <returns>Ok (also of a stream without entries), NotFound or WrongType.</returns>
    public StoreStatus Count(ReadOnlySpan<byte> key, out long count)
    {
        var status = Read(key, out var read);
        count = read.Length;
        return status;
    }

    /// <summary>Tells the last id that was given out; its entry may be gone.</summary>
    /// <returns>Ok, NotFound or WrongType; unless it is Ok the id is 0-0.</returns>
    public StoreStatus LastId(ReadOnlySpan<byte> key, out StreamId id)
    {
        var status = Read(key, out var read);
        id = read.LastId;
        return status;
    }

    /// <summary>Copies the entries from one id to another, both of them too, the least id first.</summary>
    /// <param name="key">The key.</param>
    /// <param name="first"><see cref="StreamId.Zero"/>: from the first entry on.</param>
    /// <param name="last"><see cref="StreamId.Max"/>: to the last entry. An entry by its id alone: first and last are
    /// the same.</param>
    /// <param name="entries">Emptied first; stays empty where the stream has none there.</param>
    /// <param name="most">How many at most. Whoever goes on begins at what <see cref="StreamId.TryNext"/> gives of the
    /// last one.</param>
    /// <returns>Ok, NotFound (no such key) or WrongType.</returns>
    /// <remarks>Cost: O(log of the entries) and O(entries copied).</remarks>
    public StoreStatus GetRange(ReadOnlySpan<byte> key, StreamId first, StreamId last, EntryBuffer entries,
        int most = int.MaxValue) =>
        Copy(key, first, last, entries, most, isBackward: false);

    /// <summary>Copies the entries from one id to another, both of them too, the greatest id first.</summary>
    /// <param name="key">The key.</param>
    /// <param name="first">The least id.</param>
    /// <param name="last">The greatest id, with which it begins.</param>
    /// <param name="entries">Emptied first; stays empty where the stream has none there.</param>
    /// <param name="most">How many at most. Whoever goes on ends at what <see cref="StreamId.TryPrevious"/> gives of
    /// the last one.</param>
    /// <returns>Ok, NotFound (no such key) or WrongType.</returns>
    /// <remarks>Cost: O(log of the entries) and O(entries copied).</remarks>
    public StoreStatus GetReverseRange(ReadOnlySpan<byte> key, StreamId first, StreamId last, EntryBuffer entries,
        int most = int.MaxValue) =>
        Copy(key, first, last, entries, most, isBackward: true);

    /// <summary>Removes an entry. Its id does not come again.</summary>
    /// <returns>Ok, NotFound (no such key or entry) or WrongType.</returns>
    public StoreStatus Remove(ReadOnlySpan<byte> key, StreamId id)
    {
        var status = Remove(key, [id], out int removed);
        return status == StoreStatus.Ok && removed == 0 ? StoreStatus.NotFound : status;
    }

    /// <summary>Removes entries, as one step.</summary>
    /// <param name="key">The key.</param>
    /// <param name="ids">In any order.</param>
    /// <param name="removed">How many of them were there.</param>
    /// <returns>Ok, NotFound (no such key) or WrongType.</returns>
    public StoreStatus Remove(ReadOnlySpan<byte> key, ReadOnlySpan<StreamId> ids, out int removed)
    {
        removed = 0;
        using HeldKey held = _session.Hold(_session.Key(key), DataType.Stream);
        if (held.Status != StoreStatus.Ok) return held.Status;
        var stream = new StreamValue(held.Value);
        foreach (StreamId id in ids)
            if (stream.Delete(id)) removed++;
        return StoreStatus.Ok;
    }

    /// <summary>Removes the oldest entries.</summary>
    /// <param name="key">The key.</param>
    /// <param name="keep">Which ones stay.</param>
    /// <param name="removed">How many went.</param>
    /// <returns>Ok, NotFound or WrongType.</returns>
    /// <remarks>Cost: O(entries removed); of whole leaves O(leaves).</remarks>
    public StoreStatus Trim(ReadOnlySpan<byte> key, StreamKeep keep, out long removed)
    {
        removed = 0;
        using HeldKey held = _session.Hold(_session.Key(key), DataType.Stream);
        if (held.Status == StoreStatus.Ok && keep.IsSome) removed = new StreamValue(held.Value).Trim(keep.Trim);
        return held.Status;
    }

    private StreamAddStatus Add<TItems>(ReadOnlySpan<byte> key, StreamId wanted, bool hasId, scoped in TItems items,
        StreamKeep keep, out StreamId id)
        where TItems : struct, IStreamItems, allows ref struct
    {
        ArgumentOutOfRangeException.ThrowIfZero(items.Fields, "fields");
        id = StreamId.Zero;
        using HeldKey held = _session.Hold(_session.Key(key), DataType.Stream, StreamValue.ExpectedBytes);
        if (held.Status != StoreStatus.Ok) return (StreamAddStatus)held.Status;
        for (int i = 0; i < items.Fields; i++)
            if (KeyOperations.IsTooLarge(Math.Max(items.Field(i).Length, items.Value(i).Length)))
                return StreamAddStatus.TooLarge;
        var stream = new StreamValue(held.Value);
        StreamId last = stream.Exists ? stream.View.LastId : StreamId.Zero;
        if (hasId ? wanted <= last : !last.TryFollow(_session.NowMs, out wanted)) return StreamAddStatus.NotAboveLast;
        var status = stream.TryAppend(wanted, in items);
        if (status != StoreStatus.Ok) return (StreamAddStatus)status;
        if (keep.IsSome) stream.Trim(keep.Trim);
        id = wanted;
        return StreamAddStatus.Ok;
    }

    private StoreStatus Read(ReadOnlySpan<byte> key, out ReadEnds read)
    {
        read = default;
        var status = _session.Read(_session.Key(key), DataType.Stream, ref read);
        if (status != StoreStatus.Ok) read = default;
        return status;
    }

    private StoreStatus Copy(ReadOnlySpan<byte> key, StreamId first, StreamId last, EntryBuffer entries, int most,
        bool isBackward)
    {
        ArgumentOutOfRangeException.ThrowIfNegative(most);
        entries.Clear();
        using HeldKey held = _session.Hold(_session.Key(key), DataType.Stream);
        if (held.Status != StoreStatus.Ok || first > last) return held.Status;
        var range = new StreamEntries(first, last, most, isBackward);
        var budget = default(Unbounded);
        range.Run(new StreamView(held.Value.View), entries, ref budget);
        return StoreStatus.Ok;
    }

    /// <summary>One field with its value.</summary>
    private readonly ref struct OneItem(ReadOnlySpan<byte> field, ReadOnlySpan<byte> value) : IStreamItems
    {
        private readonly ReadOnlySpan<byte> _field = field, _value = value;

        public int Fields => 1;

        public ReadOnlySpan<byte> Field(int index) => _field;

        public ReadOnlySpan<byte> Value(int index) => _value;
    }

    private readonly struct BufferItems(FieldBuffer fields) : IStreamItems
    {
        public int Fields => fields.Count;

        public ReadOnlySpan<byte> Field(int index) => fields.Field(index);

        public ReadOnlySpan<byte> Value(int index) => fields.Value(index);
    }

    private struct ReadEnds : IValueRead
    {
        public long Length;
        public StreamId LastId;

        public void Read(in ValueView value)
        {
            var stream = new StreamView(value);
            Length = stream.Length;
            LastId = stream.LastId;
        }
    }
}

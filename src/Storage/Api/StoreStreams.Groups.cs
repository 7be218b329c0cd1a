namespace Kv.Storage;

// Groups: their consumers share the entries of a stream. What was delivered is pending with a consumer until it is acknowledged.
public readonly partial struct StoreStreams
{
    /// <summary>Adds a group. A key that is missing becomes a stream without entries.</summary>
    /// <param name="key">The key.</param>
    /// <param name="group">Its name: any bytes.</param>
    /// <param name="behind">It gets the entries behind this id: <see cref="StreamId.Zero"/>: all, <see cref="StreamId.Max"/>: those that come from now on.</param>
    /// <param name="isNew">False: there is such a group, which stays as it is.</param>
    /// <returns>Ok, WrongType, OutOfMemory or TooLarge.</returns>
    public StoreStatus CreateGroup(ReadOnlySpan<byte> key, ReadOnlySpan<byte> group, StreamId behind, out bool isNew)
    {
        isNew = false;
        using HeldKey held = _session.Hold(_session.Key(key), DataType.Stream, StreamValue.ExpectedBytes);
        if (held.Status != StoreStatus.Ok) return held.Status;
        if (KeyOperations.IsTooLarge(group.Length)) return StoreStatus.TooLarge;
        var stream = new StreamValue(held.Value);
        if (stream.Exists && stream.View.FindGroup(group).Exists) return StoreStatus.Ok;
        if (behind == StreamId.Max) behind = stream.Exists ? stream.View.LastId : StreamId.Zero;
        isNew = stream.TryAddGroup(group, behind, StreamGroup.NotKnown);
        return isNew ? StoreStatus.Ok : StoreStatus.OutOfMemory;
    }

    /// <summary>Removes a group with its consumers and what is pending.</summary>
    /// <returns>Ok, NotFound (no such key or group) or WrongType.</returns>
    public StoreStatus RemoveGroup(ReadOnlySpan<byte> key, ReadOnlySpan<byte> group)
    {
        using HeldKey held = _session.Hold(_session.Key(key), DataType.Stream);
        if (held.Status != StoreStatus.Ok) return held.Status;
        return new StreamValue(held.Value).Groups.Remove(group) ? StoreStatus.Ok : StoreStatus.NotFound;
    }

    /// <summary>Delivers entries that no consumer of a group has got to one: they are pending with it then.</summary>
    /// <param name="key">The key.</param>
    /// <param name="group">The name of the group.</param>
    /// <param name="consumer">The name of the consumer, which is added where it is missing.</param>
    /// <param name="entries">Emptied first; stays empty where there are no more, or the status is not Ok.</param>
    /// <param name="most">At most so many.</param>
    /// <returns>Ok, NotFound (no such key or group), WrongType, OutOfMemory or TooLarge.</returns>
    /// <remarks>Cost: O(entries delivered).</remarks>
    public StoreStatus ReadGroup(ReadOnlySpan<byte> key, ReadOnlySpan<byte> group, ReadOnlySpan<byte> consumer, EntryBuffer entries, int most = int.MaxValue)
    {
        ArgumentOutOfRangeException.ThrowIfNegative(most);
        entries.Clear();
        using HeldKey held = HoldGroup(key, group, out uint record);
        if (record == 0) return held.Status == StoreStatus.Ok ? StoreStatus.NotFound : held.Status;
        if (KeyOperations.IsTooLarge(consumer.Length)) return StoreStatus.TooLarge;
        // Copied first: nothing has changed when the buffer takes no more.
        var stream = new StreamValue(held.Value);
        if (stream.Groups[record].LastId.TryNext(out StreamId first))
        {
            var walk = stream.View.Between(first, StreamId.Max);
            while (entries.Count < most && walk.Next(out StreamEntry entry)) entries.Add(entry);
        }

        if (TryDeliver(stream.Groups, record, consumer, entries)) return StoreStatus.Ok;
        entries.Clear();
        return StoreStatus.OutOfMemory;
    }

    /// <summary>Copies entries that are pending with a consumer once more; each counts as delivered again.</summary>
    /// <param name="key">The key.</param>
    /// <param name="group">The name of the group.</param>
    /// <param name="consumer">The name of the consumer; with one that is missing nothing is pending.</param>
    /// <param name="behind">Those behind this id.</param>
    /// <param name="entries">Emptied first. An entry that was removed meanwhile has no fields.</param>
    /// <param name="most">At most so many.</param>
    /// <returns>Ok, NotFound (no such key or group) or WrongType.</returns>
    /// <remarks>Cost: O(entries copied × log of the pending ones).</remarks>
    public StoreStatus ReadPending(
        ReadOnlySpan<byte> key, ReadOnlySpan<byte> group, ReadOnlySpan<byte> consumer, StreamId behind, EntryBuffer entries, int most = int.MaxValue)
    {
        ArgumentOutOfRangeException.ThrowIfNegative(most);
        entries.Clear();
        using HeldKey held = HoldGroup(key, group, out uint record);
        if (record == 0) return held.Status == StoreStatus.Ok ? StoreStatus.NotFound : held.Status;
        var stream = new StreamValue(held.Value);
        var groups = stream.Groups;
        StreamConsumer reader = groups[record].Find(consumer);
        if (!reader.Exists || !behind.TryNext(out StreamId first)) return StoreStatus.Ok;
        IdTree pending = reader.Pending;
        for (IdCursor at = pending.From(first); !at.IsEnd && entries.Count < most; pending.MoveNext(ref at))
        {
            if (stream.View.TryGet(pending.IdAt(at), out StreamEntry entry)) entries.Add(entry);
            else entries.Add(pending.IdAt(at));
        }

        groups.Touch(reader.Record, _session.NowMs);
        for (int i = 0; i < entries.Count; i++)
            if (entries.FieldCount(i) != 0) groups.DeliverAgain(record, entries.Id(i), _session.NowMs);
        return StoreStatus.Ok;
    }

    /// <summary>Ends that an entry is pending, whichever consumer has it.</summary>
    /// <returns>Ok, NotFound (no such key or group, or the entry is not pending) or WrongType.</returns>
    /// <remarks>Cost: O(log of the pending entries).</remarks>
    public StoreStatus Acknowledge(ReadOnlySpan<byte> key, ReadOnlySpan<byte> group, StreamId id)
    {
        using HeldKey held = HoldGroup(key, group, out uint record);
        if (held.Status != StoreStatus.Ok) return held.Status;
        return record != 0 && new StreamValue(held.Value).Groups.Acknowledge(record, id) ? StoreStatus.Ok : StoreStatus.NotFound;
    }

    /// <summary>Holds a key for its group.</summary>
    /// <param name="record">0: there is no such key or group, or it is of another type.</param>
    private HeldKey HoldGroup(ReadOnlySpan<byte> key, ReadOnlySpan<byte> group, out uint record)
    {
        HeldKey held = _session.Hold(_session.Key(key), DataType.Stream);
        record = held.Status == StoreStatus.Ok ? new StreamView(held.Value.View).FindGroup(group).Record : 0;
        return held;
    }

    /// <summary>Makes entries pending with a consumer, which is added where it is missing.</summary>
    /// <returns>False when there is no memory: nothing was changed.</returns>
    private bool TryDeliver(StreamGroups groups, uint group, ReadOnlySpan<byte> consumer, EntryBuffer entries)
    {
        long nowMs = _session.NowMs;
        uint reader = groups[group].Find(consumer).Record;
        bool isNew = reader == 0;
        if (isNew) reader = groups.TryAddConsumer(group, consumer, nowMs);
        if (reader == 0) return false;
        if (entries.Count != 0 && !groups.TryReserve(group, reader, entries.Id(0), entries.Count))
        {
            if (isNew) groups.RemoveConsumer(group, consumer);
            return false;
        }

        groups.Touch(reader, nowMs);
        for (int i = 0; i < entries.Count; i++) groups.Deliver(group, reader, entries.Id(i), nowMs);
        return true;
    }
}

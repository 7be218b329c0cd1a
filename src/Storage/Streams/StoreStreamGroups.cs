namespace Kv.Storage;

/// <summary>Groups of the streams of a session's database: their consumers share the entries. <see cref="StoreTypes"/>
/// says what holds for all operations.</summary>
/// <remarks>
/// What was delivered is pending with a consumer until it is acknowledged, or another one claims it. The group
/// remembers when it was delivered, and how often.
/// </remarks>
public readonly struct StoreStreamGroups
{
    private readonly StoreSession _session;

    internal StoreStreamGroups(StoreSession session) => _session = session;

    /// <summary>Adds a group. A key that is missing becomes a stream without entries.</summary>
    /// <param name="key">The key.</param>
    /// <param name="group">Its name: any bytes.</param>
    /// <param name="after">It gets the entries after this id: <see cref="StreamId.Zero"/>: all, <see
    /// cref="StreamId.Max"/>: those that come from now on.</param>
    /// <param name="isNew">False: there is such a group, which stays as it is.</param>
    /// <returns>Ok, WrongType, OutOfMemory or TooLarge.</returns>
    public StoreStatus Create(ReadOnlySpan<byte> key, ReadOnlySpan<byte> group, StreamId after, out bool isNew)
    {
        isNew = false;
        using HeldKey held = _session.Hold(_session.Key(key), DataType.Stream, StreamValue.ExpectedBytes);
        if (held.Status != StoreStatus.Ok) return held.Status;
        if (KeyOperations.IsTooLarge(group.Length)) return StoreStatus.TooLarge;
        var stream = new StreamValue(held.Value);
        if (stream.Exists && stream.View.FindGroup(group).Exists) return StoreStatus.Ok;
        if (after == StreamId.Max) after = stream.Exists ? stream.View.LastId : StreamId.Zero;
        isNew = stream.TryAddGroup(group, after, StreamGroup.NotKnown);
        return isNew ? StoreStatus.Ok : StoreStatus.OutOfMemory;
    }

    /// <summary>Removes a group with its consumers and what is pending.</summary>
    /// <returns>Ok, NotFound (no such key or group) or WrongType.</returns>
    public StoreStatus Remove(ReadOnlySpan<byte> key, ReadOnlySpan<byte> group)
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
    /// <param name="most">How many at most.</param>
    /// <returns>Ok, NotFound (no such key or group), WrongType, OutOfMemory or TooLarge.</returns>
    /// <remarks>Cost: O(entries delivered).</remarks>
    public StoreStatus Read(ReadOnlySpan<byte> key, ReadOnlySpan<byte> group, ReadOnlySpan<byte> consumer,
        EntryBuffer entries, int most = int.MaxValue)
    {
        ArgumentOutOfRangeException.ThrowIfNegative(most);
        entries.Clear();
        using HeldKey held = HoldGroup(key, group, out uint record);
        if (record == 0) return held.Status == StoreStatus.Ok ? StoreStatus.NotFound : held.Status;
        // Copied first: nothing has changed when the buffer takes no more.
        var stream = new StreamValue(held.Value);
        if (stream.Groups[record].LastId.TryNext(out StreamId first))
        {
            var walk = stream.View.Between(first, StreamId.Max);
            while (entries.Count < most && walk.Next(out StreamEntry entry)) entries.Add(entry);
        }

        var status = Deliver(stream.Groups, record, consumer, entries);
        if (status != StoreStatus.Ok) entries.Clear();
        return status;
    }

    /// <summary>Copies entries that are pending with a consumer once more; each counts as delivered again.</summary>
    /// <param name="key">The key.</param>
    /// <param name="group">The name of the group.</param>
    /// <param name="consumer">The name of the consumer; with one that is missing nothing is pending.</param>
    /// <param name="after">Entries after this id.</param>
    /// <param name="entries">Emptied first. An entry that was removed meanwhile has no fields.</param>
    /// <param name="most">How many at most.</param>
    /// <returns>Ok, NotFound (no such key or group) or WrongType.</returns>
    /// <remarks>Cost: O(entries copied × log of the pending ones).</remarks>
    public StoreStatus ReadPending(
        ReadOnlySpan<byte> key, ReadOnlySpan<byte> group, ReadOnlySpan<byte> consumer, StreamId after,
        EntryBuffer entries, int most = int.MaxValue)
    {
        ArgumentOutOfRangeException.ThrowIfNegative(most);
        entries.Clear();
        using HeldKey held = HoldGroup(key, group, out uint record);
        if (record == 0) return held.Status == StoreStatus.Ok ? StoreStatus.NotFound : held.Status;
        var stream = new StreamValue(held.Value);
        var groups = stream.Groups;
        StreamConsumer reader = groups[record].Find(consumer);
        if (!reader.Exists || !after.TryNext(out StreamId first)) return StoreStatus.Ok;
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
        return record != 0 && new StreamValue(held.Value).Groups.Acknowledge(record, id)
            ? StoreStatus.Ok : StoreStatus.NotFound;
    }

    /// <summary>Makes entries that are pending a consumer's, whoever has them: each counts as delivered to
    /// it.</summary>
    /// <param name="key">The key.</param>
    /// <param name="group">The name of the group.</param>
    /// <param name="consumer">The name of the consumer, which is added where it is missing.</param>
    /// <param name="ids">In any order. What is not pending is passed over; an id that comes twice is delivered
    /// twice.</param>
    /// <param name="idleMs">Only entries whose last delivery is at least this long ago.</param>
    /// <param name="entries">Emptied first; gets what was claimed, in the order of <paramref name="ids"/>. An entry
    /// that was removed from the stream meanwhile has no fields: it is pending no more, whenever it was delivered.
    /// Where memory ends in the middle it has what was claimed so far.</param>
    /// <param name="options">What is to be said of them.</param>
    /// <returns>Ok, NotFound (no such key or group), WrongType, OutOfMemory or TooLarge.</returns>
    /// <remarks>Cost: O(ids × log of the pending entries).</remarks>
    public StoreStatus Claim(
        ReadOnlySpan<byte> key, ReadOnlySpan<byte> group, ReadOnlySpan<byte> consumer, ReadOnlySpan<StreamId> ids,
        long idleMs, EntryBuffer entries, ClaimOptions options = default)
    {
        StreamClaimTerms terms = TermsOf(idleMs, options);
        entries.Clear();
        using HeldKey held = HoldReader(key, group, consumer, out Reader reader);
        var status = reader.Status;
        if (status != StoreStatus.Ok) return status;
        var stream = new StreamValue(held.Value);
        foreach (StreamId id in ids)
            if (!TryClaim(stream, in reader, id, in terms, entries))
                return EndWithoutMemory(stream.Groups, in reader, consumer, entries);
        return StoreStatus.Ok;
    }

    /// <summary>Makes entries that have been pending for long a consumer's, from an id on, whoever has them: each
    /// counts as delivered to it.</summary>
    /// <param name="key">The key.</param>
    /// <param name="group">The name of the group.</param>
    /// <param name="consumer">The name of the consumer, which is added where it is missing.</param>
    /// <param name="next">In: the least id, <see cref="StreamId.Zero"/> to begin with. Out: where to go on;
    /// <see cref="StreamId.Zero"/>: that were all.</param>
    /// <param name="idleMs">Only entries whose last delivery is at least this long ago.</param>
    /// <param name="entries">As with <see cref="Claim"/>. It may stay empty though there is more: ten times as many as
    /// are wanted are looked at.</param>
    /// <param name="most">How many at most.</param>
    /// <param name="options">What is to be said of them.</param>
    /// <returns>Ok, NotFound (no such key or group), WrongType, OutOfMemory or TooLarge.</returns>
    /// <remarks>Cost: O(entries looked at × log of the pending ones).</remarks>
    public StoreStatus ClaimIdle(
        ReadOnlySpan<byte> key, ReadOnlySpan<byte> group, ReadOnlySpan<byte> consumer, ref StreamId next, long idleMs,
        EntryBuffer entries, int most = 100, ClaimOptions options = default)
    {
        ArgumentOutOfRangeException.ThrowIfNegativeOrZero(most);
        StreamClaimTerms terms = TermsOf(idleMs, options);
        entries.Clear();
        using HeldKey held = HoldReader(key, group, consumer, out Reader reader);
        var status = reader.Status;
        if (status != StoreStatus.Ok) return status;
        var stream = new StreamValue(held.Value);
        StreamId at = stream.Groups.PendingFrom(reader.Group, next);
        // Ends: each round goes on to a greater id.
        for (long looks = (long)most * StreamClaimTerms.LooksEach;
            looks > 0 && entries.Count < most && !at.IsZero; looks--)
        {
            if (!TryClaim(stream, in reader, at, in terms, entries))
            {
                status = EndWithoutMemory(stream.Groups, in reader, consumer, entries);
                break;
            }

            at = stream.Groups.PendingAfter(reader.Group, at);
        }

        if (status == StoreStatus.Ok) next = at;
        return status;
    }

    private StreamClaimTerms TermsOf(long idleMs, in ClaimOptions options)
    {
        ArgumentOutOfRangeException.ThrowIfNegative(idleMs);
        ArgumentOutOfRangeException.ThrowIfNegative(options.DeliveredMs ?? 0, nameof(options));
        ArgumentOutOfRangeException.ThrowIfNegative(options.Deliveries ?? 0, nameof(options));
        return new StreamClaimTerms
        {
            IdleMs = idleMs, DeliveredMs = Math.Min(options.DeliveredMs ?? _session.NowMs, _session.NowMs),
                Deliveries = options.Deliveries ?? -1, IsDelivery = true,
            IsForced = options.AlsoNotPending,
        };
    }

    /// <summary>Claims an entry, if the terms are met, and copies it.</summary>
    /// <returns>False when there is no memory: nothing was changed.</returns>
    private bool TryClaim(StreamValue stream, in Reader reader, StreamId id, in StreamClaimTerms terms,
        EntryBuffer entries)
    {
        if (!stream.Groups.TryClaim(reader.Group, reader.Consumer, id, in terms, _session.NowMs, out var outcome))
            return false;
        if (outcome == StreamClaimOutcome.Gone) entries.Add(id);
        if (outcome == StreamClaimOutcome.Claimed && stream.View.TryGet(id, out StreamEntry entry)) entries.Add(entry);
        return true;
    }

    /// <summary>What is answered where memory ends: an error, if nothing was claimed.</summary>
    private static StoreStatus EndWithoutMemory(StreamGroups groups, in Reader reader, ReadOnlySpan<byte> consumer,
        EntryBuffer entries)
    {
        if (entries.Count != 0) return StoreStatus.Ok;
        if (reader.IsNew) groups.RemoveConsumer(reader.Group, consumer);
        return StoreStatus.OutOfMemory;
    }

    /// <summary>A consumer that was found or added.</summary>
    private struct Reader
    {
        /// <summary>What they are called in the region.</summary>
        public uint Group, Consumer;

        /// <summary>Whether it was added.</summary>
        public bool IsNew;

        /// <summary>Ok; else why there is none, and nothing was changed.</summary>
        public StoreStatus Status;
    }

    /// <summary>Holds a key, and finds or adds a consumer of a group of it.</summary>
    private HeldKey HoldReader(ReadOnlySpan<byte> key, ReadOnlySpan<byte> group, ReadOnlySpan<byte> consumer,
        out Reader reader)
    {
        HeldKey held = HoldGroup(key, group, out uint record);
        reader = default;
        if (record != 0) FindReader(new StreamValue(held.Value).Groups, record, consumer, out reader);
        else reader.Status = held.Status == StoreStatus.Ok ? StoreStatus.NotFound : held.Status;
        return held;
    }

    /// <summary>Finds a consumer, or adds it; notes that it asked.</summary>
    private void FindReader(StreamGroups groups, uint group, ReadOnlySpan<byte> consumer, out Reader reader)
    {
        reader = new Reader { Group = group, Status = StoreStatus.TooLarge };
        if (KeyOperations.IsTooLarge(consumer.Length)) return;
        reader.IsNew = !groups[group].Find(consumer).Exists;
        reader.Consumer = groups.TryTouchConsumer(group, consumer, _session.NowMs);
        reader.Status = reader.Consumer == 0 ? StoreStatus.OutOfMemory : StoreStatus.Ok;
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
    /// <returns>Ok; OutOfMemory, TooLarge: nothing was changed.</returns>
    private StoreStatus Deliver(StreamGroups groups, uint group, ReadOnlySpan<byte> consumer, EntryBuffer entries)
    {
        FindReader(groups, group, consumer, out Reader reader);
        if (reader.Status != StoreStatus.Ok) return reader.Status;
        if (entries.Count != 0 && !groups.TryReserve(group, reader.Consumer, entries.Id(0), entries.Count))
        {
            if (reader.IsNew) groups.RemoveConsumer(group, consumer);
            return StoreStatus.OutOfMemory;
        }

        for (int i = 0; i < entries.Count; i++) groups.Deliver(group, reader.Consumer, entries.Id(i), _session.NowMs);
        return StoreStatus.Ok;
    }
}

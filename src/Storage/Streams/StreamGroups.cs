using System.Diagnostics;

namespace Kv.Storage;

/// <summary>Changes the groups of the stream of a held key: what they have read, their consumers, what is
/// pending.</summary>
/// <remarks>
/// Groups and consumers are handed over by name, or by what they are called in the region: a view of one is void after
/// a reservation. None of this is a change to those who watch the key, as with Redis: they watch entries.
/// </remarks>
internal readonly unsafe ref struct StreamGroups(HeldValue value)
{
    private readonly HeldValue _value = value;

    private LargeStream Stream => new(_value.Region);

    /// <summary>A group by what it is called in the region.</summary>
    public StreamGroup this[uint record] => new(_value.Region, record);

    /// <summary>A consumer by what it is called in the region.</summary>
    public StreamConsumer Consumer(uint record) => new(_value.Region, record);

    /// <summary>Adds a group that is not there.</summary>
    /// <returns>0: there is no memory, nothing was changed.</returns>
    public uint TryAdd(ReadOnlySpan<byte> name, StreamId lastId, long entriesRead)
    {
        if (!_value.TryReserve(Stream.Groups.ReserveBytes(name.Length), isWatched: false)) return 0;
        NameTable groups = Stream.Groups;
        groups.Find(name, out int place);
        uint record = groups.Insert(place, name);
        StreamGroup group = this[record];
        group.LastId = lastId;
        group.EntriesRead = entriesRead;
        _value.Tell(KeyNote.Changed);
        return record;
    }

    /// <summary>Removes a group and all that it has; those who wait as its consumers are to learn of it. Needs no
    /// memory.</summary>
    /// <returns>Whether it was there.</returns>
    public bool Remove(ReadOnlySpan<byte> name)
    {
        NameTable groups = Stream.Groups;
        uint record = groups.Find(name, out int place);
        if (record == 0) return false;
        _value.BeginChange(ChangeCause.None);
        StreamGroup group = this[record];       // what is pending may have been cleared before
        for (int i = 0; i < group.Consumers.Count; i++) group.ConsumerAt(i).Pending.Clear();
        group.Consumers.Clear();
        group.Pending.Clear();
        groups.RemoveAt(place);
        _value.NoteIfSparse();
        _value.NoteArrival();
        _value.Tell(KeyNote.Changed);
        return true;
    }

    /// <summary>Says up to where a group has read.</summary>
    public void SetRead(uint group, StreamId lastId, long entriesRead)
    {
        _value.BeginChange(ChangeCause.None);
        this[group].LastId = lastId;
        this[group].EntriesRead = entriesRead;
        _value.Tell(KeyNote.Changed);
    }

    /// <summary>Adds a consumer that is not there.</summary>
    /// <returns>0: there is no memory, nothing was changed.</returns>
    public uint TryAddConsumer(uint group, ReadOnlySpan<byte> name, long nowMs)
    {
        if (!_value.TryReserve(this[group].Consumers.ReserveBytes(name.Length), isWatched: false)) return 0;
        NameTable consumers = this[group].Consumers;
        consumers.Find(name, out int place);
        uint record = consumers.Insert(place, name);
        StreamConsumer consumer = Consumer(record);
        consumer.SeenMs = nowMs;
        consumer.ActiveMs = StreamConsumer.Never;
        _value.Tell(KeyNote.Changed);
        return record;
    }

    /// <summary>Removes a consumer with what is pending there. Needs no memory.</summary>
    /// <returns>How many entries were pending; -1: there is no such consumer.</returns>
    public long RemoveConsumer(uint group, ReadOnlySpan<byte> name)
    {
        NameTable consumers = this[group].Consumers;
        uint record = consumers.Find(name, out int place);
        if (record == 0) return -1;
        _value.BeginChange(ChangeCause.None);
        IdTree held = Consumer(record).Pending, pending = this[group].Pending;
        long count = held.Count;
        for (IdCursor at = held.From(StreamId.Zero); !at.IsEnd; held.MoveNext(ref at)) End(pending, held.IdAt(at));
        held.Clear();
        consumers.RemoveAt(place);
        _value.NoteIfSparse();
        _value.Tell(KeyNote.Changed);
        return count;
    }

    /// <summary>Ends what is pending with a consumer that is about to be removed, some of it at a time.</summary>
    /// <param name="at">The default one at first, then where to go on.</param>
    /// <param name="most">How many at most.</param>
    /// <returns>True when nothing is left.</returns>
    public bool EndPending(uint group, uint consumer, ref IdCursor at, int most)
    {
        Debug.Assert(most > 0, "each call ends something");
        _value.BeginChange(ChangeCause.None);
        IdTree held = Consumer(consumer).Pending, pending = this[group].Pending;
        if (at == default) at = held.From(StreamId.Zero);
        for (; !at.IsEnd && most > 0; held.MoveNext(ref at), most--) End(pending, held.IdAt(at));
        return at.IsEnd;
    }

    /// <summary>Notes that a consumer asked for something.</summary>
    public void Touch(uint consumer, long nowMs)
    {
        _value.BeginChange(ChangeCause.None);
        Consumer(consumer).SeenMs = nowMs;
    }

    /// <summary>Finds a consumer, or adds it, and notes that it asked for something.</summary>
    /// <inheritdoc cref="TryAddConsumer" path="/returns"/>
    public uint TryTouchConsumer(uint group, ReadOnlySpan<byte> name, long nowMs)
    {
        uint record = this[group].Find(name).Record;
        if (record == 0)
        {
            record = TryAddConsumer(group, name, nowMs);
            if (record != 0)
                _value.Tell(new KeyDetail(KeyDetailKind.ConsumerAdded) { Group = this[group].Name, Consumer = name });
            return record;
        }

        Touch(record, nowMs);
        return record;
    }

    /// <summary>Makes room for entries becoming pending: all that can fail of <see cref="Assign"/>.</summary>
    /// <param name="first">The least of their ids.</param>
    /// <param name="count">How many; they are handed over in order.</param>
    public bool TryReserve(uint group, uint consumer, StreamId first, long count)
    {
        Debug.Assert(count > 0, "room is made for entries");
        IdTree pending = this[group].Pending, held = Consumer(consumer).Pending;
        long bytes = pending.ReserveBytes(count, pending.IsEmpty || pending.LastId < first)
            + held.ReserveBytes(count, held.IsEmpty || held.LastId < first);
        return _value.TryReserve(bytes, isWatched: false);
    }

    /// <summary>Makes an entry pending with a consumer, whether it was pending before or not. Room was
    /// reserved.</summary>
    /// <returns>What is kept of it, for the caller to fill but for the consumer: zeros if it was not pending.</returns>
    public PendingEntry* Assign(uint group, uint consumer, StreamId id)
    {
        IdTree pending = this[group].Pending, held = Consumer(consumer).Pending;
        var entry = pending.IsEmpty || pending.LastId < id ? null : (PendingEntry*)pending.Find(id);
        if (entry == null)
        {
            entry = (PendingEntry*)pending.Insert(id);
            *entry = new PendingEntry { Consumer = consumer };
            held.Insert(id);
        }
        else if (entry->Consumer != consumer)
        {
            End(Consumer(entry->Consumer).Pending, id);
            held.Insert(id);
            entry->Consumer = consumer;
        }

        return entry;
    }

    /// <summary>What is kept of a pending entry, to be changed.</summary>
    /// <returns>Null: it is not pending.</returns>
    public PendingEntry* Find(uint group, StreamId id) => (PendingEntry*)this[group].Pending.Find(id);

    /// <summary>Ends what is pending of an entry. Needs no memory.</summary>
    /// <returns>Whether it was pending.</returns>
    public bool Acknowledge(uint group, StreamId id)
    {
        IdTree pending = this[group].Pending;
        var entry = (PendingEntry*)pending.Find(id);
        if (entry == null) return false;
        _value.BeginChange(ChangeCause.None);
        End(Consumer(entry->Consumer).Pending, id);
        End(pending, id);
        _value.NoteIfSparse();
        return true;
    }

    /// <summary>Delivers an entry that the group has not read to a consumer. Room was reserved.</summary>
    public void Deliver(uint group, uint consumer, StreamId id, long nowMs)
    {
        Debug.Assert(id > this[group].LastId, "the group has not read the entry");
        Advance(group, id);
        PendingEntry* pending = Assign(group, consumer, id);
        pending->DeliveredMs = nowMs;
        pending->Deliveries = 1;
        Consumer(consumer).ActiveMs = nowMs;
    }

    /// <summary>Notes that a pending entry was delivered once more to whoever has it.</summary>
    public void DeliverAgain(uint group, StreamId id, long nowMs)
    {
        PendingEntry* pending = Find(group, id);
        Debug.Assert(pending != null, "only what is pending is delivered again");
        pending->DeliveredMs = nowMs;
        pending->Deliveries++;
    }

    /// <summary>Makes an entry a consumer's, if a claim's terms are met; ends that it is pending where it was
    /// deleted.</summary>
    /// <param name="outcome">What became of it; where there is no memory: passed.</param>
    /// <returns>False when there is no memory: nothing was changed.</returns>
    public bool TryClaim(uint group, uint consumer, StreamId id, in StreamClaimTerms terms, long nowMs,
        out StreamClaimOutcome outcome)
    {
        outcome = StreamClaimOutcome.Passed;
        PendingEntry* pending = Find(group, id);
        if (!new StreamView(_value.View).TryGet(id, out _))
        {
            if (pending == null || !Acknowledge(group, id)) return true;
            outcome = StreamClaimOutcome.Gone;
            _value.Tell(new KeyDetail(KeyDetailKind.Gone) { Group = this[group].Name, Id = id });
            return true;
        }

        bool isNew = pending == null;
        if (isNew ? !terms.IsForced : terms.IdleMs != 0 && nowMs - pending->DeliveredMs < terms.IdleMs) return true;
        if ((isNew || pending->Consumer != consumer) && !TryReserve(group, consumer, id, 1)) return false;
        pending = Assign(group, consumer, id);
        if (isNew) pending->Deliveries = 1;
        pending->DeliveredMs = terms.DeliveredMs;
        if (terms.Deliveries >= 0) pending->Deliveries = terms.Deliveries;
        else if (terms.IsDelivery) pending->Deliveries++;
        Consumer(consumer).ActiveMs = nowMs;
        outcome = StreamClaimOutcome.Claimed;
        TellClaimed(group, consumer, id);
        return true;
    }

    /// <summary>Tells those who listen with whom an entry is pending.</summary>
    public void TellClaimed(uint group, uint consumer, StreamId id)
    {
        if (!_value.IsHeard) return;
        PendingEntry* pending = Find(group, id);
        Debug.Assert(pending != null && pending->Consumer == consumer, "the entry is pending with the consumer");
        _value.Tell(new KeyDetail(KeyDetailKind.Claimed)
        {
            Group = this[group].Name, Consumer = Consumer(consumer).Name, Id = id, LastId = this[group].LastId,
            DeliveredMs = pending->DeliveredMs, Count = pending->Deliveries,
        });
    }

    /// <summary>Tells those who listen up to where a group has read.</summary>
    public void TellRead(uint group) => _value.Tell(new KeyDetail(KeyDetailKind.Read)
    {
        Group = this[group].Name, LastId = this[group].LastId, Count = this[group].EntriesRead,
    });

    /// <summary>Takes an id out of what is pending in a group, or with a consumer: it is there.</summary>
    private static void End(IdTree pending, StreamId id)
    {
        bool wasPending = pending.Remove(id);
        Debug.Assert(wasPending, "what is pending with a consumer is pending in its group");
    }

    /// <summary>The first entry pending in a group from an id on; 0-0: there is none.</summary>
    public StreamId PendingFrom(uint group, StreamId first)
    {
        IdTree pending = this[group].Pending;
        IdCursor at = pending.From(first);
        return at.IsEnd ? StreamId.Zero : pending.IdAt(at);
    }

    /// <summary>The first entry pending in a group after an id; 0-0: there is none.</summary>
    public StreamId PendingAfter(uint group, StreamId id) =>
        id.TryNext(out StreamId first) ? PendingFrom(group, first) : StreamId.Zero;

    /// <summary>Notes that a group has read an entry, if it has not before.</summary>
    public void Advance(uint group, StreamId id)
    {
        StreamGroup read = this[group];
        if (id <= read.LastId) return;
        var view = new StreamView(_value.View);
        read.EntriesRead = read.EntriesRead != StreamGroup.NotKnown && !view.HasGapFrom(id)
            ? read.EntriesRead + 1 : view.Added != 0 ? view.CountUpTo(id) : read.EntriesRead;
        read.LastId = id;
    }
}

using System.Buffers.Binary;

namespace Kv.Storage;

/// <summary>Reads streams (drawn above <see cref="RdbStreamWriter"/>), all three types of them, out of bytes that nobody vouches for.</summary>
/// <remarks>Entries that were deleted are left out: only how many there ever were is kept of them. Whoever makes one disposes it.</remarks>
internal ref struct RdbStreamReader(Store store, RdbType type) : IDisposable
{
    private readonly MemoryBudget _budget = store.Budget;
    private readonly StreamNodeLimits _limits = new(store.PackedLimits.StreamNodeBytes, store.PackedLimits.StreamNodeEntries);
    private TextList _fields, _texts;
    private RdbScratch _id, _node, _digits;
    private Region _region;

    /// <summary>Reads one.</summary>
    /// <param name="region">What became of it; the caller's, unless it is none.</param>
    public RdbStatus Read(scoped ref RdbInput input, out Region region)
    {
        var status = ReadAll(ref input);
        if (status != RdbStatus.Ok && !_region.IsNone)
        {
            _region.Free();
            _region = default;
        }

        region = _region;
        return status;
    }

    public void Dispose()
    {
        _fields.Dispose();
        _texts.Dispose();
        _id.Dispose();
        _node.Dispose();
        _digits.Dispose();
    }

    private RdbStatus ReadAll(scoped ref RdbInput input)
    {
        if (!_digits.TryGet(_budget, SetView.DigitsMax, out _)) return RdbStatus.OutOfMemory;
        _region = Region.Create(_budget, 0, isTight: true);
        if (_region.IsNone) return RdbStatus.OutOfMemory;
        if (!input.TryReadLength(out long nodes) || nodes > input.Remaining / 2) return RdbStatus.BadData;
        for (; nodes > 0; nodes--)
        {
            var status = input.ReadString(ref _id, out var first);
            if (status == RdbStatus.Ok && first.Length != StreamId.Bytes) status = RdbStatus.BadData;
            if (status != RdbStatus.Ok) return status;
            StreamId id = IdOf(first);
            status = input.ReadString(ref _node, out var node);
            if (status == RdbStatus.Ok) status = ReadNode(id, node);
            if (status == RdbStatus.Ok && _budget.IsOver) status = RdbStatus.OutOfMemory;
            if (status != RdbStatus.Ok) return status;
        }

        var read = ReadHistory(ref input);
        if (read != RdbStatus.Ok) return read;
        if (!input.TryReadLength(out long groups) || groups > input.Remaining / 6) return RdbStatus.BadData;
        for (; groups > 0 && read == RdbStatus.Ok; groups--) read = ReadGroup(ref input);
        return read;
    }

    private RdbStatus ReadNode(StreamId first, ReadOnlySpan<byte> node)
    {
        var listpack = new ListpackReader(node);
        if (!TryReadInteger(ref listpack, out long live) || !TryReadInteger(ref listpack, out long deleted) || !TryReadInteger(ref listpack, out long count)) return RdbStatus.BadData;
        if (live < 0 || deleted < 0 || live + deleted == 0 || !TryReadTexts(ref listpack, ref _fields, count)) return RdbStatus.BadData;
        if (!TryReadInteger(ref listpack, out long end) || end != 0) return RdbStatus.BadData;
        long ended = 0;
        // Ends: each round takes elements of the bytes.
        for (long left = live + deleted; left > 0; left--)
        {
            int before = listpack.Count;
            if (!TryReadInteger(ref listpack, out long flags) || flags is < 0 or > 3) return RdbStatus.BadData;
            if (!TryReadInteger(ref listpack, out long ms) || !TryReadInteger(ref listpack, out long number)) return RdbStatus.BadData;
            bool isSame = (flags & StreamLeaf.FlagSameFields) != 0;
            long fields = _fields.Count;
            if (!isSame && (!TryReadInteger(ref listpack, out fields) || fields > int.MaxValue / 2)) return RdbStatus.BadData;
            if (!TryReadTexts(ref listpack, ref _texts, isSame ? fields : 2 * fields)) return RdbStatus.BadData;
            int elements = listpack.Count - before;
            if (!TryReadInteger(ref listpack, out long said) || said != elements) return RdbStatus.BadData;
            if ((flags & StreamLeaf.FlagDeleted) != 0)
            {
                ended++;
                continue;
            }

            var status = Append(new StreamId(first.Ms + unchecked((ulong)ms), first.Number + unchecked((ulong)number)), isSame);
            if (status != RdbStatus.Ok) return status;
        }

        return ended == deleted && !listpack.Next(Digits, out _) && listpack.IsWhole ? RdbStatus.Ok : RdbStatus.BadData;
    }

    private RdbStatus Append(StreamId id, bool isSame)
    {
        if (id <= new LargeStream(_region).LastId) return RdbStatus.BadData;
        var items = new Items(isSame ? _fields : _texts, _texts, isSame);
        AppendPlan plan = LargeStream.Plan(_region, id, in items, _limits);
        if (plan.IsTooLarge) return RdbStatus.BadData;
        if (!TryReserve(plan.Reserve)) return RdbStatus.OutOfMemory;
        new LargeStream(_region).Append(in plan, id, in items);
        return RdbStatus.Ok;
    }

    private RdbStatus ReadHistory(scoped ref RdbInput input)
    {
        var stream = new LargeStream(_region);
        if (!input.TryReadLength(out long length) || length != stream.Length || !TryReadId(ref input, out StreamId last)) return RdbStatus.BadData;
        StreamId deleted = StreamId.Zero;
        long added = length;
        if (type != RdbType.Stream && (!TryReadId(ref input, out _) || !TryReadId(ref input, out deleted) || !input.TryReadLength(out added))) return RdbStatus.BadData;
        if (last < stream.LastId || added < length) return RdbStatus.BadData;
        stream.LastId = last;
        stream.Added = added;
        stream.MaxDeletedId = deleted;
        return RdbStatus.Ok;
    }

    private RdbStatus ReadGroup(scoped ref RdbInput input)
    {
        var status = input.ReadString(ref _id, out var name);
        if (status != RdbStatus.Ok) return status;
        if (!TryReadId(ref input, out StreamId last)) return RdbStatus.BadData;
        var stream = new LargeStream(_region);
        // What older ones do not say can be known at the two ends only.
        long read = stream.Added == 0 ? 0 : last == stream.LastId ? stream.Added : StreamGroup.NotKnown;
        if (type != RdbType.Stream)
        {
            if (!input.TryReadUInt64(out ulong said) || (long)said < StreamGroup.NotKnown) return RdbStatus.BadData;
            read = (long)said;
        }

        if (!TryReserve(stream.Groups.ReserveBytes(name.Length))) return RdbStatus.OutOfMemory;
        NameTable groups = new LargeStream(_region).Groups;
        if (groups.Find(name, out int place) != 0) return RdbStatus.BadData;
        uint record = groups.Insert(place, name);
        Group(record).LastId = last;
        Group(record).EntriesRead = read;
        status = ReadPending(ref input, record);
        return status == RdbStatus.Ok ? ReadConsumers(ref input, record) : status;
    }

    private unsafe RdbStatus ReadPending(scoped ref RdbInput input, uint group)
    {
        if (!input.TryReadLength(out long count) || count > input.Remaining / (StreamId.Bytes + 9)) return RdbStatus.BadData;
        for (StreamId last = default; count > 0; count--)
        {
            if (!TryReadRawId(ref input, out StreamId id) || !input.TryReadInt64(out long delivered) || !input.TryReadLength(out long deliveries)) return RdbStatus.BadData;
            if (!Group(group).Pending.IsEmpty && id <= last) return RdbStatus.BadData;
            if (!TryReserve(Group(group).Pending.ReserveBytes(1, isBehind: true))) return RdbStatus.OutOfMemory;
            *(PendingEntry*)Group(group).Pending.Insert(id) = new PendingEntry { DeliveredMs = delivered, Deliveries = deliveries };
            last = id;
        }

        return RdbStatus.Ok;
    }

    private unsafe RdbStatus ReadConsumers(scoped ref RdbInput input, uint group)
    {
        if (!input.TryReadLength(out long count) || count > input.Remaining / 10) return RdbStatus.BadData;
        long owned = 0;
        for (; count > 0; count--)
        {
            var status = input.ReadString(ref _id, out var name);
            if (status != RdbStatus.Ok) return status;
            if (!input.TryReadInt64(out long seen)) return RdbStatus.BadData;
            long active = seen;
            if (type == RdbType.Stream3 && !input.TryReadInt64(out active)) return RdbStatus.BadData;
            if (!TryReserve(Group(group).Consumers.ReserveBytes(name.Length))) return RdbStatus.OutOfMemory;
            NameTable consumers = Group(group).Consumers;
            if (consumers.Find(name, out int place) != 0) return RdbStatus.BadData;
            uint record = consumers.Insert(place, name);
            Consumer(record).SeenMs = seen;
            Consumer(record).ActiveMs = active;
            if (!input.TryReadLength(out long pending) || pending > input.Remaining / StreamId.Bytes) return RdbStatus.BadData;
            for (; pending > 0; pending--, owned++)
            {
                if (!TryReadRawId(ref input, out StreamId id)) return RdbStatus.BadData;
                IdTree held = Consumer(record).Pending;
                if (!TryReserve(held.ReserveBytes(1, held.IsEmpty || held.LastId < id))) return RdbStatus.OutOfMemory;
                // Of each that is pending with the group there is one owner.
                var entry = (PendingEntry*)Group(group).Pending.Find(id);
                if (entry == null || entry->Consumer != 0) return RdbStatus.BadData;
                entry->Consumer = record;
                Consumer(record).Pending.Insert(id);
            }
        }

        return owned == Group(group).Pending.Count ? RdbStatus.Ok : RdbStatus.BadData;
    }

    private Span<byte> Digits => _digits.TryGet(_budget, SetView.DigitsMax, out var memory) ? memory : default;

    private readonly StreamGroup Group(uint record) => new(_region, record);

    private readonly StreamConsumer Consumer(uint record) => new(_region, record);

    private bool TryReserve(long bytes)
    {
        if (!Region.TryReserve(ref _region, _budget, bytes, out Region left)) return false;
        if (!left.IsNone) left.FreeMemory();        // nobody else knows of it
        return true;
    }

    private bool TryReadInteger(scoped ref ListpackReader listpack, out long number)
    {
        number = 0;
        return listpack.Next(Digits, out var text) && IntegerText.TryParse(text, out number);
    }

    private bool TryReadTexts(scoped ref ListpackReader listpack, scoped ref TextList texts, long count)
    {
        texts.Clear();
        for (; count > 0; count--)
            if (!listpack.Next(Digits, out var text) || !texts.TryAdd(text)) return false;
        return count == 0;
    }

    private static bool TryReadId(scoped ref RdbInput input, out StreamId id)
    {
        id = default;
        if (!input.TryReadUInt64(out ulong ms) || !input.TryReadUInt64(out ulong number)) return false;
        id = new StreamId(ms, number);
        return true;
    }

    private static bool TryReadRawId(scoped ref RdbInput input, out StreamId id)
    {
        bool isThere = input.TryReadBytes(StreamId.Bytes, out var bytes);
        id = isThere ? IdOf(bytes) : default;
        return isThere;
    }

    private static StreamId IdOf(ReadOnlySpan<byte> bytes) =>
        new(BinaryPrimitives.ReadUInt64BigEndian(bytes), BinaryPrimitives.ReadUInt64BigEndian(bytes[sizeof(ulong)..]));

    /// <summary>Fields and values of an entry: the fields apart from the values, or each followed by its value.</summary>
    private readonly struct Items(TextList fields, TextList texts, bool isSame) : IStreamItems
    {
        public int Fields => isSame ? texts.Count : texts.Count / 2;

        public ReadOnlySpan<byte> Field(int index) => isSame ? fields[index] : texts[2 * index];

        public ReadOnlySpan<byte> Value(int index) => isSame ? texts[index] : texts[(2 * index) + 1];
    }
}

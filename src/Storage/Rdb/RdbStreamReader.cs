using System.Buffers.Binary;
using System.Diagnostics;

namespace Kv.Storage;

/// <summary>Reads streams (drawn above <see cref="RdbStreamWriter"/>), all three types of them, out of bytes that
/// nobody vouches for; as much at a time as one likes.</summary>
/// <remarks>Entries that were deleted are left out: only how many there ever were is kept of them. Whoever makes one
/// disposes it.</remarks>
/// <param name="isUnbounded">See <see cref="RdbValueReader.IsUnbounded"/>.</param>
internal struct RdbStreamReader(Store store, RdbType type, bool isUnbounded) : IDisposable
{
    /// <summary>What a node costs, at least, and what something pending does: in elements of a list.</summary>
    private const int WorkPerNode = 64, WorkPerPending = 4, BytesPerWork = 64;

    private readonly MemoryBudget _budget = store.Budget;
    private readonly StreamNodeLimits _limits =
        new(store.PackedLimits.StreamNodeBytes, store.PackedLimits.StreamNodeEntries);
    private TextList _fields, _texts;
    private RdbScratch _id, _node, _digits;
    private Region _region;
    private Stage _stage;
    private long _nodes, _groups, _consumers, _pending, _owned;
    private uint _group, _consumer;
    private StreamId _lastPending;

    private enum Stage : byte
    {
        Begin,
        Nodes,
        Group,
        Pending,
        Consumer,
        Held,
        Done,
    }

    /// <summary>Reads one, from where it left off.</summary>
    /// <param name="work">How much may be done, and how much still may be.</param>
    /// <param name="region">What became of it, when it is Ok: the caller's.</param>
    /// <returns>More: call again.</returns>
    public RdbStatus Read(scoped ref RdbInput input, ref long work, out Region region)
    {
        region = default;
        var status = RdbStatus.Ok;
        // Ends: each round ends a stage.
        while (status == RdbStatus.Ok && _stage != Stage.Done)
        {
            status = _stage switch
            {
                Stage.Begin => Begin(ref input),
                Stage.Nodes => ReadNodes(ref input, ref work),
                Stage.Group => ReadGroup(ref input),
                Stage.Pending => ReadPending(ref input, ref work),
                Stage.Consumer => ReadConsumer(ref input),
                _ => ReadHeld(ref input, ref work),
            };
        }

        if (status != RdbStatus.Ok) return status;
        region = _region;
        _region = default;
        return RdbStatus.Ok;
    }

    public void Dispose()
    {
        _fields.Dispose();
        _texts.Dispose();
        _id.Dispose();
        _node.Dispose();
        _digits.Dispose();
        if (!_region.IsNone) _region.Free();
        _region = default;
    }

    private RdbStatus Go(Stage stage)
    {
        _stage = stage;
        return RdbStatus.Ok;
    }

    private RdbStatus Begin(scoped ref RdbInput input)
    {
        if (!_digits.TryGet(_budget, SetView.DigitsMax, out _)) return RdbStatus.OutOfMemory;
        _region = Region.Create(_budget, 0, isTight: true);
        if (_region.IsNone) return RdbStatus.OutOfMemory;
        return input.TryReadLength(out _nodes) && _nodes <= input.Remaining / 2 ? Go(Stage.Nodes) : RdbStatus.BadData;
    }

    private RdbStatus ReadNodes(scoped ref RdbInput input, ref long work)
    {
        for (; _nodes > 0; _nodes--)
        {
            if (work <= 0) return RdbStatus.More;
            var status = input.ReadString(ref _id, out var first);
            if (status == RdbStatus.Ok && first.Length != StreamId.Bytes) status = RdbStatus.BadData;
            if (status != RdbStatus.Ok) return status;
            StreamId id = IdOf(first);
            status = input.ReadString(ref _node, out var node);
            work -= WorkPerNode + (node.Length / BytesPerWork);
            if (status == RdbStatus.Ok) status = ReadNode(id, node);
            if (status == RdbStatus.Ok && !isUnbounded && _budget.IsFarOver) status = RdbStatus.OutOfMemory;
            if (status != RdbStatus.Ok) return status;
        }

        var read = ReadHistory(ref input);
        if (read != RdbStatus.Ok) return read;
        return input.TryReadLength(out _groups) && _groups <= input.Remaining / 6
            ? Go(_groups == 0 ? Stage.Done : Stage.Group) : RdbStatus.BadData;
    }

    private RdbStatus ReadNode(StreamId first, ReadOnlySpan<byte> node)
    {
        var listpack = new ListpackReader(node);
        if (!TryReadInteger(ref listpack, out long live) || !TryReadInteger(ref listpack, out long deleted)
            || !TryReadInteger(ref listpack, out long count)) return RdbStatus.BadData;
        if (live < 0 || deleted < 0 || live + deleted == 0 || !TryReadTexts(ref listpack, ref _fields, count))
            return RdbStatus.BadData;
        if (!TryReadInteger(ref listpack, out long end) || end != 0) return RdbStatus.BadData;
        long ended = 0;
        // Ends: each round takes elements of the bytes.
        for (long left = live + deleted; left > 0; left--)
        {
            int before = listpack.Count;
            if (!TryReadInteger(ref listpack, out long flags) || flags is < 0 or > 3) return RdbStatus.BadData;
            if (!TryReadInteger(ref listpack, out long ms) || !TryReadInteger(ref listpack, out long number))
                return RdbStatus.BadData;
            bool isSame = (flags & StreamLeaf.FlagSameFields) != 0;
            long fields = _fields.Count;
            if (!isSame && (!TryReadInteger(ref listpack, out fields) || fields > int.MaxValue / 2))
                return RdbStatus.BadData;
            if (!TryReadTexts(ref listpack, ref _texts, isSame ? fields : 2 * fields)) return RdbStatus.BadData;
            int elements = listpack.Count - before;
            if (!TryReadInteger(ref listpack, out long said) || said != elements) return RdbStatus.BadData;
            if ((flags & StreamLeaf.FlagDeleted) != 0)
            {
                ended++;
                continue;
            }

            var status =
                Append(new StreamId(first.Ms + unchecked((ulong)ms), first.Number + unchecked((ulong)number)), isSame);
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
        if (!input.TryReadLength(out long length) || length != stream.Length
            || !TryReadId(ref input, out StreamId last)) return RdbStatus.BadData;
        StreamId deleted = StreamId.Zero;
        long added = length;
        if (type != RdbType.Stream && (!TryReadId(ref input, out _) || !TryReadId(ref input, out deleted)
            || !input.TryReadLength(out added))) return RdbStatus.BadData;
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
        _group = groups.Insert(place, name);
        Group(_group).LastId = last;
        Group(_group).EntriesRead = read;
        _owned = 0;
        return input.TryReadLength(out _pending) && _pending <= input.Remaining / (StreamId.Bytes + 9)
            ? Go(Stage.Pending) : RdbStatus.BadData;
    }

    private unsafe RdbStatus ReadPending(scoped ref RdbInput input, ref long work)
    {
        for (; _pending > 0; _pending--, work -= WorkPerPending)
        {
            if (work <= 0) return RdbStatus.More;
            if (!TryReadRawId(ref input, out StreamId id) || !input.TryReadInt64(out long delivered)
                || !input.TryReadLength(out long deliveries)) return RdbStatus.BadData;
            if (!Group(_group).Pending.IsEmpty && id <= _lastPending) return RdbStatus.BadData;
            if (!TryReserve(Group(_group).Pending.ReserveBytes(1, isBehind: true))) return RdbStatus.OutOfMemory;
            *(PendingEntry*)Group(_group).Pending.Insert(id) =
                new PendingEntry { DeliveredMs = delivered, Deliveries = deliveries };
            _lastPending = id;
        }

        return input.TryReadLength(out _consumers) && _consumers <= input.Remaining / 10
            ? Go(Stage.Consumer) : RdbStatus.BadData;
    }

    /// <summary>Reads the head of the next consumer; after the last one the group is whole.</summary>
    private RdbStatus ReadConsumer(scoped ref RdbInput input)
    {
        if (_consumers == 0)
        {
            if (_owned != Group(_group).Pending.Count) return RdbStatus.BadData;
            return Go(--_groups == 0 ? Stage.Done : Stage.Group);
        }

        var status = input.ReadString(ref _id, out var name);
        if (status != RdbStatus.Ok) return status;
        if (!input.TryReadInt64(out long seen)) return RdbStatus.BadData;
        long active = seen;
        if (type == RdbType.Stream3 && !input.TryReadInt64(out active)) return RdbStatus.BadData;
        if (!TryReserve(Group(_group).Consumers.ReserveBytes(name.Length))) return RdbStatus.OutOfMemory;
        NameTable consumers = Group(_group).Consumers;
        if (consumers.Find(name, out int place) != 0) return RdbStatus.BadData;
        _consumer = consumers.Insert(place, name);
        Consumer(_consumer).SeenMs = seen;
        Consumer(_consumer).ActiveMs = active;
        _consumers--;
        return input.TryReadLength(out _pending) && _pending <= input.Remaining / StreamId.Bytes
            ? Go(Stage.Held) : RdbStatus.BadData;
    }

    private unsafe RdbStatus ReadHeld(scoped ref RdbInput input, ref long work)
    {
        for (; _pending > 0; _pending--, _owned++, work -= WorkPerPending)
        {
            if (work <= 0) return RdbStatus.More;
            if (!TryReadRawId(ref input, out StreamId id)) return RdbStatus.BadData;
            IdTree held = Consumer(_consumer).Pending;
            if (!TryReserve(held.ReserveBytes(1, held.IsEmpty || held.LastId < id))) return RdbStatus.OutOfMemory;
            // Of each that is pending with the group there is one owner.
            var entry = (PendingEntry*)Group(_group).Pending.Find(id);
            if (entry == null || entry->Consumer != 0) return RdbStatus.BadData;
            entry->Consumer = _consumer;
            Consumer(_consumer).Pending.Insert(id);
        }

        return Go(Stage.Consumer);
    }

    private Span<byte> Digits => _digits.TryGet(_budget, SetView.DigitsMax, out var memory) ? memory : default;

    private readonly StreamGroup Group(uint record)
    {
        Debug.Assert(record != 0 && _stage >= Stage.Group, "a group is read before what it has");
        return new StreamGroup(_region, record);
    }

    private readonly StreamConsumer Consumer(uint record)
    {
        Debug.Assert(record != 0 && _stage >= Stage.Consumer, "a consumer is read before what is pending with it");
        return new StreamConsumer(_region, record);
    }

    private bool TryReserve(long bytes) => Region.TryReserve(ref _region, _budget, bytes);

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

    /// <summary>Fields and values of an entry: the fields apart from the values, or each followed by its
    /// value.</summary>
    private readonly struct Items(TextList fields, TextList texts, bool isSame) : IStreamItems
    {
        public int Fields => isSame ? texts.Count : texts.Count / 2;

        public ReadOnlySpan<byte> Field(int index) => isSame ? fields[index] : texts[2 * index];

        public ReadOnlySpan<byte> Value(int index) => isSame ? texts[index] : texts[(2 * index) + 1];
    }
}

using System.Diagnostics;

namespace Kv.Storage;

/// <summary>Copies a stream to another region, some at a time: without the pieces that are free, and the nodes that its
/// trees keep for later.</summary>
/// <remarks>Leaves stay what they are, with the entries that were deleted: where they end is what ~ trims by. Groups
/// and consumers get other names in the region.</remarks>
internal unsafe struct StreamCopy
{
    /// <summary>What a leaf costs, at least, and its bytes: in entries that are pending.</summary>
    private const int WorkPerLeaf = 4, BytesPerWork = 512;

    private StreamGroupWalk _walk;
    private uint _leaf, _group, _consumer;
    private Stage _stage;

    private enum Stage : byte
    {
        Begin,
        Leaves,
        Groups,
        Done,
    }

    /// <summary>Whether all of it has been copied.</summary>
    public readonly bool IsDone => _stage == Stage.Done;

    /// <summary>Bytes of pieces that a copy takes, about.</summary>
    public static long BytesFor(LargeStream stream) => stream.Region.UsedBytes - IdTree.SpareBytes(stream.Region);

    /// <summary>Copies, from where it left off.</summary>
    /// <param name="from">Has not changed since the first call.</param>
    /// <param name="to">Empty at first, and nobody else's.</param>
    /// <param name="work">About how much to do, as pending entries.</param>
    /// <returns>False when there is no memory.</returns>
    public bool TryCopy(LargeStream from, ref Region to, MemoryBudget budget, int work)
    {
        Debug.Assert(!IsDone && work > 0, "each call copies something");
        if (_stage == Stage.Begin)
        {
            new LargeStream(to).BeginCopy(from);
            _leaf = from.FirstLeaf;
            _stage = Stage.Leaves;
        }

        for (; _leaf != 0 && work > 0; _leaf = from.LeafAt(_leaf).Next)
        {
            StreamLeaf leaf = from.LeafAt(_leaf);
            work -= WorkPerLeaf + (leaf.Used / BytesPerWork);
            if (!Region.TryReserve(ref to, budget, new LargeStream(to).ReserveBytes(leaf))) return false;
            new LargeStream(to).Append(leaf);
        }

        if (_leaf == 0 && _stage == Stage.Leaves) _stage = Stage.Groups;
        for (; _stage == Stage.Groups && work > 0; work--)
        {
            StreamStop stop = _walk.Next(from);
            if (stop == StreamStop.End) _stage = Stage.Done;
            else if (!TryCopy(stop, from, ref to, budget)) return false;
        }

        return true;
    }

    private bool TryCopy(StreamStop stop, LargeStream from, ref Region to, MemoryBudget budget)
    {
        switch (stop)
        {
            case StreamStop.Group:
                return TryAddGroup(_walk.GroupOf(from), ref to, budget);
            case StreamStop.Pending:
                if (!Region.TryReserve(ref to, budget, Group(to).Pending.ReserveBytes(1, isBehind: true))) return false;
                var copy = (PendingEntry*)Group(to).Pending.Insert(_walk.IdOf(from));
                *copy = *_walk.EntryOf(from);
                copy->Consumer = 0;     // whose it is says the consumer, which has another name here
                return true;
            case StreamStop.Consumer:
                return TryAddConsumer(_walk.ConsumerOf(from), ref to, budget);
            case StreamStop.Held:
                if (!Region.TryReserve(ref to, budget, Consumer(to).Pending.ReserveBytes(1, isBehind: true)))
                    return false;
                StreamId id = _walk.IdOf(from);
                Consumer(to).Pending.Insert(id);
                var pending = (PendingEntry*)Group(to).Pending.Find(id);
                Debug.Assert(pending != null && pending->Consumer == 0, "an entry is pending with one consumer");
                pending->Consumer = _consumer;
                return true;
            default:
                return true;
        }
    }

    private bool TryAddGroup(StreamGroup group, ref Region to, MemoryBudget budget)
    {
        if (!Region.TryReserve(ref to, budget, new LargeStream(to).Groups.ReserveBytes(group.Name.Length)))
            return false;
        NameTable groups = new LargeStream(to).Groups;
        _group = groups.Insert(groups.Count, group.Name);
        Group(to).LastId = group.LastId;
        Group(to).EntriesRead = group.EntriesRead;
        return true;
    }

    private bool TryAddConsumer(StreamConsumer consumer, ref Region to, MemoryBudget budget)
    {
        if (!Region.TryReserve(ref to, budget, Group(to).Consumers.ReserveBytes(consumer.Name.Length))) return false;
        NameTable consumers = Group(to).Consumers;
        _consumer = consumers.Insert(consumers.Count, consumer.Name);
        Consumer(to).SeenMs = consumer.SeenMs;
        Consumer(to).ActiveMs = consumer.ActiveMs;
        return true;
    }

    private readonly StreamGroup Group(Region region)
    {
        Debug.Assert(_group != 0, "a group comes before what it has");
        return new StreamGroup(region, _group);
    }

    private readonly StreamConsumer Consumer(Region region)
    {
        Debug.Assert(_consumer != 0, "a consumer comes before what is pending with it");
        return new StreamConsumer(region, _consumer);
    }
}

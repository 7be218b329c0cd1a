namespace Kv.Storage;

/// <summary>Strings of a session's database that count different elements, to about 1 %, in at most 12 KB.
/// <see cref="StoreTypes"/> says what holds for all operations.</summary>
/// <remarks>The bytes are Redis' own. WrongType is also the status of a string that is none, or a damaged
/// one.</remarks>
public readonly struct StoreHyperLogLogs
{
    /// <summary>Bytes from which on a value is dense: Redis' default.</summary>
    private const int SparseBytesMax = 3000;

    private readonly StoreSession _session;

    internal StoreHyperLogLogs(StoreSession session) => _session = session;

    /// <summary>Adds an element.</summary>
    /// <param name="key">The key.</param>
    /// <param name="element">Any bytes.</param>
    /// <param name="hasChanged">Whether the value is another now; of most elements it is not, once there are
    /// many.</param>
    /// <returns>Ok, WrongType or OutOfMemory.</returns>
    public StoreStatus Add(ReadOnlySpan<byte> key, ReadOnlySpan<byte> element, out bool hasChanged)
    {
        hasChanged = false;
        var look = new ReadRegister { Seen = HyperLogLog.Observe(element) };
        if (_session.Read(_session.Key(key), DataType.String, ref look) == StoreStatus.Ok && look.IsHighEnough)
            return StoreStatus.Ok;
        return Add(key, new OneElement(element), out hasChanged);
    }

    /// <summary>Adds elements, as one step.</summary>
    /// <param name="key">The key.</param>
    /// <param name="elements">None: the key is made, if it is missing.</param>
    /// <param name="hasChanged">Whether the value is another now.</param>
    /// <returns>Ok, WrongType or OutOfMemory.</returns>
    public StoreStatus Add(ReadOnlySpan<byte> key, ElementBuffer elements, out bool hasChanged) =>
        Add(key, new BufferedElements(elements), out hasChanged);

    /// <summary>Estimates how many different elements were added.</summary>
    /// <returns>Ok, NotFound or WrongType.</returns>
    /// <remarks>Cost: O(1) where nothing was added since the last time, else some 10 µs.</remarks>
    public StoreStatus Count(ReadOnlySpan<byte> key, out long count)
    {
        count = 0;
        var read = default(ReadCardinality);
        var status = _session.Read(_session.Key(key), DataType.String, ref read);
        if (status == StoreStatus.Ok && !read.IsKnown)
        {
            // What is found is written into the header, for the next one who asks. Without memory for that it is still
            // right.
            var update = default(CountHyperLogLog);
            status = _session.Update(_session.Key(key), DataType.String, ref update);
            if (status == StoreStatus.OutOfMemory) status = StoreStatus.Ok;
            (read.Status, read.Cardinality) = (update.Status, update.Cardinality);
        }

        if (status != StoreStatus.Ok) return status;
        if (read.Status != HyperLogLogStatus.Ok) return StoreStatus.WrongType;
        count = read.Cardinality;
        return StoreStatus.Ok;
    }

    /// <summary>Estimates how many different elements were added to any of some keys, as of one instant.</summary>
    /// <param name="keys">Missing ones count as empty.</param>
    /// <param name="count">The estimate.</param>
    /// <returns>Ok or WrongType (of any).</returns>
    /// <remarks>Cost: some 10 µs a key.</remarks>
    public StoreStatus Count(ReadOnlySpan<ReadOnlyMemory<byte>> keys, out long count)
    {
        KeyList list = _session.Keys;
        list.Clear();
        foreach (var key in keys) list.Add(key.Span, _session.DatabaseNumber);
        var union = new RegisterUnion(_session.Draft.Registers);
        _session.ReadMany(list, ref union);
        bool done = union.Status == HyperLogLogStatus.Ok;
        count = done ? union.Cardinality : 0;
        return done ? StoreStatus.Ok : StoreStatus.WrongType;
    }

    /// <summary>Adds all that was added to some keys to another one, as one step.</summary>
    /// <param name="destination">Made, if it is missing.</param>
    /// <param name="sources">Missing ones count as empty.</param>
    /// <returns>Ok, WrongType (of any) or OutOfMemory: nothing was changed.</returns>
    /// <remarks>Cost: some 10 µs a key; others who want the keys wait.</remarks>
    public StoreStatus Merge(ReadOnlySpan<byte> destination, ReadOnlySpan<ReadOnlyMemory<byte>> sources)
    {
        var merge = new MergeHyperLogLogs(Draft());
        using HeldKeys held = _session.HoldMany(sources, destination, hasDestination: true);
        if (held.Status != StoreStatus.Ok) return held.Status;
        for (int i = 0; i <= sources.Length; i++) merge.Union.Read(i, held.View(i));
        if (merge.Union.Status != HyperLogLogStatus.Ok) return StoreStatus.WrongType;
        var status = held.Update(0, DataType.String, ref merge);
        return status == StoreStatus.NotFound ? StoreStatus.Ok : status;
    }

    private StoreStatus Add<TElements>(ReadOnlySpan<byte> key, TElements elements, out bool hasChanged)
        where TElements : struct, IElementList, allows ref struct
    {
        hasChanged = false;
        var add = new AddToHyperLogLog<TElements>(elements, Draft());
        var status = _session.Update(_session.Key(key), DataType.String, ref add);
        if (status is not (StoreStatus.Ok or StoreStatus.NotFound)) return status;
        if (add.Status != HyperLogLogStatus.Ok) return StoreStatus.WrongType;
        hasChanged = add.HasChanged;
        return StoreStatus.Ok;
    }

    private HyperLogLogDraft Draft()
    {
        var draft = _session.Draft;
        draft.SparseBytesMax = SparseBytesMax;
        return draft;
    }

    private readonly ref struct OneElement(ReadOnlySpan<byte> element) : IElementList
    {
        private readonly ReadOnlySpan<byte> _element = element;

        public int Count => 1;

        public HyperLogLog.Observation Observe(int index) => HyperLogLog.Observe(_element);
    }

    private readonly struct BufferedElements(ElementBuffer elements) : IElementList
    {
        public int Count => elements.Count;

        public HyperLogLog.Observation Observe(int index) => HyperLogLog.Observe(elements[index]);
    }
}

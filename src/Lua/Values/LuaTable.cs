using System.Diagnostics;
using System.Numerics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Kv.Lua;

//  array part, of _size values             hash part
//  +------+------+- - -+---------+     buckets: +-------+-------+- -    nodes: +--------------------------------+- -
//  | t[1] | t[2] |     | t[4096] |              | node  | node  |              | key 16 | value 16 | next, hash |
//  +------+------+- - -+---------+              +-------+-------+- -           +--------------------------------+- -
//  far chunks: t[4097] to t[8192], ...                                         far chunks: of 2048 nodes each
//
//  next: the next node of the bucket, -1 at its end. Nodes are filled in the order in which their keys came. A key
//  whose value becomes nil stays until the nodes are full, so that a traversal may clear what it visits.
//  A far chunk is made when its first value or node comes. So a long table grows without being copied, and little of it
//  is an object that the collector keeps apart (from 85,000 bytes on), each of which brings a full collection nearer.
//  The buckets are made anew from the hashes that the nodes have: keys are not looked at.
//
// Invariant: keys 1 to _size are in the array part, all others in the hash part; what is not there is nil.

/// <summary>A table of Lua: values by key, with the keys 1 to n in an array of their own.</summary>
/// <remarks>Threads: one machine's.</remarks>
public sealed class LuaTable
{
    /// <summary>What an empty one costs.</summary>
    internal const int OverheadBytes = 96;

    private const int NodeBytes = 40, BucketBytes = 4, ValueBytes = 16, FirstNodes = 4, FirstArray = 4;
    // How many values of its array part a table keeps for its next use.
    private const int KeptValues = 16;

    // How many places without a value are passed, and how many bytes of keys compared, at no charge of steps.
    private const int FreePlaces = 16, FreeBytes = 1024;

    private const int ChunkShift = 12, ChunkValues = 1 << ChunkShift, ChunkBytes = (ChunkValues * ValueBytes) + 24;

    private const int NodeShift = 11, ChunkNodes = 1 << NodeShift, NodesBytes = (ChunkNodes * NodeBytes) + 24;

    // From so many nodes on keys are divided anew between two turns of the script, some at a time: it takes some ms.
    private const int ManyNodes = 4 * ChunkNodes;

    // More would not fit into an array of .NET's; the memory limit comes long before.
    internal const int ArrayMax = 1 << 26;

    private static readonly int[] NoBuckets = [-1];
    private static LuaValue s_nil = LuaValue.Nil;

    private readonly MemoryAccount _account;
    private LuaValue[] _array = [];
    private LuaValue[]?[] _far = [];
    private int _size;
    private int[] _buckets = NoBuckets;
    private Node[] _nodes = [];
    private Node[]?[] _farNodes = [];
    private int _used;
    private bool _isKept;       // read-only until a script writes to it
    private bool _isCrowded;    // has more nodes than buckets, until the machine has divided its keys anew

    internal LuaTable(MemoryAccount account, int arraySize = 0, int hashSize = 0)
    {
        _account = account;
        account.Charge(OverheadBytes);
        if (arraySize > 0) GrowArray(arraySize);
        if (hashSize > 0) EndDropping(NewRoom((int)BitOperations.RoundUpToPowerOf2((uint)hashSize)));
    }

    internal struct Node
    {
        public LuaValue Key, Value;
        public int Next, Hash;
    }

    /// <summary>What a hash part is to move to.</summary>
    internal struct HashRoom
    {
        public int[] Buckets;
        public Node[] Nodes;
        public Node[]?[] Far;

        /// <summary>How many nodes are in their places already.</summary>
        public int Live;
    }

    /// <summary>Its metatable, or null.</summary>
    public LuaTable? Metatable { get; set; }

    /// <summary>Whether scripts may not change it.</summary>
    public bool IsReadOnly { get; set; }

    /// <summary>Makes it read-only until somebody writes to it: <see cref="KeptFunctions"/>.</summary>
    internal void Keep() => IsReadOnly = _isKept = true;

    /// <summary>To be asked before a script changes it.</summary>
    /// <exception cref="LuaException">Scripts may not.</exception>
    internal void LetWrite()
    {
        if (!IsReadOnly) return;
        if (!_isKept) throw Events.ReadOnly();
        IsReadOnly = _isKept = false;
        _account.NoteKeptChange();
    }

    /// <summary>The last memory walk that has seen it.</summary>
    internal int Walk { get; set; }

    internal long Bytes
    {
        get
        {
            long bytes = OverheadBytes + ((long)_array.Length * ValueBytes) + ((long)Room * BucketBytes)
                + ((long)_nodes.Length * NodeBytes);
            foreach (var chunk in _far) bytes += chunk is null ? 8 : 8 + ChunkBytes;
            foreach (var chunk in _farNodes) bytes += chunk is null ? 8 : 8 + NodesBytes;
            return bytes;
        }
    }

    /// <summary>Values and nodes that there may be.</summary>
    internal int Places => _size + _used;

    internal int ArraySize => _size;

    internal int NodeCount => _used;

    /// <summary>Whether it has more nodes than it should: <see cref="TableGrowth"/> mends that.</summary>
    internal bool IsCrowded => _isCrowded;

    /// <summary>A value by its key, without metamethods.</summary>
    public LuaValue this[LuaString key]
    {
        get => Find(key);
        set => Set(key, value);
    }

    /// <summary>A value by its index, without metamethods.</summary>
    public LuaValue this[int index]
    {
        get => Find(index);
        set => Set(index, value);
    }

    /// <summary>A value by its key, without metamethods.</summary>
    /// <exception cref="ArgumentException">The key that is set is nil or no number.</exception>
    public LuaValue this[LuaValue key]
    {
        get => Find(key);
        set
        {
            if (key.IsNil || (key.IsNumber && double.IsNaN(key.AsNumber)))
                throw new ArgumentException("A key is neither nil nor NaN.", nameof(key));
            Set(key, value);
        }
    }

    /// <summary>Makes it as new; room for some values is kept. Only where no script can have it any more.</summary>
    public void Clear()
    {
        if (_array.Length > KeptValues) _array = [];
        FillNil(_array);
        _size = _array.Length;
        _far = [];
        if (_nodes.Length > FirstNodes) (_buckets, _nodes, _farNodes) = (NoBuckets, [], []);
        if (_nodes.Length > 0) _buckets.AsSpan().Fill(-1);
        _nodes.AsSpan(0, Math.Min(_used, _nodes.Length)).Clear();
        _used = 0;
        (Metatable, IsReadOnly, _isKept, _isCrowded) = (null, false, false, false);
    }

    /// <summary>The value of a key, or a slot of nil that nobody writes to.</summary>
    internal ref LuaValue Find(LuaString key)
    {
        Node[] nodes = _nodes;
        int[] buckets = _buckets;
        // Ends: the nodes of a bucket have no cycle.
        int i = buckets[key.Hash & (buckets.Length - 1)];
        for (; (uint)i < (uint)nodes.Length; i = nodes[i].Next)
        {
            if (ReferenceEquals(nodes[i].Key.Reference, key) || IsSame(nodes[i].Key.Reference, key))
                return ref nodes[i].Value;
        }

        return ref i < 0 ? ref s_nil : ref FindFrom(i, key);
    }

    /// <summary>The value at a string that is a constant of a function, whose hash is known already.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal ref LuaValue FindConstant(LuaString key)
    {
        Node[] nodes = _nodes;
        int[] buckets = _buckets;
        int i = Unsafe.Add(ref MemoryMarshal.GetArrayDataReference(buckets), key.KnownHash & (buckets.Length - 1));
        if ((uint)i < (uint)nodes.Length && ReferenceEquals(nodes[i].Key.Reference, key)) return ref nodes[i].Value;
        return ref Find(key);
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal ref LuaValue Find(int index)
    {
        LuaValue[] array = _array;
        if ((uint)(index - 1) < (uint)array.Length) return ref array[index - 1];
        return ref FindFar(index);
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal ref LuaValue Find(scoped in LuaValue key)
    {
        if (key.Reference is null)
        {
            int index = (int)key.Number;
            if (index == key.Number) return ref Find(index);
            return ref FindNode(key);
        }

        if (key.Reference is LuaString text) return ref Find(text);
        return ref FindNode(key);
    }

    /// <summary>Whether a slot is one of a key that is there.</summary>
    internal static bool IsThere(ref LuaValue slot) => !Unsafe.AreSame(ref slot, ref s_nil);

    /// <summary>Sets a value without metamethods. The key is neither nil nor NaN.</summary>
    internal void Set(in LuaValue key, in LuaValue value)
    {
        ref LuaValue slot = ref Find(key);
        if (IsThere(ref slot)) slot = value;
        else if (!value.IsNil) Add(key, value);
    }

    /// <summary>Adds a key that is not there.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    internal void Add(in LuaValue key, in LuaValue value)
    {
        if (key.Reference is null)
        {
            int index = (int)key.Number;
            if (index == key.Number && (uint)(index - 1) <= (uint)_size)
            {
                // Just beyond the array part, or in a far chunk that is not there yet.
                if (index > _size) GrowByOne();
                Place(index) = value;
                return;
            }
        }

        if (_used >= Room && !MayBeCrowded())
        {
            Rehash(key);
            Set(key, value);
            return;
        }

        AddNode(key, value);
    }

    /// <summary>The border that <c>#</c> gives.</summary>
    internal int Length
    {
        get
        {
            int size = _size;
            if (size > 0 && Find(size).IsNil) return BorderInArray(size);
            if (_used == 0) return size;
            // The hash part may have more. Ends: it has finitely many keys, and each round doubles the distance.
            int least = size, most = size + 1;
            while (!Find(most).IsNil)
            {
                least = most;
                if (most >= int.MaxValue / 2) return least;
                most *= 2;
            }

            return BorderIn(least, most);
        }
    }

    /// <summary>The key and value after a key, in the order of a traversal.</summary>
    /// <param name="key">Nil to begin. The key that comes next; nil at the end.</param>
    /// <returns>False when the key is not there.</returns>
    internal bool TryNext(ref LuaValue key, out LuaValue value)
    {
        if (!TryPlaceAfter(key, out int from))
        {
            value = LuaValue.Nil;
            return false;
        }

        if (from < _array.Length && !_array[from].IsNil)
        {
            value = _array[from];
            key = from + 1;
            return true;
        }

        int place = from;
        if (TryVisit(ref place, out key, out value) && key.Reference is not null)
        {
            // Of a reference the number is void: it says where the key was found, for the next call.
            key.Number = place - 1 - _size;
        }

        // What was passed because it is nil takes time, too.
        if (place - from > FreePlaces) _account.Spend(place - from);
        return true;
    }

    /// <summary>The values of a range of indices; empty when they do not lie side by side in the array
    /// part.</summary>
    internal Span<LuaValue> ArrayRange(int low, int high)
    {
        if (low < 1 || high > _size) return [];
        if (high <= _array.Length) return _array.AsSpan(low - 1, high - low + 1);
        int chunk = (low - 1) >> ChunkShift;
        if (chunk == 0 || chunk != (high - 1) >> ChunkShift || _far[chunk - 1] is not { } values) return [];
        return values.AsSpan((low - 1) & (ChunkValues - 1), high - low + 1);
    }

    /// <summary>The next key and value from a place on, in the order of a traversal.</summary>
    /// <param name="place">0 to begin; where to go on.</param>
    /// <returns>False at the end.</returns>
    public bool TryVisit(ref int place, out LuaValue key, out LuaValue value)
    {
        if (place == 0) BeginVisit();
        for (; place < _size; place++)
        {
            var values = ChunkOf(place);
            if (values is null) place |= ChunkValues - 1;       // to its end
            if (values is null || values[place & (ChunkValues - 1)].IsNil) continue;
            value = values[place & (ChunkValues - 1)];
            key = ++place;
            return true;
        }

        place = Math.Max(place, _size);     // a chunk that is not there may be cut short
        for (; place - _size < _used; place++)
        {
            ref Node node = ref NodeAt(place - _size);
            if (node.Value.IsNil) continue;
            (key, value) = (node.Key, node.Value);
            place++;
            return true;
        }

        key = value = LuaValue.Nil;
        return false;
    }

    /// <summary>Makes room for values up to an index.</summary>
    internal void ReserveArray(int size)
    {
        if (size > _size) GrowArray(size);
    }

    /// <summary>Visits keys and values that are references, for a walk over all memory: of some places.</summary>
    /// <param name="most">How many places at most.</param>
    /// <returns>The place to go on from; <see cref="Places"/>: that was all.</returns>
    internal int Visit(MemoryWalk walk, int place, int most)
    {
        if (place == 0 && Metatable != null) walk.Visit(Metatable);
        int end = Math.Min(Places, place + most);
        while (place < Math.Min(end, _size))
        {
            // To the chunk's end, or where the values or the places asked for end.
            int next = Math.Min(Math.Min(end, _size), (place | (ChunkValues - 1)) + 1);
            if (ChunkOf(place) is { } values)
            {
                int first = place & (ChunkValues - 1);
                foreach (ref LuaValue value in values.AsSpan(first, next - place)) walk.Visit(value);
            }

            place = next;
        }

        for (; place < end; place++)
        {
            ref Node node = ref NodeAt(place - _size);
            if (node.Value.IsNil) continue;
            walk.Visit(node.Key);
            walk.Visit(node.Value);
        }

        return place;
    }

    private bool IsSame(object? found, LuaString key)
    {
        if (found is not LuaString text || !key.Equals(text)) return false;
        if (key.Length > FreeBytes) _account.Spend(key.Length >> 4);
        return true;
    }

    // The rest of a bucket, which may be in any chunk.
    private ref LuaValue FindFrom(int index, LuaString key)
    {
        // Ends: the nodes of a bucket have no cycle.
        for (int i = index; i >= 0; i = NodeAt(i).Next)
        {
            ref Node node = ref NodeAt(i);
            if (node.Hash == key.Hash && IsSame(node.Key.Reference, key)) return ref node.Value;
        }

        return ref s_nil;
    }

    private ref LuaValue FindNode(scoped in LuaValue key)
    {
        int i = NodeOf(key);
        return ref i < 0 ? ref s_nil : ref NodeAt(i).Value;
    }

    /// <summary>Where a key is; -1: it is not there.</summary>
    private int NodeOf(scoped in LuaValue key)
    {
        int i = _buckets[HashOf(key) & (_buckets.Length - 1)];
        // Ends: the nodes of a bucket have no cycle.
        while (i >= 0 && !LuaValue.RawEquals(NodeAt(i).Key, key)) i = NodeAt(i).Next;
        return i;
    }

    /// <summary>Nodes that there are, with those of far chunks that are not there yet.</summary>
    private int Room => _nodes.Length == 0 ? 0 : _buckets.Length;

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private ref Node NodeAt(int index)
    {
        Node[] nodes = _nodes;
        if ((uint)index < (uint)nodes.Length) return ref nodes[index];
        return ref _farNodes[(index >> NodeShift) - 1]![index & (ChunkNodes - 1)];
    }

    private static int HashOf(in LuaValue key) => key.Reference switch
    {
        null => (key.Number == 0 ? 0 : BitConverter.DoubleToInt64Bits(key.Number)).GetHashCode() * -1640531527 >>> 7,
        LuaString text => text.Hash,
        _ => RuntimeHelpers.GetHashCode(key.Reference),
    };

    // Before a traversal begins: until it ends, no key may change its place.
    private void BeginVisit()
    {
        if (_isCrowded) Rehash(LuaValue.Nil);
    }

    /// <summary>Whether one more node may come than there are buckets: of a large table, whose keys the machine divides
    /// anew before the script's next turn.</summary>
    private bool MayBeCrowded()
    {
        if (_used < ManyNodes || _used >= 2 * Room) return false;
        int chunk = (_used >> NodeShift) - 1;
        if (chunk >= _farNodes.Length)
        {
            _account.Charge(_farNodes.Length * 8L);
            Array.Resize(ref _farNodes, 2 * _farNodes.Length);
        }

        if (!_isCrowded) _account.NoteCrowded(this);
        return _isCrowded = true;
    }

    private void AddNode(in LuaValue key, in LuaValue value)
    {
        if (_used >= _nodes.Length)
        {
            ref var chunk = ref _farNodes[(_used >> NodeShift) - 1];
            if (chunk is null)
            {
                _account.Charge(NodesBytes);
                chunk = new Node[ChunkNodes];
            }
        }

        int hash = HashOf(key);
        NodeAt(_used) = new Node { Key = key, Value = value, Hash = hash };
        Link(_used++);
    }

    private void Link(int index)
    {
        ref Node node = ref NodeAt(index);
        ref int first = ref _buckets[node.Hash & (_buckets.Length - 1)];
        (node.Next, first) = (first, index);
    }

    // Beyond the first values, and what is in the hash part.
    private ref LuaValue FindFar(int index)
    {
        uint place = (uint)(index - 1);
        if (place >= (uint)_size) return ref _used == 0 ? ref s_nil : ref FindNode(new LuaValue(index));
        var chunk = _far[(place >> ChunkShift) - 1];
        return ref chunk is null ? ref s_nil : ref chunk[place & (ChunkValues - 1)];
    }

    private LuaValue[]? ChunkOf(int place) =>
        place < ChunkValues ? _array : _far[(place >> ChunkShift) - 1];

    /// <summary>The slot of an index of the array part, which is made where it is not there.</summary>
    /// <param name="isUnseen">Whether memory for it is not refused.</param>
    private ref LuaValue Place(int index, bool isUnseen = false)
    {
        int place = index - 1;
        if (place < _array.Length) return ref _array[place];
        ref var chunk = ref _far[(place >> ChunkShift) - 1];
        if (chunk is null)
        {
            if (isUnseen) _account.ChargeUnseen(ChunkBytes);
            else _account.Charge(ChunkBytes);
            chunk = NewValues(ChunkValues);
        }

        return ref chunk[place & (ChunkValues - 1)];
    }

    private static LuaValue[] NewValues(int count)
    {
        var values = new LuaValue[count];
        FillNil(values);
        return values;
    }

    // Not Span.Fill, which does not know that nil is an object that never moves and pays a write barrier for each.
    private static void FillNil(Span<LuaValue> values)
    {
        for (int i = 0; i < values.Length; i++) values[i].Reference = Atom.Nil;
    }

    private void GrowByOne()
    {
        int old = _size;
        GrowArray((int)Math.Min(ArrayMax + 1L, Math.Max(FirstArray, old * 2L)));
        if (_used == 0) return;
        MoveIndices(0, _used, old);
        _account.Spend(_used);
    }

    private void GrowArray(int size)
    {
        if (size > ArrayMax) throw new LuaException("not enough memory");
        int old = _array.Length, first = Math.Min(size, ChunkValues);
        if (first != old)
        {
            _account.Charge((long)(first - old) * ValueBytes);
            var values = new LuaValue[first];
            _array.AsSpan().CopyTo(values);
            FillNil(values.AsSpan(old));
            _array = values;
        }

        if (size > ChunkValues)
        {
            int chunks = (size - 1) >> ChunkShift;
            _account.Charge((chunks - _far.Length) * 8L);
            Array.Resize(ref _far, chunks);
        }

        _size = size;
    }

    /// <summary>The array part has grown: what of it was among some nodes goes over.</summary>
    /// <param name="old">The array part's size before.</param>
    /// <returns>How many did.</returns>
    internal int MoveIndices(int from, int to, int old)
    {
        int moved = 0;
        for (int i = from; i < to; i++)
        {
            ref Node node = ref NodeAt(i);
            if (node.Key.Reference is not null || node.Value.IsNil) continue;
            double key = node.Key.Number;
            if (key != (int)key || key <= old || key > _size) continue;
            Place((int)key, isUnseen: true) = node.Value;
            node.Value = LuaValue.Nil;
            moved++;
        }

        return moved;
    }

    /// <summary>Makes arrays for so many nodes, a power of two.</summary>
    /// <remarks>Before anything changes: the process may have no memory for one of them.</remarks>
    internal HashRoom NewRoom(int size)
    {
        if (size > ArrayMax) throw new LuaException("not enough memory");
        int first = Math.Min(size, ChunkNodes), chunks = size <= ChunkNodes ? 0 : (size >> NodeShift) - 1;
        _account.Charge(((long)(size - Room) * BucketBytes) + ((long)(first - _nodes.Length) * NodeBytes)
            + ((chunks - _farNodes.Length) * 8L));
        return new HashRoom
        {
            Buckets = size == 0 ? NoBuckets : new int[size],
            Nodes = first == _nodes.Length ? _nodes : new Node[first],
            Far = chunks == _farNodes.Length ? _farNodes : new Node[]?[chunks],
        };
    }

    /// <summary>Has some nodes take the places of those in front of them whose values are nil.</summary>
    internal void DropDead(int from, int to, ref HashRoom room)
    {
        // Those that live keep their order.
        for (int i = from; i < to; i++)
        {
            ref Node node = ref NodeAt(i);
            if (!node.Value.IsNil)
            {
                int place = room.Live++;
                if (place == i) continue;
                NodeAt(place) = node;
            }

            node = default;
        }
    }

    /// <summary>All nodes are in their places: they go to where there is room. What is left is to
    /// <see cref="Link(int, int)"/> them.</summary>
    internal void EndDropping(in HashRoom room)
    {
        _used = room.Live;
        if (room.Nodes != _nodes) _nodes.AsSpan(0, Math.Min(_used, _nodes.Length)).CopyTo(room.Nodes);
        if (room.Far != _farNodes)
            _farNodes.AsSpan(0, Math.Min(room.Far.Length, _farNodes.Length)).CopyTo(room.Far);
        (_buckets, _nodes, _farNodes) = (room.Buckets, room.Nodes, room.Far);
        _isCrowded = false;
        if (_nodes.Length > 0) _buckets.AsSpan().Fill(-1);
    }

    /// <summary>Adds some nodes to their buckets.</summary>
    internal void Link(int from, int to)
    {
        for (int i = from; i < to; i++) Link(i);
    }

    /// <summary>Counts the keys at some places.</summary>
    /// <returns>How many of them are in the hash part.</returns>
    internal int CountKeys(int from, int to, ref IndexCensus census)
    {
        int live = 0;
        for (int place = from; place < Math.Min(to, _size); place++)
        {
            var values = ChunkOf(place);
            if (values is null) place |= ChunkValues - 1;
            else if (!values[place & (ChunkValues - 1)].IsNil) census.Add(place + 1);
        }

        for (int i = Math.Max(from, _size) - _size; i < to - _size; i++)
        {
            ref Node node = ref NodeAt(i);
            if (node.Value.IsNil) continue;
            live++;
            census.Add(node.Key);
        }

        return live;
    }

    /// <summary>Whether a key is one of the array part.</summary>
    internal bool IsOfArray(in LuaValue key) =>
        key.Reference is null && key.Number >= 1 && key.Number <= _size && key.Number == (int)key.Number;

    /// <summary>Divides the keys anew between the two parts.</summary>
    /// <param name="extra">A key that is to come; nil: none.</param>
    private void Rehash(in LuaValue extra)
    {
        _account.Spend(Places);
        var growth = new TableGrowth(this);
        if (!extra.IsNil) growth.Expect(extra);
        long all = long.MaxValue;
        bool isDone = growth.Step(ref all);
        Debug.Assert(isDone, "it may look at all places");
    }

    private int BorderIn(int least, int most)
    {
        // The value at least is there (or least is 0), that at most is nil. Ends: they come nearer each round.
        while (most - least > 1)
        {
            int middle = (int)(((uint)least + (uint)most) / 2);
            if (Find(middle).IsNil) most = middle;
            else least = middle;
        }

        return least;
    }

    // Likewise between 0 and the array part's last value, which is nil; once both are in one chunk, without asking
    // where that is.
    private int BorderInArray(int size)
    {
        int least = 0, most = size;
        // Ends: they come nearer each round.
        while (most - least > ChunkValues)
        {
            int middle = (int)(((uint)least + (uint)most) / 2);
            if (Find(middle).IsNil) most = middle;
            else least = middle;
        }

        if (least >> ChunkShift != (most - 1) >> ChunkShift) return BorderIn(least, most);
        if (ChunkOf(least) is not { } values) return least;
        int start = least & ~(ChunkValues - 1);
        while (most - least > 1)
        {
            int middle = (least + most) >> 1;
            if (values[middle - 1 - start].IsNil) most = middle;
            else least = middle;
        }

        return least;
    }

    private bool TryPlaceAfter(in LuaValue key, out int place)
    {
        place = 0;
        if (key.IsNil)
        {
            BeginVisit();
            return true;
        }

        if (IsOfArray(key))
        {
            place = (int)key.Number;
            return true;
        }

        uint known = (uint)(int)key.Number;
        if (key.Reference is not null && known < (uint)_used
            && ReferenceEquals(NodeAt((int)known).Key.Reference, key.Reference))
        {
            place = _size + (int)known + 1;
            return true;
        }

        int i = NodeOf(key);
        place = _size + i + 1;
        return i >= 0;
    }
}

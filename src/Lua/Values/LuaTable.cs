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

    private const int NodeBytes = 44, ValueBytes = 16, FirstNodes = 4, FirstArray = 4;
    // How many values of its array part a table keeps for its next use.
    private const int KeptValues = 16;

    // How many places without a value are passed, and how many bytes of keys compared, at no charge of steps.
    private const int FreePlaces = 16, FreeBytes = 1024;

    private const int ChunkShift = 12, ChunkValues = 1 << ChunkShift, ChunkBytes = (ChunkValues * ValueBytes) + 24;

    private const int NodeShift = 11, ChunkNodes = 1 << NodeShift;

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

    internal LuaTable(MemoryAccount account, int arraySize = 0, int hashSize = 0)
    {
        _account = account;
        account.Charge(OverheadBytes);
        if (arraySize > 0) GrowArray(arraySize);
        if (hashSize > 0) ResizeNodes((int)BitOperations.RoundUpToPowerOf2((uint)hashSize));
    }

    private struct Node
    {
        public LuaValue Key, Value;
        public int Next, Hash;
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
            long bytes = OverheadBytes + ((long)_array.Length * ValueBytes) + ((long)Room * NodeBytes);
            foreach (var chunk in _far) bytes += chunk is null ? 8 : 8 + ChunkBytes;
            return bytes;
        }
    }

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
        (Metatable, IsReadOnly, _isKept) = (null, false, false);
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

        if (_used == Room)
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

    /// <summary>Visits keys and values that are references, for a walk over all memory.</summary>
    internal void Visit(MemoryWalk walk)
    {
        foreach (ref LuaValue value in _array.AsSpan()) walk.Visit(value);
        foreach (var chunk in _far)
            foreach (ref LuaValue value in chunk.AsSpan()) walk.Visit(value);
        for (int i = 0; i < _used; i++)
        {
            ref Node node = ref NodeAt(i);
            if (node.Value.IsNil) continue;
            walk.Visit(node.Key);
            walk.Visit(node.Value);
        }

        if (Metatable != null) walk.Visit(Metatable);
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

    private void AddNode(in LuaValue key, in LuaValue value)
    {
        if (_used >= _nodes.Length) _farNodes[(_used >> NodeShift) - 1] ??= new Node[ChunkNodes];
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
    private ref LuaValue Place(int index)
    {
        int place = index - 1;
        if (place < _array.Length) return ref _array[place];
        ref var chunk = ref _far[(place >> ChunkShift) - 1];
        if (chunk is null)
        {
            _account.Charge(ChunkBytes);
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
        if (_used != 0) TakeFromNodes(old);
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

    // The array part has grown: what of it was among the nodes goes over.
    private void TakeFromNodes(int from)
    {
        for (int i = 0; i < _used; i++)
        {
            ref Node node = ref NodeAt(i);
            if (node.Key.Reference is not null || node.Value.IsNil) continue;
            double key = node.Key.Number;
            if (key != (int)key || key <= from || key > _size) continue;
            Place((int)key) = node.Value;
            node.Value = LuaValue.Nil;
        }

        _account.Spend(_used);
    }

    private void ResizeNodes(int size)
    {
        if (size > ArrayMax) throw new LuaException("not enough memory");
        _account.Charge((long)(size - Room) * NodeBytes);
        int first = Math.Min(size, ChunkNodes), chunks = size <= ChunkNodes ? 0 : (size >> NodeShift) - 1;
        // Before anything changes: the process may have no memory for one of them.
        int[] buckets = size == 0 ? NoBuckets : new int[size];
        Node[] nodes = first == _nodes.Length ? _nodes : new Node[first];
        var far = chunks == _farNodes.Length ? _farNodes : new Node[]?[chunks];
        DropDead();
        if (nodes != _nodes) _nodes.AsSpan(0, Math.Min(_used, _nodes.Length)).CopyTo(nodes);
        if (far != _farNodes) _farNodes.AsSpan(0, Math.Min(chunks, _farNodes.Length)).CopyTo(far);
        (_buckets, _nodes, _farNodes) = (buckets, nodes, far);
        if (size == 0) return;
        buckets.AsSpan().Fill(-1);
        for (int i = 0; i < _used; i++) Link(i);
    }

    // Those that live keep their order.
    private void DropDead()
    {
        int live = 0;
        for (int i = 0; i < _used; i++)
        {
            ref Node node = ref NodeAt(i);
            if (node.Value.IsNil) continue;
            if (live != i) NodeAt(live) = node;
            live++;
        }

        for (int i = live; i < _used; i++) NodeAt(i) = default;
        _used = live;
    }

    /// <summary>Divides the keys anew between the two parts, with room for one more.</summary>
    /// <remarks>The array part becomes the largest power of two of which more than half is in use.</remarks>
    private void Rehash(in LuaValue extra)
    {
        var indices = new IndexCensus(stackalloc int[IndexCensus.Slices]);
        int live = 0;
        for (int start = 0; start < _size; start += ChunkValues)
        {
            var values = ChunkOf(start);
            int end = values is null ? 0 : Math.Min(_size - start, ChunkValues);
            for (int i = 0; i < end; i++)
                if (!values![i].IsNil) indices.Add(start + i + 1);
        }

        for (int i = 0; i < _used; i++)
        {
            ref Node node = ref NodeAt(i);
            if (node.Value.IsNil) continue;
            live++;
            indices.Add(node.Key);
        }

        indices.Add(extra);
        _account.Spend(_size + (long)_used);
        int old = _size, arraySize = indices.ArraySize;
        if (arraySize > old)
        {
            GrowArray(arraySize);
            TakeFromNodes(old);
            live = 0;
            for (int i = 0; i < _used; i++)
                if (!NodeAt(i).Value.IsNil) live++;
        }

        bool isInArray = extra.Reference is null && extra.Number >= 1 && extra.Number <= _size
            && extra.Number == (int)extra.Number;
        int wanted = live + (isInArray ? 0 : 1);
        ResizeNodes(wanted == 0 ? 0 : Math.Max(FirstNodes, (int)BitOperations.RoundUpToPowerOf2((uint)wanted)));
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
        if (key.IsNil) return true;
        if (key.Reference is null && key.Number >= 1 && key.Number <= _size && key.Number == (int)key.Number)
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

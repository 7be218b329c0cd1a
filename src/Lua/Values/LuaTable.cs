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
/// <remarks>
/// How it makes room is in LuaTable.Room.cs, in which order it is visited in LuaTable.Traversal.cs. Threads: one
/// machine's.
/// </remarks>
public sealed partial class LuaTable
{
    /// <summary>What an empty one costs.</summary>
    internal const int OverheadBytes = 96;

    /// <summary>The least nodes of a hash part that has any.</summary>
    internal const int FirstNodes = 4;

    private const int NodeBytes = 40, BucketBytes = 4, ValueBytes = 16, FirstArray = 4;

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

    /// <summary>Whether a key is one of the array part.</summary>
    internal bool IsOfArray(in LuaValue key) =>
        key.Reference is null && key.Number >= 1 && key.Number <= _size && key.Number == (int)key.Number;

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
}

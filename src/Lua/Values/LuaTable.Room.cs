using System.Diagnostics;
using System.Numerics;

namespace Kv.Lua;

/// <content>Room for more values and keys; <see cref="TableGrowth"/> says when keys change between the two
/// parts.</content>
public sealed partial class LuaTable
{
    /// <summary>What a hash part is to move to.</summary>
    internal struct HashRoom
    {
        public int[] Buckets;
        public Node[] Nodes;
        public Node[]?[] Far;

        /// <summary>How many nodes are in their places already.</summary>
        public int Live;
    }

    /// <summary>Whether it has more nodes than it should: <see cref="TableGrowth"/> mends that.</summary>
    internal bool IsCrowded => _isCrowded;

    /// <summary>Makes room for values up to an index.</summary>
    internal void ReserveArray(int size)
    {
        if (size > _size) GrowArray(size);
    }

    /// <summary>Nodes that there are, with those of far chunks that are not there yet.</summary>
    private int Room => _nodes.Length == 0 ? 0 : _buckets.Length;

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
        Debug.Assert(_nodes.Length > 0 && !value.IsNil, "there are buckets, and a node holds something");
        NodeAt(_used) = new Node { Key = key, Value = value, Hash = hash };
        Link(_used++);
    }

    private void Link(int index)
    {
        ref Node node = ref NodeAt(index);
        ref int first = ref _buckets[node.Hash & (_buckets.Length - 1)];
        (node.Next, first) = (first, index);
    }

    /// <summary>The slot of an index of the array part, which is made where it is not there.</summary>
    /// <param name="isUnseen">Whether memory for it is not refused.</param>
    private ref LuaValue Place(int index, bool isUnseen = false)
    {
        int place = index - 1;
        Debug.Assert((uint)place < (uint)_size, "the array has such a place");
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
        Debug.Assert(old <= _size && to <= _used, "the array has grown, and there are such nodes");
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
        Debug.Assert(room.Live <= room.Buckets.Length, "the room was made for all that live");
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
}

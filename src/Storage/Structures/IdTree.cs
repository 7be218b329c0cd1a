using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Kv.Storage;

//  head, 16 bytes where its owner has them:  | root 4 | last leaf 4 | height 4 | count 4 |
//
//             [ 0-0 | 7-0 | 9-0 ]                 height 1; the first child has all that is below the second
//              /       |       \
//   [1-0 1-1 5-0]<>[7-0 8-0]<>[9-0 9-9]           leaves: ids with their payloads, in order

/// <summary>Where a tree begins.</summary>
[StructLayout(LayoutKind.Sequential)]
internal struct IdTreeHead
{
    public uint Root, Last, Height, Count;
}

/// <summary>Ids in order, each with a few bytes: the leaves of a stream, what is pending in a group, what is pending
/// with a consumer.</summary>
/// <remarks>
/// A B+tree in the region of a stream. An id above all others goes straight into the last leaf, and leaves that were
/// filled that way stay full: entries and deliveries come in that order. Neighbours of one parent that have together
/// less than 3/4 of a node become one. Pointers hold until the next reservation. <see cref="Insert"/> takes what was
/// reserved (<see cref="ReserveBytes"/>); nothing else needs memory.
/// </remarks>
internal readonly unsafe struct IdTree(Region region, IdTreeHead* head, int payload)
{
    private const int FirstCapacity = 4, SpareMax = (IdNode.Max * 3) / 4, SparseBelow = IdNode.Max / 4;

    /// <summary>Bytes of payload: what a child of an inner node takes, and which trees have lists of spare
    /// nodes.</summary>
    private const int ChildBytes = 4, LargestPayload = PendingEntry.Bytes;

    public uint Count => head->Count;

    public bool IsEmpty => head->Count == 0;

    public IdNode NodeAt(uint node)
    {
        Debug.Assert(node != 0, "0 is no node");
        return new IdNode(region.At(node));
    }

    /// <summary>Bytes of a region to reserve for this many inserts.</summary>
    /// <param name="isBehind">Whether all of them come in order, above all ids that there are.</param>
    public long ReserveBytes(long inserts, bool isBehind)
    {
        Debug.Assert(inserts >= 0, "inserts are counted");
        long node = IdNode.BytesFor(IdNode.Max, Math.Max(payload, ChildBytes));
        long needed = 0, room = 0;
        if (head->Height == 0)
        {
            int capacity = head->Root == 0 ? 0 : NodeAt(head->Root).Capacity;
            room = capacity - head->Count;
            // Ends: it doubles. The tree is one leaf, which grows to a whole one first.
            while (room < inserts && capacity < IdNode.Max)
            {
                int grown = Math.Max(FirstCapacity, capacity * 2);
                needed += Region.SizeOf(IdNode.BytesFor(grown, payload));
                room += grown - capacity;
                capacity = grown;
            }
        }
        else if (isBehind)
        {
            room = IdNode.Max - NodeAt(head->Last).Count;
        }

        if (room >= inserts) return needed;
        long left = inserts - room, leaves = isBehind ? (left / IdNode.Max) + 1 : left;
        return needed + ((leaves + (leaves / (IdNode.Max / 2)) + head->Height + 2) * node);
    }

    /// <summary>Finds the payload of an id.</summary>
    /// <returns>Null: it is not there.</returns>
    public byte* Find(StreamId id)
    {
        if (IsEmpty) return null;
        IdNode leaf = NodeAt(LeafOf(id));
        int at = leaf.CountBelow(id);
        return at < leaf.Count && leaf.Ids[at] == id ? leaf.Payload(at, payload) : null;
    }

    /// <summary>The first entry whose id is not below <paramref name="id"/>.</summary>
    public IdCursor From(StreamId id)
    {
        if (IsEmpty) return default;
        uint name = LeafOf(id);
        IdNode leaf = NodeAt(name);
        int at = leaf.CountBelow(id);
        return at < leaf.Count ? new IdCursor(name, at) : new IdCursor(leaf.Next, 0);
    }

    /// <summary>The last entry whose id is not above <paramref name="id"/>; the first of all if there is
    /// none.</summary>
    public IdCursor UpTo(StreamId id)
    {
        if (IsEmpty) return default;
        uint name = LeafOf(id);
        IdNode leaf = NodeAt(name);
        int at = leaf.CountBelow(id);
        if (at < leaf.Count && leaf.Ids[at] == id) return new IdCursor(name, at);
        if (at != 0) return new IdCursor(name, at - 1);
        // Ids may have gone from the front of the leaf.
        return leaf.Previous != 0 ? new IdCursor(leaf.Previous, NodeAt(leaf.Previous).Count - 1)
            : new IdCursor(name, 0);
    }

    /// <summary>The least id. There must be one.</summary>
    public StreamId First => NodeAt(LeafOf(StreamId.Zero)).Ids[0];

    /// <summary>The greatest id. There must be one.</summary>
    public StreamId LastId
    {
        get
        {
            Debug.Assert(!IsEmpty, "there is an id");
            IdNode last = NodeAt(head->Last);
            return last.Ids[last.Count - 1];
        }
    }

    public StreamId IdAt(IdCursor cursor)
    {
        AssertAtEntry(cursor);
        return NodeAt(cursor.Node).Ids[cursor.Place];
    }

    public byte* PayloadAt(IdCursor cursor)
    {
        AssertAtEntry(cursor);
        return NodeAt(cursor.Node).Payload(cursor.Place, payload);
    }

    /// <summary>Goes to the next entry; after the last one the cursor is at the end.</summary>
    public void MoveNext(ref IdCursor cursor)
    {
        AssertAtEntry(cursor);
        IdNode leaf = NodeAt(cursor.Node);
        cursor = cursor.Place + 1 < leaf.Count
            ? new IdCursor(cursor.Node, cursor.Place + 1) : new IdCursor(leaf.Next, 0);
    }

    /// <summary>Counts the ids that are not below <paramref name="id"/>, but stops soon after <paramref
    /// name="most"/>.</summary>
    public long CountSome(StreamId id, long most)
    {
        long count = 0;
        IdCursor at = From(id);
        // Ends: each round goes on by a leaf.
        while (!at.IsEnd && count < most)
        {
            IdNode leaf = NodeAt(at.Node);
            count += leaf.Count - at.Place;
            at = new IdCursor(leaf.Next, 0);
        }

        return count;
    }

    /// <summary>Adds an id that is not there.</summary>
    /// <returns>Its payload, for the caller to fill.</returns>
    public byte* Insert(StreamId id)
    {
        Debug.Assert(Find(id) == null, "the id is not there");
        head->Count++;
        if (head->Root != 0)
        {
            // The common case: behind all others.
            IdNode last = NodeAt(head->Last);
            int count = last.Count;
            if (count < last.Capacity && last.Ids[count - 1] < id)
            {
                last.Count++;
                last.Ids[count] = id;
                return last.Payload(count, payload);
            }
        }

        return InsertSlow(id);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private byte* InsertSlow(StreamId id)
    {
        if (head->Root == 0) head->Root = head->Last = TakeNode(0, FirstCapacity);
        var path = default(IdPath);
        FindPath(id, ref path);
        uint name = path.Node(0);
        IdNode leaf = NodeAt(name);
        int place = leaf.CountBelow(id);
        if (leaf.IsFull && leaf.Capacity < IdNode.Max)
        {
            head->Root = head->Last = name = Grow(name);
            leaf = NodeAt(name);
        }

        if (!leaf.IsFull) return Put(leaf, place, id);
        uint right = Split(name, place, payload);
        AddChild(ref path, 1, NodeAt(right).Count == 0 ? id : NodeAt(right).Ids[0], right);
        return place > leaf.Count || NodeAt(right).Count == 0
            ? Put(NodeAt(right), place - leaf.Count, id) : Put(leaf, place, id);
    }

    /// <summary>Removes an id.</summary>
    /// <returns>Whether it was there.</returns>
    public bool Remove(StreamId id)
    {
        if (IsEmpty) return false;
        var path = default(IdPath);
        FindPath(id, ref path);
        IdNode leaf = NodeAt(path.Node(0));
        int place = leaf.CountBelow(id);
        if (place == leaf.Count || leaf.Ids[place] != id) return false;
        head->Count--;
        leaf.Close(place, payload);
        if (leaf.Count < SparseBelow) Tidy(ref path);
        return true;
    }

    /// <summary>Gives all nodes back.</summary>
    public void Clear()
    {
        if (head->Root != 0) Clear(head->Root, 0);
        *head = default;
    }

    /// <summary>Gives all nodes back, some at a time.</summary>
    /// <param name="leaf">0 at first, then where to go on. As long as it has not ended, the tree is good for nothing
    /// else.</param>
    /// <param name="most">At most this many nodes; goes down by how many there were.</param>
    /// <returns>True when it has ended.</returns>
    public bool Clear(ref uint leaf, ref int most)
    {
        Debug.Assert(most > 0, "each call gives a node back");
        if (head->Height == 0)
        {
            Clear();
            most--;
            return true;
        }

        if (leaf == 0) leaf = LeafOf(StreamId.Zero);
        // Ends: leaf after leaf. What is above them goes at once: one for thirty.
        for (; leaf != 0 && most > 0; most--)
        {
            uint next = NodeAt(leaf).Next;
            Debug.Assert(NodeAt(leaf).Level == 0, "leaves lead to leaves");
            GiveNode(leaf);
            leaf = next;
        }

        if (leaf != 0) return false;
        Clear(head->Root, 1);
        *head = default;
        return true;
    }

    /// <summary>Walks everything and throws, with what is wrong. For tests.</summary>
    /// <returns>Bytes of its nodes.</returns>
    public long Check()
    {
        if (head->Root == 0)
        {
            Require(head->Count == 0 && head->Last == 0 && head->Height == 0, "has no root and yet something");
            return 0;
        }

        uint previous = 0;
        long count = 0, bytes = Check(head->Root, (int)head->Height, StreamId.Zero, StreamId.Max, isFirst: true,
            ref previous, ref count);
        Require(previous == head->Last, $"ends with leaf {previous}, its head says {head->Last}");
        Require(NodeAt(previous).Next == 0, "has a leaf behind the last one");
        Require(count == head->Count && count != 0, $"has {count} ids, its head says {head->Count}");
        return bytes;
    }

    /// <summary>Bytes of nodes that the trees of a region keep for later.</summary>
    public static long SpareBytes(Region region)
    {
        uint* counts = LargeStream.SpareCounts(region);
        return (counts[0] * SizeOf(IdNode.Max, 0)) + (counts[1] * SizeOf(IdNode.Max, ChildBytes))
            + (counts[2] * SizeOf(IdNode.Max, LargestPayload));
    }

    /// <summary>Gives nodes that were kept for later back to the region.</summary>
    /// <param name="most">At most this many.</param>
    public static void GiveSpare(Region region, int most)
    {
        for (int list = 0; list < 3; list++)
        {
            ref uint spare = ref LargeStream.SpareNodes(region)[list];
            // Ends: one less each round.
            for (; spare != 0 && most > 0; most--)
            {
                uint name = spare;
                spare = new IdNode(region.At(name)).Next;
                Debug.Assert(LargeStream.SpareCounts(region)[list] > 0, "nodes kept for later are counted");
                LargeStream.SpareCounts(region)[list]--;
                region.Give(name, IdNode.BytesFor(IdNode.Max, list == 0 ? 0 : list == 1 ? ChildBytes : LargestPayload));
            }
        }
    }

    /// <summary>Moves nodes out of pages that are to be emptied.</summary>
    /// <param name="next">An id of the leaf that is next; goes up.</param>
    /// <param name="most">At most this many leaves, with what is above them; goes down.</param>
    /// <param name="isDone">Whether that was the last.</param>
    /// <returns>False when the mover has not enough reserved.</returns>
    public bool MoveNodes(ref PieceMover mover, ref StreamId next, ref int most, out bool isDone)
    {
        isDone = IsEmpty;
        // Ends: a leaf further each round.
        for (; !isDone && most > 0; most--)
        {
            var path = default(IdPath);
            FindPath(next, ref path);
            for (int level = (int)head->Height; level >= 0; level--)
                if (!TryMoveNode(ref mover, ref path, level)) return false;
            uint following = NodeAt(path.Node(0)).Next;
            isDone = following == 0;
            if (!isDone) next = NodeAt(following).Ids[0];
        }

        return true;
    }

    private bool TryMoveNode(ref PieceMover mover, ref IdPath path, int level)
    {
        uint name = path.Node(level);
        int bytes = IdNode.BytesFor(NodeAt(name).Capacity, level == 0 ? payload : ChildBytes);
        if (!mover.TryCopy(name, bytes, out uint moved)) return false;
        if (moved == name) return true;
        IdNode node = NodeAt(moved);
        if (level == head->Height) head->Root = moved;
        else NodeAt(path.Node(level + 1)).Children[path.Place(level + 1)] = moved;
        if (level == 0)
        {
            if (node.Previous != 0) NodeAt(node.Previous).Next = moved;
            if (node.Next != 0) NodeAt(node.Next).Previous = moved;
            else head->Last = moved;
        }

        path.Set(level, moved, path.Place(level));
        region.Give(name, bytes);
        return true;
    }

    /// <summary>Throws when the nodes kept for later are not as many as are counted. For tests.</summary>
    public static void CheckSpare(Region region)
    {
        for (int list = 0; list < 3; list++)
        {
            uint count = 0;
            for (uint node = LargeStream.SpareNodes(region)[list]; node != 0; node = new IdNode(region.At(node)).Next)
                count++;
            Require(count == LargeStream.SpareCounts(region)[list],
                $"has {count} spare nodes in list {list}, the region says {LargeStream.SpareCounts(region)[list]}");
        }
    }

    private long Check(uint name, int level, StreamId from, StreamId to, bool isFirst, ref uint previous,
        ref long count)
    {
        IdNode node = NodeAt(name);
        Require(node.Level == level && node.Count != 0
            && node.Count <= node.Capacity, $"has a node of level {node.Level} with {node.Count} entries");
        Require(node.Capacity == IdNode.Max || head->Height == 0, $"has a node with room for {node.Capacity}");
        long bytes = SizeOf(node.Capacity, level == 0 ? payload : ChildBytes);
        for (int i = 0; i < node.Count; i++)
        {
            if (i > 0) Require(node.Ids[i - 1] < node.Ids[i], "has ids out of order");
            if (level == 0)
                Require((isFirst || node.Ids[i] >= from) && node.Ids[i] <= to, "has an id outside of its leaf");
            else if (i == 0) Require(node.Ids[0].IsZero, "has an inner node that begins with an id");
            if (level != 0)
                bytes += Check(node.Children[i], level - 1, i == 0 ? from : node.Ids[i],
                    i + 1 < node.Count ? node.Ids[i + 1] : to, isFirst && i == 0, ref previous, ref count);
        }

        if (level != 0) return bytes;
        Require(node.Previous == previous && (previous == 0 || NodeAt(previous).Next == name),
            "has leaves that are linked otherwise than they lie");
        previous = name;
        count += node.Count;
        return bytes;
    }

    private static int SpareList(int payload)
    {
        Debug.Assert(payload is 0 or ChildBytes or LargestPayload, "there are three sizes of nodes");
        return payload == 0 ? 0 : payload == LargestPayload ? 2 : 1;
    }

    private uint LeafOf(StreamId id)
    {
        uint name = head->Root;
        for (uint level = head->Height; level != 0; level--)
        {
            IdNode node = NodeAt(name);
            name = node.Children[node.ChildOf(id)];
        }

        return name;
    }

    private void FindPath(StreamId id, ref IdPath path)
    {
        uint name = head->Root;
        for (int level = (int)head->Height; level > 0; level--)
        {
            IdNode node = NodeAt(name);
            int child = node.ChildOf(id);
            path.Set(level, name, child);
            name = node.Children[child];
        }

        path.Set(0, name, 0);
    }

    private byte* Put(IdNode leaf, int place, StreamId id)
    {
        Debug.Assert(leaf.Level == 0 && leaf.IsBetween(place, id), "ids stay in order");
        leaf.Open(place, payload);
        leaf.Ids[place] = id;
        return leaf.Payload(place, payload);
    }

    /// <summary>Puts a new node after the one that was split.</summary>
    private void AddChild(ref IdPath path, int level, StreamId id, uint child)
    {
        // Ends: a level further up each round.
        for (; level <= head->Height; level++)
        {
            uint name = path.Node(level);
            IdNode node = NodeAt(name);
            int place = path.Place(level) + 1;
            if (!node.IsFull)
            {
                PutChild(node, place, id, child);
                return;
            }

            uint right = Split(name, place, ChildBytes);
            IdNode other = NodeAt(right);
            StreamId first = other.Count == 0 ? id : other.Ids[0];
            if (place > node.Count || other.Count == 0) PutChild(other, place - node.Count, id, child);
            else PutChild(node, place, id, child);
            other.Ids[0] = StreamId.Zero;
            (id, child) = (first, right);
        }

        uint root = TakeNode(level, IdNode.Max);
        PutChild(NodeAt(root), 0, StreamId.Zero, head->Root);
        PutChild(NodeAt(root), 1, id, child);
        head->Root = root;
        head->Height++;
    }

    private static void PutChild(IdNode node, int place, StreamId id, uint child)
    {
        Debug.Assert(child != 0 && node.Level != 0, "a child goes into an inner node");
        Debug.Assert(node.IsBetween(place, id), "children stay in order");
        node.Open(place, ChildBytes);
        node.Ids[place] = id;
        node.Children[place] = child;
    }

    /// <summary>Splits a full node: a new one after it gets half of the entries; or none, where the next entry comes
    /// after all others.</summary>
    private uint Split(uint name, int place, int bytes)
    {
        Debug.Assert(NodeAt(name).IsFull && NodeAt(name).Capacity == IdNode.Max,
            "only a whole node that is full is split");
        IdNode node = NodeAt(name);
        uint right = TakeNode(node.Level, IdNode.Max);
        IdNode other = NodeAt(right);
        bool isLeaf = node.Level == 0, isLast = isLeaf ? node.Next == 0 : true;
        int kept = isLast && place == node.Count ? node.Count : node.Count / 2;
        node.CopyTo(kept, other, 0, node.Count - kept, bytes);
        other.Count = (ushort)(node.Count - kept);
        node.Count = (ushort)kept;
        if (!isLeaf) return right;
        other.Previous = name;
        other.Next = node.Next;
        if (node.Next != 0) NodeAt(node.Next).Previous = right;
        else head->Last = right;
        node.Next = right;
        return right;
    }

    private uint Grow(uint name)
    {
        Debug.Assert(head->Height == 0 && NodeAt(name).Capacity < IdNode.Max,
            "only a tree of one leaf has a short one");
        IdNode node = NodeAt(name);
        uint grown = TakeNode(0, node.Capacity * 2);
        IdNode other = NodeAt(grown);
        node.CopyTo(0, other, 0, node.Count, payload);
        other.Count = node.Count;
        GiveNode(name);
        return grown;
    }

    /// <summary>Takes nodes out that have become empty, and joins sparse ones, from a leaf upwards.</summary>
    private void Tidy(ref IdPath path)
    {
        // Ends: a level further up each round.
        for (int level = 0; level < head->Height; level++)
        {
            uint name = path.Node(level);
            IdNode node = NodeAt(name), parent = NodeAt(path.Node(level + 1));
            int place = path.Place(level + 1), gone;
            if (node.Count == 0) gone = place;
            else if (node.Count >= SparseBelow) return;
            else if (place + 1 < parent.Count && TryJoin(parent, place)) gone = place + 1;
            else if (place > 0 && TryJoin(parent, place - 1)) gone = place;
            else return;
            Unlink(parent.Children[gone]);
            parent.Close(gone, ChildBytes);
            parent.Ids[0] = StreamId.Zero;
        }

        // Ends: a level less each round.
        while (head->Height != 0 && NodeAt(head->Root).Count == 1)
        {
            uint root = head->Root;
            head->Root = NodeAt(root).Children[0];
            head->Height--;
            GiveNode(root);
        }

        if (head->Count != 0) return;
        Clear();
    }

    private bool TryJoin(IdNode parent, int place)
    {
        Debug.Assert(place >= 0 && place + 1 < parent.Count, "two neighbours are joined");
        IdNode left = NodeAt(parent.Children[place]), right = NodeAt(parent.Children[place + 1]);
        if (left.Count + right.Count > SpareMax) return false;
        // From where on the first child has ids, its parent knows.
        if (right.Level != 0) right.Ids[0] = parent.Ids[place + 1];
        right.CopyTo(0, left, left.Count, right.Count, left.Level == 0 ? payload : ChildBytes);
        left.Count += right.Count;
        return true;
    }

    private void Unlink(uint name)
    {
        IdNode node = NodeAt(name);
        if (node.Level == 0)
        {
            if (node.Previous != 0) NodeAt(node.Previous).Next = node.Next;
            if (node.Next != 0) NodeAt(node.Next).Previous = node.Previous;
            else head->Last = node.Previous;
        }

        GiveNode(name);
    }

    private void Clear(uint name, int lowest)
    {
        IdNode node = NodeAt(name);
        // Recursion is as deep as the tree: seven for any number of ids.
        if (node.Level > lowest)
            for (int i = 0; i < node.Count; i++) Clear(node.Children[i], lowest);
        GiveNode(name);
    }

    private uint TakeNode(int level, int capacity)
    {
        Debug.Assert(level >= 0 && capacity is > 0 and <= IdNode.Max, "nodes have a size");
        int bytes = level == 0 ? payload : ChildBytes;
        ref uint spare = ref LargeStream.SpareNodes(region)[SpareList(bytes)];
        uint name = capacity == IdNode.Max ? spare : 0;
        if (name == 0)
        {
            name = region.Take(IdNode.BytesFor(capacity, bytes));
        }
        else
        {
            Debug.Assert(LargeStream.SpareCounts(region)[SpareList(bytes)] > 0, "nodes kept for later are counted");
            spare = NodeAt(name).Next;
            LargeStream.SpareCounts(region)[SpareList(bytes)]--;
        }

        NodeAt(name).Begin(level, capacity);
        return name;
    }

    /// <summary>Gives a node back, or keeps it for later if it is a whole one: a region does not find pieces of exactly
    /// that size again.</summary>
    private void GiveNode(uint name)
    {
        Debug.Assert(name != 0, "there is a node to give back");
        IdNode node = NodeAt(name);
        int bytes = node.Level == 0 ? payload : ChildBytes;
        if (node.Capacity != IdNode.Max)
        {
            region.Give(name, IdNode.BytesFor(node.Capacity, bytes));
            return;
        }

        ref uint spare = ref LargeStream.SpareNodes(region)[SpareList(bytes)];
        node.Next = spare;
        spare = name;
        LargeStream.SpareCounts(region)[SpareList(bytes)]++;
    }

    [Conditional("DEBUG")]
    private void AssertAtEntry(IdCursor cursor) => Debug.Assert(
        !cursor.IsEnd && (uint)cursor.Place < NodeAt(cursor.Node).Count && NodeAt(cursor.Node).Level == 0,
        "the cursor is at an entry");

    private static long SizeOf(int capacity, int payload) => Region.SizeOf(IdNode.BytesFor(capacity, payload));

    private static void Require(bool holds, string what)
    {
        if (!holds) throw new InvalidOperationException($"A tree of ids is damaged: it {what}.");
    }
}

/// <summary>A place in a tree of ids, until the tree changes. The default is the end.</summary>
internal readonly record struct IdCursor(uint Node, int Place)
{
    public bool IsEnd => Node == 0;
}

/// <summary>The way from the root of a tree to a leaf: for each level a node, and which of its entries.</summary>
internal unsafe struct IdPath
{
    /// <summary>Nodes are split in halves of 16, and only a full root makes a tree higher: 2^32 ids need 8 at
    /// most.</summary>
    public const int LevelsMax = 12;

    private fixed uint _nodes[LevelsMax];
    private fixed byte _places[LevelsMax];

    public readonly uint Node(int level)
    {
        Debug.Assert((uint)level < LevelsMax, "a tree of ids has few levels");
        return _nodes[level];
    }

    public readonly int Place(int level)
    {
        Debug.Assert((uint)level < LevelsMax, "a tree of ids has few levels");
        return _places[level];
    }

    public void Set(int level, uint node, int place)
    {
        Invariant.Check(level < LevelsMax, "a tree of ids has few levels");
        Debug.Assert(node != 0 && (uint)place <= IdNode.Max, "there is a node, and a place in it");
        _nodes[level] = node;
        _places[level] = (byte)place;
    }
}

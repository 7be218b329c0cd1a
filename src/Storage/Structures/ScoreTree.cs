using System.Diagnostics;
using System.Runtime.CompilerServices;

namespace Kv.Storage;

//  head of the region, behind the member table's:  | root 4 | height 4 | leaves 4 | inner nodes 4 | spare nodes 4 | first leaf 4 | last leaf 4 | how many are spare 4 |
//
//             [ 10 a | 40 f | 70 m ]        scores and items of what is first below; counts 3, 3, 2
//              /        |        \
//   [10 a 20 b 30 c]<>[40 f 40 g 50 h]<>[70 m 80 n]        leaves: the elements, by score, then bytes
//
// Invariants: an inner entry's score and item are those of the first element below it, its count the number of elements
// below; leaves are all at one depth, none is empty but the only one. Items are the member table's; their bytes are
// compared at equal scores only.

/// <summary>The elements of a large sorted set in order: any of them by its place, and the place of any, in O(log
/// n).</summary>
/// <remarks>
/// Lives in the region of its member table, which has the members by their bytes, with their scores.
/// Cost: a search goes through a node for each level, about 20 comparisons of scores for a million elements; 12 bytes
/// an element, 17 at usual fill.
/// </remarks>
internal readonly unsafe struct ScoreTree(Region region)
{
    /// <summary>Bytes of the head that are the tree's.</summary>
    public const int HeadBytes = 32;

    public Region Region => region;

    public ref uint Root => ref Head[0];

    /// <summary>Levels of inner nodes.</summary>
    public ref uint Height => ref Head[1];
    public ref uint Leaves => ref Head[2];
    public ref uint InnerNodes => ref Head[3];

    /// <summary>Nodes that are not in use, linked by <see cref="ScoreNode.Next"/>. Kept, since a region does not find
    /// pieces of exactly their size again.</summary>
    public ref uint Spare => ref Head[4];
    public ref uint FirstLeaf => ref Head[5];
    public ref uint LastLeaf => ref Head[6];

    /// <summary>How many nodes are not in use.</summary>
    public ref uint SpareNodes => ref Head[7];

    private uint* Head => (uint*)(region.Head + MemberTable.HeadBytes);

    /// <summary>Elements of the tree.</summary>
    public long Count => NodeAt(Root).Total;

    /// <summary>Begins a tree in a new region that has room for <see cref="ReserveBytes"/> of none.</summary>
    public void Begin()
    {
        Height = 0;
        Root = FirstLeaf = LastLeaf = TakeNode(0);
    }

    /// <summary>Bytes of a region to reserve for this many inserts, in any order.</summary>
    public static long ReserveBytes(Region region, long inserts)
    {
        Debug.Assert(inserts >= 0, "inserts are counted");
        if (region.IsNone) return BuildBytes(inserts);
        var tree = new ScoreTree(region);
        // Few elements stay few, mostly, and a node is more than some of them take.
        if (tree.Height == 0 && tree.Count + inserts <= ScoreNode.LeafMax) return 0;
        // A node for each level and a root is the most that one insert takes.
        long nodes = inserts * (tree.Height + 2);
        if (inserts == 1) return nodes * ScoreNode.Bytes;
        // A split leaves half-full nodes, each of which takes half a node of inserts to be split again. But each leaf
        // that is there may be full; and at the first and the last leaf a split leaves a full one, which may be split
        // again: before that it has taken a whole node of inserts, except for the first time.
        const int leafInserts = (ScoreNode.LeafMax / 2) - 4, innerInserts = (ScoreNode.InnerMax / 2) - 4;
        long leaves = Math.Min(inserts, tree.Leaves) + (inserts / leafInserts) + 4;
        long inner = Math.Min(leaves, tree.InnerNodes) + (leaves / innerInserts) + (2L * (tree.Height + 3));
        return Math.Min(nodes, leaves + inner) * ScoreNode.Bytes;
    }

    /// <summary>Bytes of a region to reserve for building a tree of this many elements.</summary>
    public static long BuildBytes(long elements)
    {
        Debug.Assert(elements >= 0, "elements are counted");
        long nodes = 0, level = elements;
        int fill = ScoreTreeBuilder.LeafFill;
        // Ends: each level has fewer nodes than the one below.
        do
        {
            level = (level / fill) + 1;
            nodes += level;
            fill = ScoreTreeBuilder.InnerFill;
        }
        while (level > 1);
        return nodes * ScoreNode.Bytes;
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public ScoreNode NodeAt(uint node) => new(region.At(node));

    /// <summary>How many entries of a node are before a place.</summary>
    public int CountIn(ScoreNode node, in ScoreBound bound)
    {
        if (bound.IgnoresScore) return CountIn(node, in bound, 0, node.Count);
        double score = bound.Score;
        double* scores = node.Scores;
        int low = node.CountBelow(score), count = node.Count;
        if (low == count || scores[low] != score) return low;
        // Of one score, often all of them: by their bytes.
        int high = scores[count - 1] == score ? count : low + 1;
        while (high < count && scores[high] == score) high++;
        return CountIn(node, in bound, low, high);
    }

    private int CountIn(ScoreNode node, in ScoreBound bound, int low, int high)
    {
        uint* items = node.Items;
        // Ends: the range gets shorter each round.
        while (low < high)
        {
            int middle = (low + high) >>> 1;
            if (bound.IsBehindMember(MemberItem.MemberOf(region.At(items[middle])))) low = middle + 1;
            else high = middle;
        }

        return low;
    }

    /// <summary>How many elements are before a place.</summary>
    public long CountBefore(in ScoreBound bound)
    {
        long count = 0;
        ScoreNode node = NodeAt(Root);
        // Ends: a level further down each round.
        while (node.Level != 0)
        {
            int child = Math.Max(0, CountIn(node, in bound) - 1);
            for (int i = 0; i < child; i++) count += node.Counts[i];
            node = NodeAt(node.Children[child]);
        }

        return count + CountIn(node, in bound);
    }

    /// <summary>The element at a place. There must be one.</summary>
    public ScoreCursor At(long rank)
    {
        Debug.Assert((ulong)rank < (ulong)Count, "there is such an element");
        uint name = Root;
        ScoreNode node = NodeAt(name);
        // Ends: a level further down each round.
        while (node.Level != 0)
        {
            int child = ChildAt(node, ref rank);
            name = node.Children[child];
            node = NodeAt(name);
        }

        return new ScoreCursor(this, name, (int)rank);
    }

    /// <summary>The way to the element at a place.</summary>
    public void FindPath(long rank, ref ScorePath path)
    {
        Debug.Assert((ulong)rank < (ulong)Count, "there is such an element");
        uint name = Root;
        for (int level = (int)Height; level > 0; level--)
        {
            ScoreNode node = NodeAt(name);
            int child = ChildAt(node, ref rank);
            path.Set(level, name, child);
            name = node.Children[child];
        }

        path.Set(0, name, (int)rank);
    }

    /// <summary>The way to a place: in the leaf, how many elements are before it.</summary>
    public void FindPath(in ScoreBound bound, ref ScorePath path)
    {
        uint name = Root;
        for (int level = (int)Height; level > 0; level--)
        {
            ScoreNode node = NodeAt(name);
            int child = Math.Max(0, CountIn(node, in bound) - 1);
            path.Set(level, name, child);
            name = node.Children[child];
        }

        path.Set(0, name, CountIn(NodeAt(name), in bound));
    }

    /// <summary>A node without entries, out of what was reserved.</summary>
    public uint TakeNode(int level)
    {
        Debug.Assert((uint)level < ScorePath.LevelsMax, "a tree of scores has few levels");
        uint node = Spare;
        if (node == 0)
        {
            node = region.Take(ScoreNode.Bytes);
        }
        else
        {
            Spare = NodeAt(node).Next;
            SpareNodes--;
        }

        NodeAt(node).Clear(level);
        if (level == 0) Leaves++;
        else InnerNodes++;
        return node;
    }

    /// <summary>Takes a node that nothing leads to any more.</summary>
    public void GiveNode(uint node)
    {
        Debug.Assert(node != 0 && node != Spare, "a node is given back once");
        if (NodeAt(node).Level == 0) Leaves--;
        else InnerNodes--;
        NodeAt(node).Next = Spare;
        Spare = node;
        SpareNodes++;
    }

    /// <summary>Puts another item of an element into the tree.</summary>
    public void Rename(double score, uint item, uint renamed)
    {
        Debug.Assert(item != 0 && renamed != 0 && item != renamed, "an element gets another item");
        var path = default(ScorePath);
        FindPath(ScoreBound.AfterElement(score, MemberItem.MemberOf(region.At(item))), ref path);
        path.Set(0, path.Node(0), path.Place(0) - 1);
        // An inner entry says what is first below: it may be this element on each level.
        for (int level = 0; level <= Height; level++)
        {
            ref uint name = ref NodeAt(path.Node(level)).Items[path.Place(level)];
            Invariant.Check(level != 0 || name == item, "an element of the member table is in the tree");
            if (name == item) name = renamed;
        }
    }

    /// <summary>Moves nodes out of pages that are to be emptied: leaf after leaf, and what is above them.</summary>
    /// <param name="rank">The rank of the first element of the leaf that is next; goes up.</param>
    /// <param name="most">At most this many leaves.</param>
    /// <returns>False when the mover has not enough reserved.</returns>
    public bool MoveNodes(ref PieceMover mover, ref ulong rank, int most)
    {
        // Nodes that are not in use lie anywhere. Ends: one less each round.
        for (; Spare != 0 && most > 0; most--)
        {
            uint spare = Spare;
            Spare = NodeAt(spare).Next;
            SpareNodes--;
            region.Give(spare, ScoreNode.Bytes);
        }

        for (; (long)rank < Count && most > 0; most--)
        {
            var path = default(ScorePath);
            FindPath((long)rank, ref path);
            for (int level = (int)Height; level >= 0; level--)
            {
                uint name = path.Node(level);
                if (!mover.TryCopy(name, ScoreNode.Bytes, out uint moved)) return false;
                if (moved == name) continue;
                ScoreNode node = NodeAt(moved);
                if (level == Height) Root = moved;
                else NodeAt(path.Node(level + 1)).Children[path.Place(level + 1)] = moved;
                if (level == 0)
                {
                    if (node.Previous != 0) NodeAt(node.Previous).Next = moved;
                    else FirstLeaf = moved;
                    if (node.Next != 0) NodeAt(node.Next).Previous = moved;
                    else LastLeaf = moved;
                }

                path.Set(level, moved, path.Place(level));
                region.Give(name, ScoreNode.Bytes);
            }

            rank += (ulong)(NodeAt(path.Node(0)).Count - path.Place(0));
        }

        return true;
    }

    private static int ChildAt(ScoreNode node, ref long rank)
    {
        int child = 0, last = node.Count - 1;
        for (; child < last && rank >= node.Counts[child]; child++) rank -= node.Counts[child];
        return child;
    }
}

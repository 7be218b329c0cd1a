using System.Diagnostics;

namespace Kv.Storage;

//  insert   a full node gives its upper half to a new one; at an end of the tree it keeps all, or gives all, so that elements
//           that come in order leave full nodes behind
//  remove   a node that gets less than a third full is merged with the one beside it, or takes some from there

/// <summary>Changes a <see cref="ScoreTree"/>: inserts and removes elements.</summary>
/// <remarks>What inserts take has been reserved (<see cref="ScoreTree.ReserveBytes"/>); nothing fails.</remarks>
internal readonly unsafe struct ScoreTreeChange(ScoreTree tree)
{
    /// <summary>Adds an element that is not there.</summary>
    public void Insert(double score, uint item, ReadOnlySpan<byte> member)
    {
        Debug.Assert(!double.IsNaN(score) && item != 0, "a score is a number");
        var path = default(ScorePath);
        tree.FindPath(ScoreBound.AfterElement(score, member), ref path);
        uint child = path.Node(0);
        int place = path.Place(0);
        ScoreNode leaf = tree.NodeAt(child);
        bool atEnd = leaf.Next == 0 && place == leaf.Count, atBegin = leaf.Previous == 0 && place == 0;
        uint added = Insert(child, place, atBegin, atEnd, score, item, 0, 0);
        for (int level = 1; level <= tree.Height; level++)
        {
            uint name = path.Node(level);
            ScoreNode node = tree.NodeAt(name);
            int at = path.Place(level);
            Describe(node, at, child, added == 0 ? node.Counts[at] + 1 : tree.NodeAt(child).Total);
            if (added != 0)
            {
                ScoreNode right = tree.NodeAt(added);
                added = Insert(name, at + 1, false, atEnd
                    && at + 1 == node.Count, right.Scores[0], right.Items[0], added, right.Total);
            }

            child = name;
        }

        if (added != 0) AddRoot(child, added);
    }

    /// <summary>Removes an element that is there.</summary>
    public void Remove(double score, ReadOnlySpan<byte> member)
    {
        var path = default(ScorePath);
        FindElement(score, member, ref path);
        Remove(ref path, 1);
    }

    /// <summary>Gives an element that is there another score.</summary>
    /// <remarks>One node may be needed for each level and one more, as for an insert.</remarks>
    public void Move(double oldScore, double newScore, uint item, ReadOnlySpan<byte> member)
    {
        Debug.Assert(!double.IsNaN(newScore) && item != 0, "a score is a number");
        var path = default(ScorePath);
        FindElement(oldScore, member, ref path);
        ScoreNode leaf = tree.NodeAt(path.Node(0));
        int at = path.Place(0);
        // Most changes of a score are small: it often stays between the two beside it.
        if (at > 0 && at + 1 < leaf.Count && leaf.Scores[at - 1] < newScore && newScore < leaf.Scores[at + 1])
        {
            leaf.Scores[at] = newScore;
            return;
        }

        Remove(ref path, 1);
        Insert(newScore, item, member);
    }

    /// <summary>Takes elements out of one leaf.</summary>
    /// <param name="path">The way to the first of them.</param>
    /// <param name="count">How many, of that leaf.</param>
    public void Remove(ref ScorePath path, int count)
    {
        Debug.Assert(count > 0 && path.Place(0) + count <= tree.NodeAt(path.Node(0)).Count, "they are of one leaf");
        uint child = path.Node(0);
        tree.NodeAt(child).Close(path.Place(0), count);
        for (int level = 1; level <= tree.Height; level++)
        {
            ScoreNode node = tree.NodeAt(path.Node(level)), below = tree.NodeAt(child);
            int at = path.Place(level);
            if (below.Count == 0)
            {
                Drop(node, at, child);
            }
            else
            {
                Describe(node, at, child, node.Counts[at] - (uint)count);
                if (below.Count < below.Min && node.Count > 1) Fill(node, at);
            }

            child = path.Node(level);
        }

        LowerRoot();
    }

    private void FindElement(double score, ReadOnlySpan<byte> member, ref ScorePath path)
    {
        tree.FindPath(ScoreBound.AfterElement(score, member), ref path);
        path.Set(0, path.Node(0), path.Place(0) - 1);
        Invariant.Check(path.Place(0) >= 0 && tree.NodeAt(path.Node(0)).Scores[path.Place(0)] == score,
            "an element of the member table is in the tree");
    }

    /// <summary>Adds an entry to a node.</summary>
    /// <returns>The new node to the right of it that this took, or 0.</returns>
    private uint Insert(uint name, int at, bool atBegin, bool atEnd, double score, uint item, uint child, uint total)
    {
        ScoreNode node = tree.NodeAt(name);
        uint added = 0;
        int count = node.Count;
        if (count == node.Max)
        {
            int kept = atEnd ? count : atBegin ? 0 : count / 2;
            added = Split(name, kept);
            if (at > kept || kept == count)
            {
                node = tree.NodeAt(added);
                at -= kept;
            }
        }

        node.Open(at);
        node.Scores[at] = score;
        node.Items[at] = item;
        if (node.Level == 0) return added;
        node.Children[at] = child;
        node.Counts[at] = total;
        return added;
    }

    private uint Split(uint name, int kept)
    {
        Debug.Assert(tree.NodeAt(name).Count == tree.NodeAt(name).Max, "only a full node is split");
        ScoreNode node = tree.NodeAt(name);
        uint added = tree.TakeNode(node.Level);
        ScoreNode right = tree.NodeAt(added);
        int moved = node.Count - kept;
        node.CopyTo(kept, right, 0, moved);
        node.Count = (ushort)kept;
        right.Count = (ushort)moved;
        if (node.Level != 0) return added;
        right.Previous = name;
        right.Next = node.Next;
        if (node.Next == 0) tree.LastLeaf = added;
        else tree.NodeAt(node.Next).Previous = added;
        node.Next = added;
        return added;
    }

    /// <summary>Writes into an inner entry what is below it.</summary>
    private void Describe(ScoreNode node, int at, uint child, uint total)
    {
        ScoreNode below = tree.NodeAt(child);
        node.Scores[at] = below.Scores[0];
        node.Items[at] = below.Items[0];
        node.Children[at] = child;
        node.Counts[at] = total;
    }

    private void AddRoot(uint left, uint right)
    {
        tree.Height++;
        uint root = tree.TakeNode((int)tree.Height);
        ScoreNode node = tree.NodeAt(root);
        node.Count = 2;
        Describe(node, 0, left, tree.NodeAt(left).Total);
        Describe(node, 1, right, tree.NodeAt(right).Total);
        tree.Root = root;
    }

    private void LowerRoot()
    {
        // Ends: a level lower each round.
        while (tree.Height > 0 && tree.NodeAt(tree.Root).Count <= 1)
        {
            uint root = tree.Root;
            bool isEmpty = tree.NodeAt(root).Count == 0;
            if (!isEmpty) tree.Root = tree.NodeAt(root).Children[0];
            tree.GiveNode(root);
            if (isEmpty) tree.Begin();      // with a node that was just given
            else tree.Height--;
        }
    }

    /// <summary>Takes an empty node out of the tree.</summary>
    private void Drop(ScoreNode node, int at, uint child)
    {
        Debug.Assert(node.Children[at] == child && tree.NodeAt(child).Count == 0, "only an empty child is dropped");
        ScoreNode below = tree.NodeAt(child);
        if (below.Level == 0)
        {
            if (below.Previous == 0) tree.FirstLeaf = below.Next;
            else tree.NodeAt(below.Previous).Next = below.Next;
            if (below.Next == 0) tree.LastLeaf = below.Previous;
            else tree.NodeAt(below.Next).Previous = below.Previous;
        }

        node.Close(at, 1);
        tree.GiveNode(child);
    }

    /// <summary>Fills up a node that has few entries, from the one beside it.</summary>
    private void Fill(ScoreNode node, int at)
    {
        int first = at + 1 < node.Count ? at : at - 1;
        uint leftName = node.Children[first], rightName = node.Children[first + 1];
        ScoreNode left = tree.NodeAt(leftName), right = tree.NodeAt(rightName);
        int both = left.Count + right.Count;
        if (both <= left.Max * 5 / 6)
        {
            right.CopyTo(0, left, left.Count, right.Count);
            left.Count = (ushort)both;
            right.Count = 0;
            Describe(node, first, leftName, node.Counts[first] + node.Counts[first + 1]);
            Drop(node, first + 1, rightName);
            return;
        }

        int half = both / 2, moved = half - left.Count;
        if (moved > 0)
        {
            right.CopyTo(0, left, left.Count, moved);
            right.Close(0, moved);
        }
        else
        {
            right.CopyTo(0, right, -moved, right.Count);
            left.CopyTo(half, right, 0, -moved);
            right.Count += (ushort)-moved;
        }

        left.Count = (ushort)half;
        Describe(node, first, leftName, left.Total);
        Describe(node, first + 1, rightName, right.Total);
    }
}

namespace Kv.Storage;

/// <summary>Makes a tree out of elements that come in order: leaves nine tenths full, then the levels above them.</summary>
/// <remarks>The tree has been begun and is empty; <see cref="ScoreTree.BuildBytes"/> has been reserved.</remarks>
internal unsafe ref struct ScoreTreeBuilder(ScoreTree tree)
{
    public const int LeafFill = ScoreNode.LeafMax * 9 / 10, InnerFill = ScoreNode.InnerMax * 9 / 10;

    private readonly ScoreTree _tree = tree;

    /// <summary>Adds what comes behind all the others.</summary>
    public readonly void Append(double score, uint item)
    {
        ScoreNode leaf = _tree.NodeAt(_tree.LastLeaf);
        if (leaf.Count == LeafFill)
        {
            uint added = _tree.TakeNode(0);
            leaf.Next = added;
            ScoreNode next = _tree.NodeAt(added);
            next.Previous = _tree.LastLeaf;
            _tree.LastLeaf = added;
            leaf = next;
        }

        leaf.Scores[leaf.Count] = score;
        leaf.Items[leaf.Count++] = item;
    }

    /// <summary>Ends it: the levels above the leaves.</summary>
    public readonly void Finish()
    {
        uint first = _tree.FirstLeaf;
        // Ends: each level has fewer nodes than the one below.
        for (int level = 1; _tree.NodeAt(first).Next != 0; level++)
        {
            first = AddLevel(first, level);
            _tree.Height = (uint)level;
        }

        _tree.Root = first;
    }

    private readonly uint AddLevel(uint child, int level)
    {
        uint first = 0, last = 0;
        while (child != 0)
        {
            if (last == 0 || _tree.NodeAt(last).Count == InnerFill)
            {
                uint added = _tree.TakeNode(level);
                if (last == 0) first = added;
                else _tree.NodeAt(last).Next = added;
                last = added;
            }

            ScoreNode node = _tree.NodeAt(last), below = _tree.NodeAt(child);
            int at = node.Count++;
            node.Scores[at] = below.Scores[0];
            node.Items[at] = below.Items[0];
            node.Children[at] = child;
            node.Counts[at] = below.Total;
            child = below.Next;
            if (level > 1) below.Next = 0;      // only leaves stay linked
        }

        return first;
    }
}

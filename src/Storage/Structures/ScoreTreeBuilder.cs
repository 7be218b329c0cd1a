using System.Diagnostics;

namespace Kv.Storage;

/// <summary>Makes a tree out of elements that come in order: leaves nine tenths full, then the levels above
/// them.</summary>
/// <remarks>The tree has been begun and is empty; <see cref="ScoreTree.BuildBytes"/> has been reserved.</remarks>
internal unsafe struct ScoreTreeBuilder(ScoreTree tree)
{
    public const int LeafFill = ScoreNode.LeafMax * 9 / 10, InnerFill = ScoreNode.InnerMax * 9 / 10;

    private readonly ScoreTree _tree = tree;
    private int _level;
    private uint _child, _first, _last;     // next to be put under one of the level; the level's nodes

    /// <summary>Adds the next element, after all others.</summary>
    public readonly void Append(double score, uint item)
    {
        Debug.Assert(_level == 0 && item != 0, "elements come before the levels above them");
        Debug.Assert(!double.IsNaN(score), "a score is a number");
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
    /// <param name="nodes">At most this many nodes are put under others in this call.</param>
    /// <returns>True when the tree is whole.</returns>
    public bool Finish(int nodes = int.MaxValue)
    {
        Debug.Assert(nodes > 0, "each call puts a node under another");
        if (_level == 0) BeginLevel(_tree.FirstLeaf);
        // Ends: each level has fewer nodes than the one below.
        while (_child != 0)
        {
            for (; _child != 0; nodes--)
            {
                if (nodes == 0) return false;
                AddChild();
            }

            _tree.Height = (uint)_level;
            BeginLevel(_first);
        }

        return true;
    }

    private void BeginLevel(uint below)
    {
        bool isRoot = _tree.NodeAt(below).Next == 0;
        if (isRoot) _tree.Root = below;
        _child = isRoot ? 0 : below;
        _first = _last = 0;
        _level++;
    }

    private void AddChild()
    {
        if (_last == 0 || _tree.NodeAt(_last).Count == InnerFill)
        {
            uint added = _tree.TakeNode(_level);
            if (_last == 0) _first = added;
            else _tree.NodeAt(_last).Next = added;
            _last = added;
        }

        ScoreNode node = _tree.NodeAt(_last), below = _tree.NodeAt(_child);
        int at = node.Count++;
        node.Scores[at] = below.Scores[0];
        node.Items[at] = below.Items[0];
        node.Children[at] = _child;
        node.Counts[at] = below.Total;
        _child = below.Next;
        if (_level > 1) below.Next = 0;      // only leaves stay linked
    }
}

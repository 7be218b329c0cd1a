namespace Kv.Storage;

/// <summary>Walks a whole sorted set's tree and throws when anything disagrees, with itself or with the member table.
/// For tests.</summary>
internal unsafe ref struct ScoreTreeCheck
{
    private readonly ScoreTree _tree;
    private readonly MemberTable _table;
    private long _leaves, _innerNodes, _elements;
    private uint _lastLeaf;
    private byte* _lastItem;
    private double _lastScore;

    private ScoreTreeCheck(ScoreTree tree, MemberTable table)
    {
        _tree = tree;
        _table = table;
    }

    /// <summary>Checks it.</summary>
    public static void Run(ScoreTree tree, MemberTable table) => new ScoreTreeCheck(tree, table).Run();

    private void Run()
    {
        Visit(_tree.Root, (int)_tree.Height);
        Require(_tree.LastLeaf == _lastLeaf && _tree.NodeAt(_lastLeaf).Next == 0, "the last leaf is not the last one");
        Require(_tree.Leaves == _leaves, $"{_tree.Leaves} leaves are counted, {_leaves} are there");
        Require(_tree.InnerNodes == _innerNodes,
            $"{_tree.InnerNodes} inner nodes are counted, {_innerNodes} are there");
        Require(_table.Count == _elements, $"the table has {_table.Count} members, the tree {_elements} elements");
    }

    private void Visit(uint name, int level)
    {
        ScoreNode node = _tree.NodeAt(name);
        Require(node.Level == level, $"node {name} has level {node.Level} instead of {level}");
        Require(node.Count <= node.Max && (node.Count > 0 || name == _tree.Root),
            $"node {name} has {node.Count} entries");
        if (level == 0)
        {
            VisitLeaf(name, node);
            return;
        }

        _innerNodes++;
        for (int i = 0; i < node.Count; i++)
        {
            ScoreNode child = _tree.NodeAt(node.Children[i]);
            Require(node.Scores[i].Equals(child.Scores[0])
                && node.Items[i] == child.Items[0], $"entry {i} of node {name} is not the first below it");
            long before = _elements;
            Visit(node.Children[i], level - 1);
            Require(_elements - before == node.Counts[i],
                $"entry {i} of node {name} counts {node.Counts[i]}, {_elements - before} are below");
        }
    }

    private void VisitLeaf(uint name, ScoreNode leaf)
    {
        _leaves++;
        Require(leaf.Previous == _lastLeaf, $"leaf {name} has {leaf.Previous} before it instead of {_lastLeaf}");
        Require(_lastLeaf == 0 ? _tree.FirstLeaf == name : _tree.NodeAt(_lastLeaf).Next == name,
            $"leaf {name} is not the next one");
        _lastLeaf = name;
        for (int i = 0; i < leaf.Count; i++)
        {
            byte* item = _tree.Region.At(leaf.Items[i]);
            double score = leaf.Scores[i];
            var member = MemberItem.MemberOf(item);
            Require(!double.IsNaN(score), $"entry {i} of leaf {name} is not a number");
            Require(ScoreItem.ScoreOf(item).Equals(score), $"entry {i} of leaf {name} has another score than its item");
            uint* place = _table.Find(member, _table.HashOf(member));
            Require(place != null && *place == leaf.Items[i], $"entry {i} of leaf {name} is not the table's");
            bool isBehind = _lastItem == null || _lastScore < score
                || (_lastScore == score && MemberItem.MemberOf(_lastItem).SequenceCompareTo(member) < 0);
            Require(isBehind, $"entry {i} of leaf {name} is not in order");
            _lastItem = item;
            _lastScore = score;
            _elements++;
        }
    }

    private static void Require(bool holds, string what)
    {
        if (!holds) throw new InvalidOperationException($"A sorted set is damaged: {what}.");
    }
}

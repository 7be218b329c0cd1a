namespace Kv.Storage;

/// <summary>The way from the root of a tree to an entry of a leaf: for each level a node, and which of its
/// entries.</summary>
internal unsafe struct ScorePath
{
    /// <summary>A third full at least, but at the ends: 2^32 elements need 8.</summary>
    public const int LevelsMax = 16;

    private fixed uint _nodes[LevelsMax];
    private fixed int _places[LevelsMax];

    public uint Node(int level) => _nodes[level];

    public int Place(int level) => _places[level];

    public void Set(int level, uint node, int place)
    {
        Invariant.Check(level < LevelsMax, "a tree of scores has few levels");
        _nodes[level] = node;
        _places[level] = place;
    }
}

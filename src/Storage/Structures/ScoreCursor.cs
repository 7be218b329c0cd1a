namespace Kv.Storage;

/// <summary>An element of a tree; the next and the previous one from there. No change in between.</summary>
internal unsafe struct ScoreCursor(ScoreTree tree, uint leaf, int place)
{
    private ScoreNode _leaf = tree.NodeAt(leaf);
    private int _place = place;

    public readonly double Score => _leaf.Scores[_place];

    /// <summary>The name of its item in the region.</summary>
    public readonly uint Name => _leaf.Items[_place];

    public readonly byte* Item => tree.Region.At(_leaf.Items[_place]);

    /// <summary>Goes to the next one.</summary>
    /// <returns>False at the end: it is still at the last one.</returns>
    public bool MoveNext()
    {
        if (_place + 1 < _leaf.Count)
        {
            _place++;
            return true;
        }

        if (_leaf.Next == 0) return false;
        _leaf = tree.NodeAt(_leaf.Next);
        _place = 0;
        return true;
    }

    /// <summary>Goes to the one before.</summary>
    /// <returns>False at the beginning: it is still at the first one.</returns>
    public bool MovePrevious()
    {
        if (_place > 0)
        {
            _place--;
            return true;
        }

        if (_leaf.Previous == 0) return false;
        _leaf = tree.NodeAt(_leaf.Previous);
        _place = _leaf.Count - 1;
        return true;
    }
}

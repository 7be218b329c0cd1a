using System.Diagnostics.CodeAnalysis;

namespace Kv.Storage;

/// <summary>The members of a small set or sorted set; those of a set have the score 1.</summary>
internal ref struct ScoredWalk
{
    private readonly bool _isSet;
    private SetView.Walk _set;
    private SortedSetView.Walk _sorted;

    public ScoredWalk(in ValueView value, ref readonly KeyHash hash)
    {
        _isSet = value.Type == DataType.Set;
        if (_isSet) _set = new SetView(value, in hash).GetWalk();
        else _sorted = new SortedSetView(value, in hash).From(0);
    }

    [UnscopedRef]
    public bool Next(out ReadOnlySpan<byte> member, out double score)
    {
        score = 1;
        return _isSet ? _set.Next(out member) : _sorted.Next(out member, out score);
    }
}

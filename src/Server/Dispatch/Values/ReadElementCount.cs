using Kv.Storage;

namespace Kv.Server.Dispatch;

/// <summary>How many elements a sorted set has, in all or in a range.</summary>
internal ref struct ReadElementCount : IValueRead
{
    private readonly ref readonly KeyHash _hash;

    public long Count;

    public ReadElementCount(ref readonly KeyHash hash) => _hash = ref hash;

    public ElementRange Range { get; init; }

    /// <summary>Whether only those in the range count.</summary>
    public bool IsInRange { get; init; }

    /// <inheritdoc/>
    public void Read(in ValueView value)
    {
        var set = new SortedSetView(value, in _hash);
        Count = set.Count;
        if (IsInRange) Range.Find(set, out _, out Count);
    }
}

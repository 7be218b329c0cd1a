using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>How many elements of a sorted set are in a range.</summary>
internal ref struct ReadElementCount : IValueRead
{
    private readonly ref readonly KeyHash _hash;

    public long Count;

    public ReadElementCount(ref readonly KeyHash hash) => _hash = ref hash;

    public ElementRange Range { get; init; }

    /// <inheritdoc/>
    public void Read(in ValueView value) => Range.Find(new SortedSetView(value, in _hash), out _, out Count);
}

namespace Kv.Storage;

/// <summary>The score of one member of a sorted set, and its place, where that is wanted.</summary>
internal ref struct ReadScore : IValueRead
{
    private readonly ReadOnlySpan<byte> _member;
    private readonly ref readonly KeyHash _hash;

    public bool IsMember;
    public double Score;
    public long Rank;

    public ReadScore(ReadOnlySpan<byte> member, ref readonly KeyHash hash)
    {
        _member = member;
        _hash = ref hash;
    }

    public bool WantsRank { get; init; }

    /// <summary>Counts places from the highest score on.</summary>
    public bool IsReversed { get; init; }

    /// <inheritdoc/>
    public void Read(in ValueView value)
    {
        var set = new SortedSetView(value, in _hash);
        if (!WantsRank)
        {
            IsMember = set.TryGetScore(_member, out Score);
            return;
        }

        IsMember = set.TryGetRank(_member, out Rank, out Score);
        if (IsReversed) Rank = set.Count - 1 - Rank;
    }
}

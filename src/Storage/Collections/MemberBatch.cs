namespace Kv.Storage;

/// <summary>Some members of a large collection that are to be looked for in others, so that the waits for their memory are one.</summary>
/// <remarks>Use: <see cref="Fill"/>; for each table <see cref="Prefetch"/>; then look for each member. Nothing changes in between.</remarks>
internal unsafe ref struct MemberBatch
{
    private const int CountMax = 16;

    private fixed ulong _items[CountMax], _hashes[CountMax], _buckets[CountMax];

    public int Count { get; private set; }

    public readonly ReadOnlySpan<byte> Member(int index) => MemberItem.MemberOf((byte*)_items[index]);

    /// <summary>The score of a member of a sorted set.</summary>
    public readonly double Score(int index) => ScoreItem.ScoreOf((byte*)_items[index]);

    public readonly ulong Hash(int index) => _hashes[index];

    /// <summary>Takes the next members of a walk.</summary>
    /// <returns>False when there are none.</returns>
    public bool Fill(ref MemberTable.Walk walk, in KeyHash hash)
    {
        int count = 0;
        for (; count < CountMax && walk.Next(out byte* item); count++)
        {
            _items[count] = (ulong)item;
            _hashes[count] = hash.Of(MemberItem.MemberOf(item));
        }

        Count = count;
        return count != 0;
    }

    /// <summary>Asks for what a table has of these members: all their buckets, then the items.</summary>
    public void Prefetch(Region table)
    {
        for (int i = 0; i < Count; i++) _buckets[i] = (ulong)MemberTable.PrefetchBucket(table.Start, _hashes[i]);
        for (int i = 0; i < Count; i++)
            if (_buckets[i] != 0) MemberTable.PrefetchItem(table.Start, (byte*)_buckets[i], _hashes[i]);
    }
}

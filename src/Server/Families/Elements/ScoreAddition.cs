using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>What ZADD and GEOADD do with very many members: by which rule, what is counted, and the room for all of
/// them.</summary>
internal struct ScoreAddition(ScoreRule rule, bool countsChanges)
{
    private ScoreRoom _room;

    /// <summary>What a new key's record needs; -1: none is made.</summary>
    public readonly int ExpectedBytes =>
        (rule & ScoreRule.OnlyExisting) != 0 ? -1 : _room.ExpectedBytes;

    /// <summary>Sums a member up.</summary>
    public void Read(ReadOnlySpan<byte> member, double score) => _room.Add(member.Length, score);

    /// <summary>Sets a member's score.</summary>
    /// <param name="count">What the command answers.</param>
    /// <returns>Ok; OutOfMemory: nothing has been changed.</returns>
    public StoreStatus Set(HeldValue value, ReadOnlySpan<byte> member, double score, ref long count)
    {
        ScoreOutcome outcome = new SortedSetValue(value).Set(member, ref score, rule, ref _room);
        if (outcome == ScoreOutcome.OutOfMemory) return StoreStatus.OutOfMemory;
        if (outcome == ScoreOutcome.Added || (countsChanges && outcome == ScoreOutcome.Changed)) count++;
        return StoreStatus.Ok;
    }

    /// <summary>Behind all of them.</summary>
    public readonly void Settle(HeldValue value)
    {
        if (_room.IsReserved) new SortedSetValue(value).Settle();
    }
}

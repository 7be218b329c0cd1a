using System.Diagnostics;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>Adds very many members for ZADD and GEOADD: first sums up the room that all of them need, then sets each
/// score by a rule, and counts.</summary>
internal struct ScoreAddition(ScoreRule rule, bool countsChanges)
{
    private ScoreRoom _room;

    /// <summary>What a new key's record needs; <see cref="HeldKey.OnlyIfThere"/> if none is made.</summary>
    public readonly int ExpectedBytes =>
        (rule & ScoreRule.OnlyExisting) != 0 ? HeldKey.OnlyIfThere : _room.ExpectedBytes;

    /// <summary>Adds a member to the sum of the room that is needed.</summary>
    public void Read(ReadOnlySpan<byte> member, double score) => _room.Add(member.Length, score);

    /// <summary>Sets a member's score.</summary>
    /// <param name="count">The number in the reply, which grows if this member counts.</param>
    /// <returns>Ok, or OutOfMemory with nothing changed.</returns>
    public StoreStatus Set(HeldValue value, ReadOnlySpan<byte> member, double score, ref long count)
    {
        Debug.Assert(!double.IsNaN(score), "a score is a number");
        ScoreOutcome outcome = new SortedSetValue(value).Set(member, ref score, rule, ref _room);
        if (outcome == ScoreOutcome.OutOfMemory) return StoreStatus.OutOfMemory;
        if (outcome == ScoreOutcome.Added || (countsChanges && outcome == ScoreOutcome.Changed)) count++;
        return StoreStatus.Ok;
    }

    /// <summary>Ends the change, after all members.</summary>
    public readonly void Settle(HeldValue value)
    {
        if (_room.IsReserved) new SortedSetValue(value).Settle();
    }
}

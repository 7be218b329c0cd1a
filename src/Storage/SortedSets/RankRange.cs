using System.Diagnostics;

namespace Kv.Storage;

/// <summary>Elements of a sorted set that follow each other.</summary>
/// <param name="first">The rank of the first of them.</param>
/// <param name="count">No more than there are.</param>
/// <param name="descending">From the first one towards the least score.</param>
internal struct RankRange(long first, long count, bool descending)
{
    private long _rank = first, _left = count;

    /// <summary>How many there are.</summary>
    public long Count { get; } = count;

    /// <summary>Whether all have been written.</summary>
    public readonly bool IsDone => _left == 0;

    /// <summary>Writes some.</summary>
    /// <returns>True when all have been written.</returns>
    public bool Run<TSink, TBudget>(in SortedSetView set, TSink sink, ref TBudget budget)
        where TSink : IScoreSink where TBudget : struct, IStepBudget
    {
        Debug.Assert(_left >= 0 && _left <= set.Count, "no more are wanted than there are");
        long left = _left;
        if (left == 0) return true;
        var walk = set.From(_rank, descending);
        for (; left > 0 && budget.TryTake() && walk.Next(out var member, out double score); left--)
            sink.Write(member, score);
        _rank += descending ? left - _left : _left - left;
        _left = left;
        return left == 0;
    }
}

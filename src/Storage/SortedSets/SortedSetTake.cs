using System.Diagnostics;

namespace Kv.Storage;

/// <summary>The elements of a sorted set with the least scores, or those with the greatest: all are written, then
/// removed.</summary>
/// <remarks>In this order, so that a sink that gets too much, and throws, has changed nothing.</remarks>
internal struct SortedSetTake
{
    private readonly bool _isAll;
    private RankRange _range;
    private RankRemoval _removal;

    /// <param name="set">Nobody else changes it from here to the end.</param>
    /// <param name="greatest">Which of the two.</param>
    /// <param name="most">So many, or all.</param>
    public SortedSetTake(SortedSetValue set, bool greatest, long most)
    {
        Debug.Assert(most >= 0, "elements are counted");
        long has = set.Count, count = Math.Min(most, has);
        _isAll = count == has;
        _range = new RankRange(greatest ? has - 1 : 0, count, descending: greatest);
        _removal = new RankRemoval(greatest ? has - count : 0, count);
    }

    /// <summary>How many are taken.</summary>
    public readonly long Count => _range.Count;

    /// <summary>Writes some, or removes some when all are written.</summary>
    /// <returns>True when all are removed.</returns>
    public bool Run<TSink, TBudget>(HeldValue value, TSink sink, ref TBudget budget)
        where TSink : IScoreSink where TBudget : struct, IStepBudget
    {
        if (!_range.IsDone)
        {
            _range.Run(new SortedSetValue(value).View, sink, ref budget);
            return false;
        }

        if (!_isAll) return _removal.Run(value, ref budget);
        value.Delete();
        return true;
    }
}

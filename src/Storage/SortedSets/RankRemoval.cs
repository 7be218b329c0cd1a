using System.Diagnostics;

namespace Kv.Storage;

/// <summary>Elements of a sorted set that follow each other, removed.</summary>
/// <param name="first">The rank of the first of them.</param>
/// <param name="count">No more than there are.</param>
internal struct RankRemoval(long first, long count)
{
    private const int RemovedAtOnce = 64;

    private long _left = count;

    /// <summary>Removes some.</summary>
    /// <returns>True when all are removed.</returns>
    public bool Run<TBudget>(HeldValue value, ref TBudget budget) where TBudget : struct, IStepBudget
    {
        if (_left == 0) return true;
        Debug.Assert(first >= 0 && _left >= 0 && first + _left <= new SortedSetValue(value).Count,
            "what goes is there");
        var set = new SortedSetValue(value);
        while (_left > 0)
        {
            long some = TBudget.IsBounded ? Math.Min(_left, RemovedAtOnce) : _left;
            if (!budget.TryTake(some)) return false;
            // Those that go move down to the place of those that have gone.
            set.RemoveAt(first, some);
            _left -= some;
        }

        set.Settle();
        return true;
    }
}

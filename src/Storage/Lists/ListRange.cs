using System.Diagnostics;

namespace Kv.Storage;

/// <summary>Elements of a list that follow each other.</summary>
/// <param name="first">The place of the first of them.</param>
/// <param name="count">No more than there are.</param>
/// <param name="backwards">From the first one towards the beginning of the list.</param>
internal struct ListRange(long first, long count, bool backwards = false)
{
    private long _place = first, _left = count;

    /// <summary>How many there are.</summary>
    public long Count { get; } = count;

    /// <summary>Whether all have been written.</summary>
    public readonly bool IsDone => _left == 0;

    /// <summary>Writes some.</summary>
    /// <returns>True when all have been written.</returns>
    public bool Run<TSink, TBudget>(ListView list, TSink sink, ref TBudget budget)
        where TSink : IElementSink where TBudget : struct, IStepBudget
    {
        Debug.Assert(_left >= 0 && _left <= list.Count, "no more elements are wanted than there are");
        long left = _left;
        if (left == 0) return true;
        var walk = list.GetWalk(_place, backwards);
        for (; left > 0 && budget.TryTake() && walk.Next(out var element); left--) sink.Write(element);
        _place += backwards ? left - _left : _left - left;
        _left = left;
        return left == 0;
    }
}

using System.Diagnostics;

namespace Kv.Storage;

/// <summary>Elements of a list that equal one, removed.</summary>
/// <param name="most">How many at most; not 0.</param>
/// <param name="fromRight">Begin with the last.</param>
internal struct ListRemoval(long most, bool fromRight)
{
    private const int LeavesAtOnce = 16, RoundCost = IStepBudget.WholePiece;

    private int _first, _at = LargeList.RemovalEnds;
    private bool _isSearched;

    /// <summary>How many have been removed.</summary>
    public long Removed { get; private set; }

    /// <summary>Removes some.</summary>
    /// <param name="element">Given again by each call.</param>
    /// <returns>True when all are removed.</returns>
    public bool Run<TBudget>(HeldValue value, scoped ReadOnlySpan<byte> element, ref TBudget budget)
        where TBudget : struct, IStepBudget
    {
        Debug.Assert(most > 0 && Removed <= most, "no more are removed than are wanted");
        var list = new ListValue(value);
        if (list.Leaves == 0 || !TBudget.IsBounded)
        {
            Removed = list.RemoveEqual(element, most, fromRight);
            if (Removed != 0) list.Settle();
            return true;
        }

        while (!_isSearched)
        {
            if (!budget.TryTake(RoundCost)) return false;
            Removed += list.RemoveEqual(element, most - Removed, fromRight, ref _first, LeavesAtOnce);
            _isSearched = Removed == most || _first >= list.Leaves;
        }

        if (Removed == 0) return true;
        // Ends: each round sees to some leaves.
        do
        {
            if (!budget.TryTake(RoundCost)) return false;
        }
        while (!list.EndRemoval(ref _at, LeavesAtOnce));
        list.Settle();
        return true;
    }
}

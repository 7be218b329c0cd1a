using System.Diagnostics;

namespace Kv.Storage;

/// <summary>Elements of a list that stay; those before and after them are removed.</summary>
/// <param name="first">The place of the first one that stays.</param>
/// <param name="count">How many stay; 0: the key is deleted.</param>
internal struct ListTrim(long first, long count)
{
    /// <summary>Leaves are freed without a look at what is in them: more go at once than elements would.</summary>
    private const int ElementsAtOnce = 4096, LeavesAtOnce = 1024, RoundCost = IStepBudget.WholePiece;

    private long _first = first;
    private bool _hasChanged;

    /// <summary>Removes some.</summary>
    /// <returns>True when only those are left that stay.</returns>
    public bool Run<TBudget>(HeldValue value, ref TBudget budget) where TBudget : struct, IStepBudget
    {
        Debug.Assert(_first >= 0 && count >= 0 && (count == 0 || _first + count <= new ListValue(value).Count),
            "what stays is there");
        if (!_hasChanged) value.BeginChange();
        _hasChanged = true;
        if (count == 0)
        {
            value.Delete();
            return true;
        }

        var list = new ListValue(value);
        // Ends: each round removes some.
        while (true)
        {
            long has = list.Count, after = has - _first - count;
            if (after == 0 && _first == 0) break;
            if (!budget.TryTake(RoundCost)) return false;
            bool fromRight = after != 0;
            long some = fromRight ? after : _first;
            if (TBudget.IsBounded && some > ElementsAtOnce && list.Leaves != 0)
                some = Math.Min(some, list.CountIn(fromRight ? has - 1 : 0, LeavesAtOnce, backwards: fromRight));
            list.Remove(fromRight ? has - some : 0, some);
            if (!fromRight) _first -= some;
        }

        list.Settle();
        return true;
    }
}

using System.Diagnostics;

namespace Kv.Storage;

/// <summary>Elements from an end of a list: all are written, then removed.</summary>
/// <remarks>In this order, so that a sink that gets too much, and throws, has changed nothing.</remarks>
internal struct ListTake
{
    private ListRange _range;
    private ListTrim _rest;

    /// <param name="list">Nobody else changes it from here to the end.</param>
    /// <param name="left">From which end.</param>
    /// <param name="most">How many, or all if there are fewer.</param>
    public ListTake(ListValue list, bool left, long most)
    {
        Debug.Assert(most >= 0, "elements are counted");
        long has = list.Count, count = Math.Min(most, has);
        _range = new ListRange(left ? 0 : has - 1, count, backwards: !left);
        _rest = new ListTrim(left ? count : 0, has - count);
    }

    /// <summary>How many are taken.</summary>
    public readonly long Count => _range.Count;

    /// <summary>Writes some, or removes some when all are written.</summary>
    /// <returns>True when all are removed.</returns>
    public bool Run<TSink, TBudget>(HeldValue value, TSink sink, ref TBudget budget)
        where TSink : IElementSink where TBudget : struct, IStepBudget
    {
        if (_range.IsDone) return Count == 0 || _rest.Run(value, ref budget);
        _range.Run(new ListValue(value).View, sink, ref budget);
        return false;
    }
}

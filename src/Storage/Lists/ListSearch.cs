using System.Diagnostics;

namespace Kv.Storage;

/// <summary>Places of a list whose elements equal one.</summary>
/// <param name="rank">Which match is the first one wanted, from 1 on; below 0 from the end of the list on.</param>
/// <param name="most">How many are wanted; not 0.</param>
/// <param name="looked">How many elements to look at; no more than there are.</param>
internal struct ListSearch(long rank, long most, long looked)
{
    private const int LeavesAtOnce = 16, RoundCost = IStepBudget.WholePiece;

    private long _looked = 0, _matches = 0;

    /// <summary>How many of the wanted places were found.</summary>
    public long Found { get; private set; }

    /// <summary>The place of the last of them.</summary>
    public long Place { get; private set; } = -1;

    /// <summary>Looks at some.</summary>
    /// <param name="element">Given again by each call.</param>
    /// <param name="sink">Gets the places.</param>
    /// <returns>True when nothing more is to be found.</returns>
    public bool Run<TSink, TBudget>(ListValue list, scoped ReadOnlySpan<byte> element, TSink sink,
        ref TBudget budget)
        where TSink : IPlaceSink where TBudget : struct, IStepBudget
    {
        Debug.Assert(rank != 0 && most > 0 && looked <= list.Count,
            "matches are counted from 1, among elements that are there");
        long length = list.Count, first = Math.Abs(rank);
        bool backwards = rank < 0;
        while (_looked < looked)
        {
            if (!budget.TryTake(RoundCost)) return false;
            long from = backwards ? length - 1 - _looked : _looked, end = looked;
            if (TBudget.IsBounded && list.Leaves != 0)
                end = Math.Min(end, _looked + list.CountIn(from, LeavesAtOnce, backwards));
            var walk = list.View.GetWalk(from, backwards);
            long at = _looked;
            for (; at < end && walk.Next(out var next); at++)
            {
                if (!next.SequenceEqual(element) || ++_matches < first) continue;
                Place = backwards ? length - 1 - at : at;
                sink.Write(Place);
                if (++Found == most) return true;
            }

            _looked = at;
        }

        return true;
    }
}

/// <summary>Takes places of elements.</summary>
internal interface IPlaceSink
{
    /// <param name="place">From 0 on.</param>
    void Write(long place);
}

/// <summary>Needs none of the places.</summary>
internal readonly struct NoPlaces : IPlaceSink
{
    public void Write(long place)
    {
    }
}

using System.Diagnostics;

namespace Kv.Storage;

/// <summary>Entries of a stream from one id to another, both of them too.</summary>
/// <param name="first">The least id.</param>
/// <param name="last">The greatest; below the least: there are none.</param>
/// <param name="most">How many at most.</param>
/// <param name="isBackward">From the greatest to the least.</param>
internal struct StreamEntries(StreamId first, StreamId last, long most, bool isBackward)
{
    private StreamId _first = first, _last = last;

    /// <summary>How many have been written.</summary>
    public long Written { get; private set; }

    /// <summary>Whether there are more than <paramref name="than"/> of them.</summary>
    public readonly bool AreMore(StreamView stream, long than) => most > than && stream.HasMore(_first, _last, than);

    /// <summary>Writes some.</summary>
    /// <returns>True when all have been written.</returns>
    public bool Run<TSink, TBudget>(StreamView stream, TSink sink, ref TBudget budget)
        where TSink : IEntrySink where TBudget : struct, IStepBudget
    {
        if (_first > _last) return true;
        var walk = stream.Between(_first, _last, isBackward);
        StreamId at = default;
        while (budget.TryTake())
        {
            if (Written == most || !walk.Next(out StreamEntry entry)) return true;
            at = entry.Id;
            sink.Write(entry);
            Written++;
        }

        Debug.Assert(!at.IsZero && Written <= most, "each call writes an entry, or is the last");
        // After the last one that was written.
        return isBackward ? !at.TryPrevious(out _last) : !at.TryNext(out _first);
    }
}

/// <summary>Takes entries of a stream.</summary>
internal interface IEntrySink
{
    /// <param name="entry">Valid during the call.</param>
    void Write(scoped StreamEntry entry);
}

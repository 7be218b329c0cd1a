using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>Many entries of a stream, for XRANGE and XREVRANGE.</summary>
internal sealed class LongEntries(StreamId first, StreamId last, long most, bool isBackward) : LongElements
{
    private StreamId _first = first, _last = last;

    /// <summary>Begins, if there are many.</summary>
    /// <param name="first">The least id.</param>
    /// <param name="most">At most so many.</param>
    /// <returns>False: do it all in this turn.</returns>
    public static bool TryBegin(ref CommandContext context, in HeldKey held, StreamId first, StreamId last, long most,
        bool isBackward) =>
        IsWanted(ref context, most) && new StreamView(held.Value.View).HasMore(first, last, StepBudget.OneTurnMax)
        && new LongEntries(first, last, most, isBackward).TryBegin(ref context, held, ReplyHead.Array, count: 0);

    protected override bool Work(in HeldKeys held, LongReply reply)
    {
        var walk = new StreamView(held.View(0)).Between(_first, _last, isBackward);
        StreamId at = default;
        for (var budget = new StepBudget(reply); budget.TryTake();)
        {
            if (Count == most || !walk.Next(out StreamEntry entry)) return true;
            StreamReply.WriteEntry(reply.Next(), entry);
            Count++;
            at = entry.Id;
        }

        // Behind the last one that was answered.
        return isBackward ? !at.TryPrevious(out _last) : !at.TryNext(out _first);
    }
}

using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>Many elements of a list that follow each other, for LRANGE.</summary>
internal sealed class LongRange(long first, long count) : LongElements
{
    private long _first = first, _left = count;

    /// <summary>Begins, if there are many.</summary>
    /// <returns>False: do it all in this turn.</returns>
    public static bool TryBegin(ref CommandContext context, in HeldKey held, long first, long count) =>
        IsWanted(ref context, count) && new LongRange(first, count).TryBegin(ref context, held, ReplyHead.Array, count);

    protected override bool Work(in HeldKeys held, LongReply reply)
    {
        HeldValue value = held.Value(0);
        var walk = new ListValue(value).View.GetWalk(_first);
        for (var budget = new StepBudget(reply); _left > 0 && budget.TryTake() && walk.Next(out var element);
            _left--, _first++) reply.Next().WriteBulk(element);
        return _left == 0;
    }
}

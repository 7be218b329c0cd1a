using Kv.Storage;

namespace Kv.Server.Dispatch;

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
        long count = Math.Min(_left, ElementsPerStep);
        _left -= count;
        var walk = new ListValue(value).View.GetWalk(_first);
        for (_first += count; count > 0 && walk.Next(out var element); count--) reply.Next().WriteBulk(element);
        return _left == 0;
    }
}

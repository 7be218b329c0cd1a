using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>All fields of a large hash, their values, or both, for HKEYS, HVALS and HGETALL.</summary>
/// <remarks>What has expired when it begins is left out, and stays: taking it out of a large hash is work of its
/// own.</remarks>
internal sealed class LongFields(bool fields, bool values, long nowMs) : LongElements
{
    private MemberPlace _place;

    /// <summary>Begins, if there are many.</summary>
    /// <returns>False: do it all in this turn.</returns>
    public static bool TryBegin(ref CommandContext context, in HeldKey held, bool fields, bool values)
    {
        long count = new HashValue(held.Value).Count;
        return IsWanted(ref context, count) && held.Value.Kind == ValueKind.Hash
            && new LongFields(fields, values, context.Store.NowMs)
                .TryBegin(ref context, held, fields && values ? ReplyHead.Map : ReplyHead.Array, count: 0);
    }

    protected override bool Work(in HeldKeys held, LongReply reply)
    {
        HeldValue value = held.Value(0);
        var walk = new HashView(value.View, in value.Hash, nowMs).GetWalk(_place);
        for (var budget = new StepBudget(reply); budget.TryTake();)
        {
            if (!walk.Next(out var field, out var content)) return true;
            Count++;
            if (fields) reply.Next().WriteBulk(field);
            if (values) reply.Next().WriteBulk(content);
        }

        _place = walk.Place;
        return false;
    }
}

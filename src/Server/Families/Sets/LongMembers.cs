using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>All members of a large set, for SMEMBERS; SPOP of all of them deletes the key behind it.</summary>
internal sealed class LongMembers(bool deletes) : LongElements
{
    private MemberPlace _place;

    /// <summary>Begins, if there are many.</summary>
    /// <param name="count">All of them.</param>
    /// <returns>False: do it all in this turn.</returns>
    public static bool TryBegin(ref CommandContext context, in HeldKey held, long count, bool deletes = false) =>
        IsWanted(ref context, count) && held.Value.Kind == ValueKind.Set
        && new LongMembers(deletes).TryBegin(ref context, held, ReplyHead.Set, count);

    protected override bool Work(in HeldKeys held, LongReply reply)
    {
        HeldValue value = held.Value(0);
        var walk = new SetValue(value).View.GetWalk(_place);
        for (var budget = new StepBudget(reply); budget.TryTake();)
        {
            if (walk.Next(out var member))
            {
                reply.Next().WriteBulk(member);
                continue;
            }

            if (deletes) value.Delete();
            return true;
        }

        _place = walk.Place;
        return false;
    }
}

using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>Large sets combined, for SUNION, SINTER, SDIFF, their STORE forms and SINTERCARD.</summary>
internal sealed class LongSets(SetCombination sets, bool stores) : LongElements
{
    private SetCombination _sets = sets;
    private MemberPlace _place;
    private bool _isCombined;

    /// <summary>Begins, if there is much to do; the combination is disposed by it.</summary>
    /// <returns>False: do it all in this turn.</returns>
    public static bool TryBegin(ref CommandContext context, in HeldKeys held, SetCombination sets, bool stores) =>
        IsWanted(ref context, sets.Work(held))
        && new LongSets(sets, stores)
            .TryBegin(ref context, held, stores || sets.OnlyCounts ? ReplyHead.Number : ReplyHead.Set);

    public override void Dispose()
    {
        base.Dispose();
        _sets.Dispose();
    }

    protected override bool Work(in HeldKeys held, LongReply reply)
    {
        if (_isCombined) return Write(reply);
        if (!_sets.Run(held, ElementsPerStep)) return false;
        _isCombined = true;
        Count = _sets.Count;
        Status = _sets.Status;
        if (Status == StoreStatus.Ok && stores) Status = _sets.Result.Store(held.Value(0));
        return Status != StoreStatus.Ok || stores || _sets.OnlyCounts || Count == 0;
    }

    private unsafe bool Write(LongReply reply)
    {
        var walk = _sets.Result.GetWalk(_place);
        for (var budget = new StepBudget(reply); budget.TryTake();)
        {
            if (!walk.Next(out byte* item)) return true;
            reply.Next().WriteBulk(MemberItem.MemberOf(item));
        }

        _place = walk.Place;
        return false;
    }
}

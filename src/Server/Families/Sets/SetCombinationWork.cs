using System.Diagnostics;
using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>SUNION, SINTER, SDIFF, their STORE forms and SINTERCARD.</summary>
internal struct SetCombinationWork(SetCombination sets, bool stores) : IKeysWork
{
    private MemberPlace _place;
    private bool _isCombined;

    public readonly ReplyHead Head => stores || sets.OnlyCounts ? ReplyHead.Number : ReplyHead.Set;

    public readonly long Count => _isCombined ? sets.Count : -1;

    public static bool MayFail => true;

    public StoreStatus Status { get; private set; } = StoreStatus.Ok;

    public bool IsLong(in HeldKeys held) => sets.Work(held) > StepBudget.OneTurnMax;

    public void Dispose() => sets.Dispose();

    public bool Run<TReply, TBudget>(in HeldKeys held, TReply reply, ref TBudget budget)
        where TReply : struct, IReplyTarget where TBudget : struct, IStepBudget
    {
        if (!_isCombined)
        {
            if (!sets.Run(held, TBudget.IsBounded ? IStepBudget.WholePiece : long.MaxValue)) return false;
            _isCombined = true;
            Status = sets.Status;
            if (Status == StoreStatus.Ok && stores) Status = sets.Result.Store(held.Value(0));
            return Status != StoreStatus.Ok || Head == ReplyHead.Number || sets.Count == 0;
        }

        return Write(reply, ref budget);
    }

    private unsafe bool Write<TReply, TBudget>(TReply reply, ref TBudget budget)
        where TReply : struct, IReplyTarget where TBudget : struct, IStepBudget
    {
        Debug.Assert(_isCombined && Status == StoreStatus.Ok, "the result is there to be written");
        var walk = sets.Result.GetWalk(_place);
        while (budget.TryTake())
        {
            if (!walk.Next(out byte* item)) return true;
            reply.Next().WriteBulk(MemberItem.MemberOf(item));
        }

        _place = walk.Place;
        return false;
    }
}

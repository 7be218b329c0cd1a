using System.Diagnostics;
using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>ZUNION, ZINTER, ZDIFF, their STORE forms and ZINTERCARD.</summary>
internal struct SortedSetCombinationWork(SortedSetCombination sets, bool stores, ScoreForm form) : IKeysWork
{
    private long _rank;
    private bool _isCombined;

    public readonly ReplyHead Head => stores || sets.OnlyCounts ? ReplyHead.Number : ReplyHead.Array;

    public readonly long Count =>
        !_isCombined ? -1 : Head == ReplyHead.Number ? sets.Count : form.Elements(sets.Count);

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
        Debug.Assert(_isCombined && _rank < sets.Count, "there is an element to be written");
        ScoreCursor cursor = sets.Result.At(_rank);
        for (; budget.TryTake(); cursor.MoveNext())
        {
            form.Write(reply.Next(), MemberItem.MemberOf(cursor.Item), cursor.Score);
            if (++_rank == sets.Count) return true;
        }

        return false;
    }
}

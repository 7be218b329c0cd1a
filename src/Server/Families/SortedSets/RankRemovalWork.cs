using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>ZREMRANGEBYRANK and its kin: removes elements that follow each other.</summary>
internal struct RankRemovalWork(RankRemoval removal, long count) : IValueWork
{
    public readonly ReplyHead Head => ReplyHead.Number;

    public readonly long Count => count;

    public static bool Changes => true;

    // To remove all is to free one piece of memory.
    public readonly bool IsLong(HeldValue value) =>
        count > StepBudget.OneTurnMax && count < new SortedSetValue(value).Count;

    public bool Run<TReply, TBudget>(HeldValue value, TReply reply, ref TBudget budget)
        where TReply : struct, IReplyTarget where TBudget : struct, IStepBudget => removal.Run(value, ref budget);
}

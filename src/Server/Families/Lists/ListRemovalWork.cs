using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>LREM: removes elements that equal one.</summary>
internal struct ListRemovalWork(KeptArgument element, ListRemoval removal) : IValueWork
{
    private const int LeavesMax = 32;

    public readonly ReplyHead Head => ReplyHead.Number;

    public readonly long Count => removal.Removed;

    public static bool Changes => true;

    public readonly bool IsLong(HeldValue value) => new ListValue(value).Leaves > LeavesMax;

    public void Keep() => element.Keep();

    public bool Run<TReply, TBudget>(HeldValue value, TReply reply, ref TBudget budget)
        where TReply : struct, IReplyTarget where TBudget : struct, IStepBudget =>
        removal.Run(value, element.Span, ref budget);
}

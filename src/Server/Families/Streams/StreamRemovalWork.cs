using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>XGROUP DESTROY: removes a group, of which there is one.</summary>
/// <param name="pending">How much is pending in it.</param>
internal struct StreamGroupRemovalWork(KeptArgument name, StreamGroupRemoval removal, long pending) : IValueWork
{
    private const int PendingPerNode = 4;

    public readonly ReplyHead Head => ReplyHead.Number;

    public readonly long Count => 1;

    public static bool Changes => true;

    public readonly bool IsLong(HeldValue value) => pending / PendingPerNode > StepBudget.OneTurnMax;

    public void Keep() => name.Keep();

    public bool Run<TReply, TBudget>(HeldValue value, TReply reply, ref TBudget budget)
        where TReply : struct, IReplyTarget where TBudget : struct, IStepBudget =>
        removal.Run(value, name.Span, ref budget);
}

/// <summary>XGROUP DELCONSUMER: removes a consumer, of whom there is one.</summary>
/// <param name="pending">How much is pending with it: the answer.</param>
internal struct StreamConsumerRemovalWork(KeptArgument name, StreamConsumerRemoval removal, long pending) : IValueWork
{
    public readonly ReplyHead Head => ReplyHead.Number;

    public readonly long Count => pending;

    public static bool Changes => true;

    public readonly bool IsLong(HeldValue value) => pending > StepBudget.OneTurnMax;

    public void Keep() => name.Keep();

    public bool Run<TReply, TBudget>(HeldValue value, TReply reply, ref TBudget budget)
        where TReply : struct, IReplyTarget where TBudget : struct, IStepBudget =>
        removal.Run(value, name.Span, ref budget);
}

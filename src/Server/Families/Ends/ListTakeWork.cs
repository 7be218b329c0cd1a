using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>LPOP, RPOP and LMPOP with a count, and BLMPOP: elements from an end of a list.</summary>
internal struct ListTakeWork(ListTake take) : IValueWork
{
    public readonly ReplyHead Head => ReplyHead.Array;

    public readonly long Count => take.Count;

    public static bool Changes => true;

    public readonly bool IsLong(HeldValue value) => take.Count > StepBudget.OneTurnMax;

    public bool Run<TReply, TBudget>(HeldValue value, TReply reply, ref TBudget budget)
        where TReply : struct, IReplyTarget where TBudget : struct, IStepBudget
    {
        var sink = new BulkSink<TReply>(reply);
        return take.Run(value, sink, ref budget);
    }
}

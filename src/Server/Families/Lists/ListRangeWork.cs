using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>LRANGE: elements that follow each other.</summary>
internal struct ListRangeWork(ListRange range) : IValueWork
{
    public readonly ReplyHead Head => ReplyHead.Array;

    public readonly long Count => range.Count;

    public readonly bool IsLong(HeldValue value) => range.Count > StepBudget.OneTurnMax;

    public bool Run<TReply, TBudget>(HeldValue value, TReply reply, ref TBudget budget)
        where TReply : struct, IReplyTarget where TBudget : struct, IStepBudget
    {
        var sink = new BulkSink<TReply>(reply);
        return range.Run(new ListValue(value).View, sink, ref budget);
    }
}

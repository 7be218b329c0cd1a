using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>SPOP: members drawn at random, but not all.</summary>
/// <param name="alone">One member, not in a set.</param>
internal struct SetDrawWork(SetDraw draw, long count, bool alone) : IValueWork
{
    public readonly ReplyHead Head => alone ? ReplyHead.None : ReplyHead.Set;

    public readonly long Count => count;

    public static bool Changes => true;

    public readonly bool IsLong(HeldValue value) => count > StepBudget.OneTurnMax && value.Kind == ValueKind.Set;

    public bool Run<TReply, TBudget>(HeldValue value, TReply reply, ref TBudget budget)
        where TReply : struct, IReplyTarget where TBudget : struct, IStepBudget
    {
        var sink = new BulkSink<TReply>(reply);
        return draw.Run(value, sink, ref budget);
    }
}

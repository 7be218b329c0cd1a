using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>ZPOPMIN, ZPOPMAX and ZMPOP with a count, and BZMPOP: members with the least scores, or the
/// greatest.</summary>
internal struct SortedSetTakeWork(SortedSetTake take, ScoreForm form) : IValueWork
{
    public readonly ReplyHead Head => ReplyHead.Array;

    public readonly long Count => form.Elements(take.Count);

    public static bool Changes => true;

    public readonly bool IsLong(HeldValue value) => take.Count > StepBudget.OneTurnMax;

    public bool Run<TReply, TBudget>(HeldValue value, TReply reply, ref TBudget budget)
        where TReply : struct, IReplyTarget where TBudget : struct, IStepBudget
    {
        var sink = new ScoreSink<TReply>(reply, form);
        return take.Run(value, sink, ref budget);
    }
}

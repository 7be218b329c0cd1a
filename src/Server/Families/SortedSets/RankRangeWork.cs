using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>ZRANGE and its kin: elements that follow each other.</summary>
internal struct RankRangeWork(RankRange range, ScoreForm form) : IValueWork
{
    public readonly ReplyHead Head => ReplyHead.Array;

    public readonly long Count => form.Elements(range.Count);

    public readonly bool IsLong(HeldValue value) => range.Count > StepBudget.OneTurnMax;

    public bool Run<TReply, TBudget>(HeldValue value, TReply reply, ref TBudget budget)
        where TReply : struct, IReplyTarget where TBudget : struct, IStepBudget
    {
        var sink = new ScoreSink<TReply>(reply, form);
        return range.Run(new SortedSetValue(value).View, sink, ref budget);
    }
}

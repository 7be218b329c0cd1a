using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>LTRIM: removes what is outside of a range.</summary>
internal struct ListTrimWork(ListTrim trim) : IValueWork
{
    private const int LeavesMax = 4096;

    public readonly ReplyHead Head => ReplyHead.Ok;

    public readonly long Count => 0;

    public static bool Changes => true;

    public readonly bool IsLong(HeldValue value) => new ListValue(value).Leaves > LeavesMax;

    public bool Run<TReply, TBudget>(HeldValue value, TReply reply, ref TBudget budget)
        where TReply : struct, IReplyTarget where TBudget : struct, IStepBudget => trim.Run(value, ref budget);
}

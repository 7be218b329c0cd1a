using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>SMEMBERS: all members; SPOP of all of them, which then deletes the key.</summary>
internal struct SetMembersWork(long count, bool deletes) : IValueWork
{
    private SetMembers _members;

    public readonly ReplyHead Head => ReplyHead.Set;

    public readonly long Count => count;

    public readonly bool IsLong(HeldValue value) => count > StepBudget.OneTurnMax && value.Kind == ValueKind.Set;

    public bool Run<TReply, TBudget>(HeldValue value, TReply reply, ref TBudget budget)
        where TReply : struct, IReplyTarget where TBudget : struct, IStepBudget
    {
        var sink = new BulkSink<TReply>(reply);
        if (!_members.Run(new SetValue(value).View, sink, ref budget)) return false;
        if (deletes) value.Delete();
        return true;
    }
}

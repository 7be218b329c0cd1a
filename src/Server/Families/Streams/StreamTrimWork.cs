using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>XTRIM, and XADD once it has added: removes entries from the front.</summary>
/// <param name="added">What was added just before: its id is the reply; 0-0: nothing was, and the reply says how many
/// were removed.</param>
internal struct StreamTrimWork(StreamTrim trim, StreamId added = default) : IOpenWork
{
    private long _removed;

    public readonly ReplyHead Head => added.IsZero ? ReplyHead.Number : ReplyHead.None;

    public readonly long Count => _removed;

    public static bool Changes => true;

    public bool Run<TReply, TBudget>(HeldValue value, TReply reply, ref TBudget budget)
        where TReply : struct, IReplyTarget where TBudget : struct, IStepBudget
    {
        if (!new StreamValue(value).Trim(in trim, ref _removed, ref budget)) return false;
        if (!added.IsZero) StreamIdText.Write(reply.Next(), added);
        return true;
    }
}

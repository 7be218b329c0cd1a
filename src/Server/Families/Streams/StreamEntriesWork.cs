using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>XRANGE and XREVRANGE: entries that follow each other.</summary>
internal struct StreamEntriesWork(StreamEntries entries) : IValueWork
{
    private bool _isDone;

    public readonly ReplyHead Head => ReplyHead.Array;

    public readonly long Count => _isDone ? entries.Written : -1;

    public readonly bool IsLong(HeldValue value) =>
        entries.AreMore(new StreamView(value.View), StepBudget.OneTurnMax);

    public bool Run<TReply, TBudget>(HeldValue value, TReply reply, ref TBudget budget)
        where TReply : struct, IReplyTarget where TBudget : struct, IStepBudget
    {
        _isDone = entries.Run(new StreamView(value.View), new EntrySink<TReply>(reply), ref budget);
        return _isDone;
    }

    private readonly struct EntrySink<TReply>(TReply reply) : IEntrySink where TReply : struct, IReplyTarget
    {
        public void Write(scoped StreamEntry entry) => StreamReply.WriteEntry(reply.Next(), entry);
    }
}

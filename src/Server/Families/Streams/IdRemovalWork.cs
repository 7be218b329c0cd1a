using System.Diagnostics;
using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>XDEL, XACK: deletes entries, or ends that they are pending in a group. One of the ids is none: then nothing
/// is done.</summary>
/// <param name="first">The first of the ids among the arguments; all behind it are ids.</param>
/// <param name="group">What it is called in the region; 0: entries are deleted.</param>
internal struct IdRemovalWork(KeptArguments arguments, int first, uint group) : IValueWork
{
    private int _at;        // of the ids
    private bool _areRead;
    private long _removed;

    public readonly ReplyHead Head => ReplyHead.None;

    public readonly long Count => 0;

    public static bool Changes => true;

    public static bool Owns => true;

    public readonly bool IsLong(HeldValue value) => arguments.Count > StepBudget.OneTurnMax;

    public void Keep() => arguments.Keep();

    public void Dispose() => arguments.Dispose();

    public bool Run<TReply, TBudget>(HeldValue value, TReply reply, ref TBudget budget)
        where TReply : struct, IReplyTarget where TBudget : struct, IStepBudget
    {
        var ids = arguments.Span[first..];
        for (; !_areRead && _at < ids.Length; _at++)
        {
            if (!budget.TryTake()) return false;
            if (StreamIdText.TryParse(ids[_at].Span, 0, out _)) continue;
            reply.Next().WriteError(StreamIdText.Invalid);
            return true;
        }

        if (!_areRead) _at = 0;
        _areRead = true;
        var stream = new StreamValue(value);
        for (; _at < ids.Length; _at++)
        {
            if (!budget.TryTake()) return false;
            StreamIdText.TryParse(ids[_at].Span, 0, out StreamId id);
            if (group == 0 ? stream.Delete(id) : stream.Groups.Acknowledge(group, id)) _removed++;
        }

        Debug.Assert(_removed <= ids.Length, "each id is removed once");
        reply.Next().WriteInteger(_removed);
        return true;
    }
}

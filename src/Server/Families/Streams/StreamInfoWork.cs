using System.Diagnostics;
using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>XINFO STREAM FULL: all that there is to know of a stream.</summary>
/// <param name="most">How many entries are shown at most, and how many pending ones of each group and consumer.</param>
internal struct StreamInfoWork(long most) : IValueWork
{
    private const int ValuesAtOnce = 64;

    private Stage _stage;
    private StreamId _behind;
    private long _left;
    private StreamGroupsReply _groups = new(most);

    private enum Stage : byte
    {
        Begin,
        Entries,
        Groups,
    }

    public readonly ReplyHead Head => ReplyHead.None;

    public readonly long Count => 0;

    public readonly bool IsLong(HeldValue value)
    {
        if (most <= StepBudget.OneTurnMax) return false;
        var stream = new StreamView(value.View);
        long all = stream.Length;
        for (int i = 0; i < stream.GroupCount; i++) all += stream.GroupAt(i).Pending.Count;
        return all > StepBudget.OneTurnMax;
    }

    public bool Run<TReply, TBudget>(HeldValue value, TReply reply, ref TBudget budget)
        where TReply : struct, IReplyTarget where TBudget : struct, IStepBudget
    {
        var stream = new StreamView(value.View);
        if (_stage == Stage.Begin)
        {
            var head = reply.Next();
            StreamInfo.WriteHead(head, stream, isFull: true);
            _left = Math.Min(most, stream.Length);
            head.WriteBulk("entries"u8);
            head.WriteArray((int)_left);
            _stage = Stage.Entries;
        }

        while (budget.TryTake(ValuesAtOnce))
        {
            if (_stage == Stage.Groups)
            {
                if (_groups.Write(reply.Next(), value.View, ValuesAtOnce, StepBudget.BytesMax)) return true;
                continue;
            }

            _left -= StreamReply.WriteBehind(reply.Next(), stream, ref _behind, Math.Min(_left, ValuesAtOnce),
                StepBudget.BytesMax);
            Debug.Assert(_left >= 0, "no more are written than were announced");
            if (_left == 0) _stage = Stage.Groups;
        }

        return false;
    }
}

using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>All that there is to know of a stream with very many entries, or very much pending, for XINFO STREAM
/// FULL.</summary>
/// <param name="most">At most so many entries, and so much that is pending of each.</param>
internal sealed class StreamInfoSteps(long most) : HeldSteps
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

    /// <summary>Begins, if there is much.</summary>
    /// <returns>False: do it all in this turn.</returns>
    public static bool TryBegin(ref CommandContext context, scoped HeldKey held, long most)
    {
        if (!IsWanted(ref context, most)) return false;
        var stream = new StreamView(held.Value.View);
        long all = stream.Length;
        for (int i = 0; i < stream.GroupCount; i++) all += stream.GroupAt(i).Pending.Count;
        return IsWanted(ref context, all)
            && new StreamInfoSteps(most).TryBegin(ref context, held, ReplyHead.None, count: 0);
    }

    protected override bool Work(in HeldKeys held, CollectedReply reply)
    {
        var stream = new StreamView(held.View(0));
        if (_stage == Stage.Begin)
        {
            var head = reply.Next();
            StreamInfo.WriteHead(head, stream, isFull: true);
            _left = Math.Min(most, stream.Length);
            head.WriteBulk("entries"u8);
            head.WriteArray((int)_left);
            _stage = Stage.Entries;
        }

        for (var budget = new StepBudget(reply); budget.TryTake(ValuesAtOnce);)
        {
            if (_stage == Stage.Groups && _groups.Write(reply.Next(), held.View(0), ValuesAtOnce, BytesPerStep))
                return true;
            if (_stage == Stage.Groups) continue;
            _left -= StreamReply.WriteBehind(reply.Next(), stream, ref _behind, Math.Min(_left, ValuesAtOnce),
                BytesPerStep);
            if (_left == 0) _stage = Stage.Groups;
        }

        return false;
    }
}

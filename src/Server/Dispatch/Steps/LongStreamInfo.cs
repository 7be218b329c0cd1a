using Kv.Storage;

namespace Kv.Server.Dispatch;

/// <summary>All that there is to know of a stream with very many entries, or very much pending, for XINFO STREAM FULL.</summary>
/// <param name="most">At most so many entries, and so much that is pending of each.</param>
internal sealed class LongStreamInfo(long most) : LongElements
{
    private Stage _stage;
    private StreamId _first;
    private long _left;
    private int _group, _consumer;
    private IdCursor _at;

    private enum Stage : byte
    {
        Begin,
        Entries,
        Group,
        Pending,
        Consumer,
        Held,
    }

    /// <summary>Begins, if there is much.</summary>
    /// <returns>False: do it all in this turn.</returns>
    public static bool TryBegin(ref CommandContext context, scoped HeldKey held, long most)
    {
        if (!IsWanted(ref context, most)) return false;
        var stream = new StreamView(held.Value.View);
        long all = stream.Length;
        for (int i = 0; i < stream.GroupCount; i++) all += stream.GroupAt(i).Pending.Count;
        return IsWanted(ref context, all) && new LongStreamInfo(most).TryBegin(ref context, held, ReplyHead.None, count: 0);
    }

    protected override bool Work(in HeldKeys held, LongReply reply)
    {
        var stream = new StreamView(held.View(0));
        long end = reply.Bytes + BytesPerStep;
        // Ends: each round goes on by an entry, or ends a stage.
        for (int i = 0; i < ElementsPerStep && reply.Bytes < end; i++)
            if (WriteNext(stream, reply)) return true;
        return false;
    }

    private bool WriteNext(StreamView stream, LongReply reply)
    {
        switch (_stage)
        {
            case Stage.Begin:
                var head = reply.Next();
                StreamInfo.WriteHead(head, stream, isFull: true);
                _left = Math.Min(most, stream.Length);
                head.WriteBulk("entries"u8);
                head.WriteArray((int)_left);
                _stage = Stage.Entries;
                return false;
            case Stage.Entries:
                WriteEntries(stream, reply);
                return false;
            case Stage.Group:
                if (_group == stream.GroupCount) return true;
                StreamGroup group = stream.GroupAt(_group);
                StreamInfo.WriteGroup(reply.Next(), stream, group);
                BeginPending(reply, group.Pending, Stage.Pending);
                return false;
            case Stage.Pending:
                WritePending(stream.GroupAt(_group), stream.GroupAt(_group).Pending, reply, ofConsumer: false);
                return false;
            case Stage.Consumer:
                WriteConsumer(stream.GroupAt(_group), reply);
                return false;
            default:
                WritePending(stream.GroupAt(_group), stream.GroupAt(_group).ConsumerAt(_consumer).Pending, reply, ofConsumer: true);
                return false;
        }
    }

    private void WriteEntries(StreamView stream, LongReply reply)
    {
        const int atOnce = 16;      // a walk begins with a search
        var walk = stream.Between(_first, StreamId.Max);
        for (int i = 0; i < atOnce && _left > 0 && walk.Next(out StreamEntry entry); i++, _left--)
        {
            StreamReply.WriteEntry(reply.Next(), entry);
            entry.Id.TryNext(out _first);
        }

        if (_left > 0) return;
        var groups = reply.Next();
        groups.WriteBulk("groups"u8);
        groups.WriteArray(stream.GroupCount);
        _stage = Stage.Group;
    }

    private void BeginPending(LongReply reply, IdTree ids, Stage stage)
    {
        _left = Math.Min(most, ids.Count);
        _at = ids.From(StreamId.Zero);
        reply.Next().WriteArray((int)_left);
        _stage = stage;
    }

    private void WritePending(StreamGroup group, IdTree ids, LongReply reply, bool ofConsumer)
    {
        if (_left-- > 0)
        {
            StreamInfo.WritePending(reply.Next(), group, ids.IdAt(_at), ofConsumer);
            ids.MoveNext(ref _at);
            return;
        }

        if (ofConsumer)
        {
            _consumer++;
        }
        else
        {
            _consumer = 0;
            var consumers = reply.Next();
            consumers.WriteBulk("consumers"u8);
            consumers.WriteArray(group.Consumers.Count);
        }

        _stage = Stage.Consumer;
    }

    private void WriteConsumer(StreamGroup group, LongReply reply)
    {
        if (_consumer == group.Consumers.Count)
        {
            _group++;
            _stage = Stage.Group;
            return;
        }

        StreamConsumer consumer = group.ConsumerAt(_consumer);
        StreamInfo.WriteConsumer(reply.Next(), consumer);
        BeginPending(reply, consumer.Pending, Stage.Held);
    }
}

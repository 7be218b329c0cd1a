using System.Diagnostics;
using Kv.Protocol;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>Reads a stream for a consumer of a group.</summary>
internal ref struct StreamGroupRead
{
    // What is delivered at once before room is made for more.
    private const int BatchMax = 64;

    private readonly HeldValue _value;
    private readonly StreamGroups _groups;
    private readonly uint _group;
    private readonly long _nowMs;
    private uint _consumer;

    /// <param name="name">Of a group that is there.</param>
    public StreamGroupRead(HeldValue value, ReadOnlySpan<byte> name, long nowMs)
    {
        _value = value;
        _groups = new StreamValue(value).Groups;
        _group = View.FindGroup(name).Record;
        _nowMs = nowMs;
    }

    private readonly StreamView View => new(_value.View);

    /// <summary>Finds the consumer, or adds it, and notes that it was here.</summary>
    /// <returns>False when there is no memory: nothing was changed.</returns>
    public bool TryFindConsumer(ReadOnlySpan<byte> name)
    {
        _consumer = _groups.TryTouchConsumer(_group, name, _nowMs);
        return _consumer != 0;
    }

    /// <summary>Delivers some of the entries that no consumer of the group has got.</summary>
    /// <param name="most">How many entries at most.</param>
    /// <param name="bytes">Ends after the entry that makes it this many bytes.</param>
    /// <param name="isDone">Whether the entries are not pending afterwards (NOACK).</param>
    /// <param name="delivered">How many were delivered; 0: there are no more.</param>
    /// <returns>False when there is no memory: nothing was delivered or written.</returns>
    public readonly bool TryDeliver(ReplyWriter reply, long most, int bytes, bool isDone, out int delivered)
    {
        Debug.Assert(_consumer != 0 && most > 0 && bytes > 0, "the consumer was found, and may get something");
        delivered = 0;
        if (!_groups[_group].LastId.TryNext(out StreamId first)) return true;
        if (!isDone)
        {
            most = CountFrom(first, (int)Math.Min(BatchMax, most));
            if (most == 0) return true;
            if (!_groups.TryReserve(_group, _consumer, first, most)) return false;
        }

        long end = (long)reply.Output.Length + bytes;
        for (var walk = View.Between(first, StreamId.Max);
            delivered < most && reply.Output.Length < end && walk.Next(out StreamEntry entry); delivered++)
        {
            StreamReply.WriteEntry(reply, entry);
            if (isDone) _groups.Advance(_group, entry.Id);
            else _groups.Deliver(_group, _consumer, entry.Id, _nowMs);
            if (!isDone) _groups.TellClaimed(_group, _consumer, entry.Id);
        }

        Debug.Assert(delivered <= most, "no more is delivered than there is room for");
        if (delivered > 0) _groups.TellRead(_group);
        return true;
    }

    private readonly int CountFrom(StreamId first, int most)
    {
        Debug.Assert(most > 0, "something is asked for");
        if (most == 1) return 1;        // as many as there may be
        int count = 0;
        var walk = View.Between(first, StreamId.Max);
        while (count < most && walk.Next(out _)) count++;
        return count;
    }

    /// <summary>Writes some of the entries after an id that are pending with the consumer.</summary>
    /// <param name="behind">The id; afterwards, that of the last entry written.</param>
    /// <param name="most">How many entries at most.</param>
    /// <param name="bytes">Ends after the entry that makes it this many bytes.</param>
    /// <returns>How many were written; 0: there are no more.</returns>
    public readonly int WriteHistory(ReplyWriter reply, ref StreamId behind, long most, int bytes)
    {
        int written = 0;
        if (!behind.TryNext(out StreamId first)) return 0;
        IdTree pending = _groups.Consumer(_consumer).Pending;
        long end = (long)reply.Output.Length + bytes;
        for (IdCursor at = pending.From(first); !at.IsEnd && written < most && reply.Output.Length < end;
            pending.MoveNext(ref at), written++)
        {
            behind = pending.IdAt(at);
            WriteAgain(reply, behind);
        }

        return written;
    }

    private readonly void WriteAgain(ReplyWriter reply, StreamId id)
    {
        if (!View.TryGet(id, out StreamEntry entry))
        {
            // It was deleted meanwhile: its id, and nothing.
            reply.WriteArray(2);
            StreamIdText.Write(reply, id);
            reply.WriteNullArray();
            return;
        }

        StreamReply.WriteEntry(reply, entry);
        _groups.DeliverAgain(_group, id, _nowMs);
    }
}

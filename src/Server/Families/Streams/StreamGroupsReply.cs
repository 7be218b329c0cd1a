using System.Diagnostics;
using Kv.Protocol;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>Tells all of the groups of a stream, for XINFO STREAM FULL, as much at a time as one likes.</summary>
/// <param name="most">At most so much that is pending, of each group and of each consumer.</param>
internal unsafe struct StreamGroupsReply(long most)
{
    private StreamGroupWalk _walk;
    private long _left;
    private bool _hasBegun;

    /// <summary>Writes the next part of the reply.</summary>
    /// <param name="stops">About how many values to write at most.</param>
    /// <param name="bytes">Ends after about this many bytes.</param>
    /// <returns>True when everything has been written.</returns>
    public bool Write(ReplyWriter reply, scoped in ValueView value, int stops, int bytes)
    {
        var stream = new LargeStream(value.Region);
        if (!_hasBegun)
        {
            reply.WriteBulk("groups"u8);
            reply.WriteArray(stream.Groups.Count);
            _hasBegun = true;
        }

        long end = (long)reply.Output.Length + bytes;
        // Ends: each round goes on to the next stop.
        for (; stops > 0 && reply.Output.Length < end; stops--)
        {
            StreamStop stop = _left == 0 ? _walk.Pass(stream) : _walk.Next(stream);
            _left--;
            if (stop == StreamStop.End) return true;
            if (stop == StreamStop.Group) BeginGroup(reply, new StreamView(value), _walk.GroupOf(stream));
            else if (stop == StreamStop.Consumer) BeginConsumer(reply, _walk.ConsumerOf(stream));
            else if (stop == StreamStop.Consumers) BeginConsumers(reply, _walk.GroupOf(stream));
            else WritePending(reply, stream, stop);
        }

        return false;
    }

    private void BeginGroup(ReplyWriter reply, scoped StreamView stream, StreamGroup group)
    {
        reply.WriteMap(7);
        reply.WriteBulk("name"u8);
        reply.WriteBulk(group.Name);
        StreamInfo.WriteProgress(reply, stream, group);
        reply.WriteBulk("pel-count"u8);
        reply.WriteInteger(group.Pending.Count);
        BeginPending(reply, group.Pending);
    }

    private static void BeginConsumers(ReplyWriter reply, StreamGroup group)
    {
        reply.WriteBulk("consumers"u8);
        reply.WriteArray(group.Consumers.Count);
    }

    private void BeginConsumer(ReplyWriter reply, StreamConsumer consumer)
    {
        reply.WriteMap(5);
        reply.WriteBulk("name"u8);
        reply.WriteBulk(consumer.Name);
        reply.WriteBulk("seen-time"u8);
        reply.WriteInteger(consumer.SeenMs);
        reply.WriteBulk("active-time"u8);
        reply.WriteInteger(consumer.ActiveMs);
        reply.WriteBulk("pel-count"u8);
        reply.WriteInteger(consumer.Pending.Count);
        BeginPending(reply, consumer.Pending);
    }

    private void BeginPending(ReplyWriter reply, IdTree pending)
    {
        Debug.Assert(most > 0, "something is asked for");
        _left = Math.Min(most, pending.Count);
        reply.WriteBulk("pending"u8);
        reply.WriteArray((int)_left);
    }

    private readonly void WritePending(ReplyWriter reply, LargeStream stream, StreamStop stop)
    {
        StreamGroup group = _walk.GroupOf(stream);
        StreamId id = _walk.IdOf(stream);
        bool ofConsumer = stop == StreamStop.Held;
        var entry = ofConsumer ? (PendingEntry*)group.Pending.Find(id) : _walk.EntryOf(stream);
        reply.WriteArray(ofConsumer ? 3 : 4);
        StreamIdText.Write(reply, id);
        if (!ofConsumer) reply.WriteBulk(group.ConsumerOf(entry).Name);
        reply.WriteInteger(entry->DeliveredMs);
        reply.WriteInteger(entry->Deliveries);
    }
}

using Kv.Protocol;
using Kv.Storage;

namespace Kv.Server.Dispatch;

/// <summary>What XINFO tells of groups, their consumers, and what is pending.</summary>
internal static unsafe class StreamInfo
{
    /// <summary>Answers "groups" and all of them.</summary>
    /// <param name="most">At most so many pending entries of each.</param>
    public static void WriteGroups(ReplyWriter reply, StreamView stream, long most)
    {
        reply.WriteBulk("groups"u8);
        reply.WriteArray(stream.GroupCount);
        for (int i = 0; i < stream.GroupCount; i++)
        {
            StreamGroup group = stream.GroupAt(i);
            reply.WriteMap(7);
            reply.WriteBulk("name"u8);
            reply.WriteBulk(group.Name);
            WriteProgress(reply, stream, group);
            reply.WriteBulk("pel-count"u8);
            reply.WriteInteger(group.Pending.Count);
            reply.WriteBulk("pending"u8);
            WritePending(reply, group, group.Pending, most, ofConsumer: false);
            reply.WriteBulk("consumers"u8);
            reply.WriteArray(group.Consumers.Count);
            for (int j = 0; j < group.Consumers.Count; j++) WriteConsumer(reply, group, group.ConsumerAt(j), most);
        }
    }

    /// <summary>Answers how far a group has come: three fields and their values.</summary>
    public static void WriteProgress(ReplyWriter reply, StreamView stream, StreamGroup group)
    {
        reply.WriteBulk("last-delivered-id"u8);
        StreamIdText.Write(reply, group.LastId);
        reply.WriteBulk("entries-read"u8);
        StreamReply.WriteKnown(reply, group.EntriesRead != StreamGroup.NotKnown, group.EntriesRead);
        reply.WriteBulk("lag"u8);
        StreamReply.WriteKnown(reply, stream.TryGetLag(group, out long lag), lag);
    }

    private static void WriteConsumer(ReplyWriter reply, StreamGroup group, StreamConsumer consumer, long most)
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
        reply.WriteBulk("pending"u8);
        WritePending(reply, group, consumer.Pending, most, ofConsumer: true);
    }

    private static void WritePending(ReplyWriter reply, StreamGroup group, IdTree ids, long most, bool ofConsumer)
    {
        int count = (int)Math.Min(ids.Count, most);
        reply.WriteArray(count);
        IdTree pending = group.Pending;
        for (IdCursor at = ids.From(StreamId.Zero); count > 0; ids.MoveNext(ref at), count--)
        {
            StreamId id = ids.IdAt(at);
            var entry = (PendingEntry*)pending.Find(id);
            reply.WriteArray(ofConsumer ? 3 : 4);
            StreamIdText.Write(reply, id);
            if (!ofConsumer) reply.WriteBulk(group.ConsumerOf(entry).Name);
            reply.WriteInteger(entry->DeliveredMs);
            reply.WriteInteger(entry->Deliveries);
        }
    }
}

using Kv.Protocol;
using Kv.Storage;

namespace Kv.Server.Dispatch;

/// <summary>What XINFO tells of groups, their consumers, and what is pending.</summary>
internal static unsafe class StreamInfo
{
    /// <summary>Begins the map: what there is to know of the stream itself.</summary>
    /// <param name="isFull">Whether entries and groups come behind it, rather than how many groups, the first entry and the last.</param>
    public static void WriteHead(ReplyWriter reply, StreamView stream, bool isFull)
    {
        reply.WriteMap(isFull ? 9 : 10);
        reply.WriteBulk("length"u8);
        reply.WriteInteger(stream.Length);
        reply.WriteBulk("radix-tree-keys"u8);
        reply.WriteInteger(stream.Leaves);
        reply.WriteBulk("radix-tree-nodes"u8);
        reply.WriteInteger(stream.IndexNodes);
        reply.WriteBulk("last-generated-id"u8);
        StreamIdText.Write(reply, stream.LastId);
        reply.WriteBulk("max-deleted-entry-id"u8);
        StreamIdText.Write(reply, stream.MaxDeletedId);
        reply.WriteBulk("entries-added"u8);
        reply.WriteInteger(stream.Added);
        reply.WriteBulk("recorded-first-entry-id"u8);
        StreamIdText.Write(reply, stream.FirstId);
    }

    /// <summary>Answers "groups" and all of them.</summary>
    /// <param name="most">At most so many pending entries of each.</param>
    public static void WriteGroups(ReplyWriter reply, StreamView stream, long most)
    {
        reply.WriteBulk("groups"u8);
        reply.WriteArray(stream.GroupCount);
        for (int i = 0; i < stream.GroupCount; i++)
        {
            StreamGroup group = stream.GroupAt(i);
            WriteGroup(reply, stream, group);
            WritePending(reply, group, group.Pending, most, ofConsumer: false);
            reply.WriteBulk("consumers"u8);
            reply.WriteArray(group.Consumers.Count);
            for (int j = 0; j < group.Consumers.Count; j++)
            {
                WriteConsumer(reply, group.ConsumerAt(j));
                WritePending(reply, group, group.ConsumerAt(j).Pending, most, ofConsumer: true);
            }
        }
    }

    /// <summary>Begins a group; behind it comes what is pending.</summary>
    public static void WriteGroup(ReplyWriter reply, StreamView stream, StreamGroup group)
    {
        reply.WriteMap(7);
        reply.WriteBulk("name"u8);
        reply.WriteBulk(group.Name);
        WriteProgress(reply, stream, group);
        reply.WriteBulk("pel-count"u8);
        reply.WriteInteger(group.Pending.Count);
        reply.WriteBulk("pending"u8);
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

    /// <summary>Begins a consumer; behind it comes what is pending.</summary>
    public static void WriteConsumer(ReplyWriter reply, StreamConsumer consumer)
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
    }

    /// <summary>Answers something that is pending.</summary>
    public static void WritePending(ReplyWriter reply, StreamGroup group, StreamId id, bool ofConsumer)
    {
        var entry = (PendingEntry*)group.Pending.Find(id);
        reply.WriteArray(ofConsumer ? 3 : 4);
        StreamIdText.Write(reply, id);
        if (!ofConsumer) reply.WriteBulk(group.ConsumerOf(entry).Name);
        reply.WriteInteger(entry->DeliveredMs);
        reply.WriteInteger(entry->Deliveries);
    }

    private static void WritePending(ReplyWriter reply, StreamGroup group, IdTree ids, long most, bool ofConsumer)
    {
        int count = (int)Math.Min(ids.Count, most);
        reply.WriteArray(count);
        for (IdCursor at = ids.From(StreamId.Zero); count > 0; ids.MoveNext(ref at), count--) WritePending(reply, group, ids.IdAt(at), ofConsumer);
    }
}

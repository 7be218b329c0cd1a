using Kv.Protocol;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>What XINFO tells of a stream, and of how far a group has come.</summary>
internal static class StreamInfo
{
    /// <summary>Begins the map: what there is to know of the stream itself.</summary>
    /// <param name="isFull">Whether entries and groups come behind it, rather than how many groups, the first entry and
    /// the last.</param>
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
}

using Kv.Storage;

namespace Kv.Server.Persistence.Aof;

/// <summary>The part of <see cref="CommandBase"/> for streams: entries, groups, consumers, and what is
/// pending.</summary>
internal static class StreamBase
{
    public static void Write(CommandBase to, ReadOnlySpan<byte> key, LargeStream stream)
    {
        WriteEntries(to, key, stream);
        var set = to.Begin(7, "XSETID"u8);
        set.Add(key);
        set.Add(stream.LastId);
        set.Add("ENTRIESADDED"u8);
        set.Add(stream.Added);
        set.Add("MAXDELETEDID"u8);
        set.Add(stream.MaxDeletedId);
        to.End();
        var walk = default(StreamGroupWalk);
        // Ends: each round goes on to the next stop.
        while (true)
        {
            StreamStop stop = walk.Next(stream);
            if (stop == StreamStop.End) break;
            if (stop == StreamStop.Group) WriteGroup(to, key, walk.GroupOf(stream));
            else if (stop == StreamStop.Consumer)
                WriteConsumer(to, key, walk.GroupOf(stream), walk.ConsumerOf(stream));
            else if (stop == StreamStop.Pending) WritePending(to, key, stream, walk);
        }
    }

    private static void WriteEntries(CommandBase to, ReadOnlySpan<byte> key, LargeStream stream)
    {
        if (stream.Length == 0)
        {
            // An entry that is gone at once makes an empty stream.
            var empty = to.Begin(7, "XADD"u8);
            empty.Add(key);
            empty.Add("MAXLEN"u8);
            empty.Add(0);
            empty.Add(stream.LastId.IsZero ? new StreamId(0, 1) : stream.LastId);
            empty.Add("x"u8);
            empty.Add("y"u8);
            to.End();
            return;
        }

        for (uint name = stream.FirstLeaf; name != 0; name = stream.LeafAt(name).Next)
        {
            StreamLeaf leaf = stream.LeafAt(name);
            for (int i = 0; i < leaf.Count; i++)
                if (!leaf.IsDeleted(i)) WriteEntry(to, key, leaf[i]);
        }
    }

    private static void WriteEntry(CommandBase to, ReadOnlySpan<byte> key, StreamEntry entry)
    {
        var add = to.Begin(3 + (2 * entry.FieldCount), "XADD"u8);
        add.Add(key);
        add.Add(entry.Id);
        while (entry.Next(out var field, out var content))
        {
            add.Add(field);
            add.Add(content);
        }

        to.End();
    }

    private static void WriteGroup(CommandBase to, ReadOnlySpan<byte> key, StreamGroup group)
    {
        var create = to.Begin(7, "XGROUP"u8);
        create.Add("CREATE"u8);
        create.Add(key);
        create.Add(group.Name);
        create.Add(group.LastId);
        create.Add("ENTRIESREAD"u8);
        create.Add(group.EntriesRead);
        to.End();
    }

    private static void WriteConsumer(CommandBase to, ReadOnlySpan<byte> key, StreamGroup group,
        StreamConsumer consumer)
    {
        var create = to.Begin(5, "XGROUP"u8);
        create.Add("CREATECONSUMER"u8);
        create.Add(key);
        create.Add(group.Name);
        create.Add(consumer.Name);
        to.End();
    }

    private static void WritePending(CommandBase to, ReadOnlySpan<byte> key, LargeStream stream,
        in StreamGroupWalk walk)
    {
        StreamGroup group = walk.GroupOf(stream);
        StreamId id = walk.IdOf(stream);
        // Its entry was deleted: redis-server would not take it.
        if (!stream.TryFind(id, out _)) return;
        PendingEntry delivery = walk.DeliveryOf(stream);
        var claim = to.Begin(12, "XCLAIM"u8);
        claim.Add(key);
        claim.Add(group.Name);
        claim.Add(group.ConsumerNameOf(delivery));
        claim.Add(0);
        claim.Add(id);
        claim.Add("TIME"u8);
        claim.Add(delivery.DeliveredMs);
        claim.Add("RETRYCOUNT"u8);
        claim.Add(delivery.Deliveries);
        claim.Add("JUSTID"u8);
        claim.Add("FORCE"u8);
        to.End();
    }
}

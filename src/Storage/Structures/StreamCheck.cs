namespace Kv.Storage;

/// <summary>Walks a stream, its groups and what is pending there, and throws when something disagrees. For
/// tests.</summary>
internal static unsafe class StreamCheck
{
    private const int FixedBytes = Region.HeadOffset + Region.HeadBytes;

    /// <summary>Checks it.</summary>
    public static void Run(LargeStream stream)
    {
        long bytes = CheckEntries(stream);
        NameTable groups = stream.Groups;
        bytes += groups.Check();
        for (int i = 0; i < groups.Count; i++) bytes += CheckGroup(new StreamGroup(stream.Region, groups[i]));
        IdTree.CheckSpare(stream.Region);
        bytes += IdTree.SpareBytes(stream.Region);
        Require(bytes + FixedBytes == stream.Region.UsedBytes,
            $"its pieces have {bytes} bytes, the region {stream.Region.UsedBytes - FixedBytes}");
    }

    private static long CheckEntries(LargeStream stream)
    {
        long bytes = stream.Index.Check(), live = 0;
        uint previous = 0, leaves = 0;
        StreamId last = StreamId.Zero, first = StreamId.Zero;
        IdCursor cursor = stream.Index.From(StreamId.Zero);
        for (uint name = stream.FirstLeaf; name != 0; previous = name, name = stream.LeafAt(name).Next)
        {
            StreamLeaf leaf = stream.LeafAt(name);
            leaf.Check();
            Require(leaf.Count != 0 && leaf.Previous == previous, $"leaf {leaves} is linked wrongly, or empty");
            Require(leaf.ListpackBase == ListpackOf(leaf),
                $"the listpack of leaf {leaves} would have {ListpackOf(leaf)} bytes, not {leaf.ListpackBase}");
            Require(leaf.IdOf(0) > last, $"leaf {leaves} is out of order");
            if (!stream.Index.IsEmpty)
            {
                Require(!cursor.IsEnd && stream.Index.IdAt(cursor) == leaf.First
                    && *(uint*)stream.Index.PayloadAt(cursor) == name, $"the index has leaf {leaves} wrong");
                stream.Index.MoveNext(ref cursor);
            }

            for (int i = 0; i < leaf.Count && first.IsZero; i++)
                if (!leaf.IsDeleted(i)) first = leaf.IdOf(i);
            last = leaf.IdOf(leaf.Count - 1);
            live += leaf.Live;
            bytes += Region.SizeOf(leaf.Capacity);
            leaves++;
        }

        Require(previous == stream.LastLeaf
            && leaves == stream.Leaves, $"{leaves} leaves are there, {stream.Leaves} are counted");
        Require(cursor.IsEnd && (stream.Index.IsEmpty || stream.Index.Count == leaves),
            "the index has leaves that are gone");
        Require(!stream.Index.IsEmpty || leaves <= 1, "several leaves have no index");
        Require(live == stream.Length, $"{live} entries are there, {stream.Length} are counted");
        Require(first == stream.FirstId, $"the first entry is {first}, not {stream.FirstId}");
        Require(last <= stream.LastId, "an entry is above the last id");
        return bytes;
    }

    private static int ListpackOf(StreamLeaf leaf)
    {
        int bytes = ListpackRule.EmptyBytes + ListpackRule.SizeOf(leaf.FieldCount) + 2;
        StreamEntry fields = leaf[0];
        while (fields.Next(out var field, out _)) bytes += ListpackRule.SizeOf(field);
        for (int i = 0; i < leaf.Count; i++)
        {
            StreamEntry entry = leaf[i];
            bool isSame = leaf.HasSameFields(i);
            int count = entry.FieldCount;
            bytes += 2 + ListpackRule.SizeOf((long)(entry.Id.Ms - leaf.First.Ms))
                + ListpackRule.SizeOf((long)(entry.Id.Number - leaf.First.Number))
                + (isSame ? 0 : ListpackRule.SizeOf(count))
                + ListpackRule.SizeOf(isSame ? count + 3L : (2L * count) + 4);
            while (entry.Next(out var field, out var value))
                bytes += ListpackRule.SizeOf(value) + (isSame ? 0 : ListpackRule.SizeOf(field));
        }

        return bytes;
    }

    private static long CheckGroup(StreamGroup group)
    {
        IdTree pending = group.Pending;
        long bytes = pending.Check() + group.Consumers.Check(), held = 0;
        for (int i = 0; i < group.Consumers.Count; i++)
        {
            StreamConsumer consumer = group.ConsumerAt(i);
            bytes += consumer.Pending.Check();
            for (IdCursor at = consumer.Pending.From(StreamId.Zero); !at.IsEnd;
                consumer.Pending.MoveNext(ref at), held++)
            {
                var entry = (PendingEntry*)pending.Find(consumer.Pending.IdAt(at));
                Require(entry != null && entry->Consumer == consumer.Record,
                    "a consumer has pending what its group has not, or another one has");
            }
        }

        Require(held == pending.Count, $"{pending.Count} entries are pending in a group, {held} with its consumers");
        return bytes;
    }

    private static void Require(bool holds, string what)
    {
        if (!holds) throw new InvalidOperationException($"A stream is damaged: {what}.");
    }
}

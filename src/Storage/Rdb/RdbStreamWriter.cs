using System.Buffers.Binary;

namespace Kv.Storage;

//   | nodes | id of the first entry, a string of 16 bytes, big endian | a string that is a listpack | ...
//   | entries | last id | first id | greatest id that was deleted | entries that there ever were |        lengths, an id two of them
//   | groups | name | last id | entries read | pending | consumers | ...
//   pending:    | count | id 16 | delivered, unix ms 8 | deliveries, a length | ...
//   consumers:  | count | name | seen, unix ms 8 | (type 21: active 8) | count | id 16 | ...
//
//   listpack of a node:  entries, deleted ones, fields, each field, 0; then of each entry:
//   flags (1 deleted, 2 the fields are those of the node), ms - first ms, number - first number, [fields], [field] value ..., elements so far

/// <summary>Writes streams as RDB files and DUMP have them.</summary>
internal static class RdbStreamWriter
{
    public static void Write(LargeStream stream, RdbOutput output, ListpackWriter listpack)
    {
        output.WriteLength(stream.Leaves);
        Span<byte> id = stackalloc byte[StreamId.Bytes];
        for (uint name = stream.FirstLeaf; name != 0;)
        {
            StreamLeaf leaf = stream.LeafAt(name);
            PutId(id, leaf.First);
            output.WriteString(id);
            WriteLeaf(leaf, listpack);
            output.WriteString(listpack.Finish());
            name = leaf.Next;
        }

        output.WriteLength((ulong)stream.Length);
        WriteId(output, stream.LastId);
        WriteId(output, stream.FirstId);
        WriteId(output, stream.MaxDeletedId);
        output.WriteLength((ulong)stream.Added);
        NameTable groups = stream.Groups;
        output.WriteLength((ulong)groups.Count);
        for (int i = 0; i < groups.Count; i++) WriteGroup(new StreamGroup(stream.Region, groups[i]), output);
    }

    private static unsafe void WriteLeaf(StreamLeaf leaf, ListpackWriter listpack)
    {
        listpack.Begin();
        listpack.Append(leaf.Live);
        listpack.Append(leaf.Deleted);
        listpack.Append(leaf.FieldCount);
        byte* at = leaf.Fields;
        for (int i = 0; i < leaf.FieldCount; i++)
        {
            at = LengthPrefix.Read(at, out int length);
            listpack.Append(new ReadOnlySpan<byte>(at, length));
            at += length;
        }

        listpack.Append(0);
        for (int i = 0; i < leaf.Count; i++)
        {
            bool isSame = leaf.HasSameFields(i);
            StreamEntry entry = leaf[i];
            listpack.Append((isSame ? StreamLeaf.FlagSameFields : 0) | (leaf.IsDeleted(i) ? StreamLeaf.FlagDeleted : 0));
            listpack.Append(unchecked((long)(entry.Id.Ms - leaf.First.Ms)));
            listpack.Append(unchecked((long)(entry.Id.Number - leaf.First.Number)));
            if (!isSame) listpack.Append(entry.FieldCount);
            while (entry.Next(out var field, out var value))
            {
                if (!isSame) listpack.Append(field);
                listpack.Append(value);
            }

            listpack.Append(isSame ? entry.FieldCount + 3L : (2L * entry.FieldCount) + 4);
        }
    }

    private static unsafe void WriteGroup(StreamGroup group, RdbOutput output)
    {
        output.WriteString(group.Name);
        WriteId(output, group.LastId);
        output.WriteLength((ulong)group.EntriesRead);
        IdTree pending = group.Pending;
        output.WriteLength(pending.Count);
        for (IdCursor at = pending.From(StreamId.Zero); !at.IsEnd; pending.MoveNext(ref at))
        {
            var entry = (PendingEntry*)pending.PayloadAt(at);
            WriteRawId(output, pending.IdAt(at));
            output.WriteInt64(entry->DeliveredMs);
            output.WriteLength((ulong)entry->Deliveries);
        }

        output.WriteLength((ulong)group.Consumers.Count);
        for (int i = 0; i < group.Consumers.Count; i++)
        {
            StreamConsumer consumer = group.ConsumerAt(i);
            IdTree held = consumer.Pending;
            output.WriteString(consumer.Name);
            output.WriteInt64(consumer.SeenMs);
            output.WriteLength(held.Count);
            for (IdCursor at = held.From(StreamId.Zero); !at.IsEnd; held.MoveNext(ref at)) WriteRawId(output, held.IdAt(at));
        }
    }

    private static void WriteId(RdbOutput output, StreamId id)
    {
        output.WriteLength(id.Ms);
        output.WriteLength(id.Number);
    }

    private static void WriteRawId(RdbOutput output, StreamId id)
    {
        Span<byte> bytes = stackalloc byte[StreamId.Bytes];
        PutId(bytes, id);
        output.Write(bytes);
    }

    private static void PutId(Span<byte> bytes, StreamId id)
    {
        BinaryPrimitives.WriteUInt64BigEndian(bytes, id.Ms);
        BinaryPrimitives.WriteUInt64BigEndian(bytes[sizeof(ulong)..], id.Number);
    }
}

using System.Buffers.Binary;

namespace Kv.Storage;

//   | nodes | id of the first entry, a string of 16 bytes, big endian | a string that is a listpack | ...
//   | entries | last id | first id | greatest id that was deleted | entries that there ever were |        lengths, an id two of them
//   | groups | name | last id | entries read | pending | consumers | ...
//   pending:    | count | id 16 | delivered, unix ms 8 | deliveries, a length | ...
//   consumers:  | count | name | seen, unix ms 8 | (type 21: active 8) | count | id 16 | ...
//
//   listpack of a node:  entries, deleted ones, fields, each field, 0; then of each entry:
//   flags (1 deleted, 2 the fields are those of the node), ms - first ms, number - first number, [fields], [field]
// value ..., elements so far

/// <summary>Writes a stream as RDB files and DUMP have it, as much at a time as one likes.</summary>
internal struct RdbStreamWriter
{
    private Stage _stage;
    private uint _leaf;
    private StreamGroupWalk _walk;

    private enum Stage : byte
    {
        Begin,
        Leaves,
        Groups,
        Done,
    }

    /// <summary>Writes, from where it left off.</summary>
    /// <returns>True when it has ended.</returns>
    public bool Write(LargeStream stream, RdbOutput output, ListpackWriter listpack)
    {
        // Ends: each round ends a stage, or stops.
        while (_stage != Stage.Done)
        {
            if (!output.GoOn() || output.Work <= 0) return false;
            switch (_stage)
            {
                case Stage.Begin:
                    output.WriteLength(stream.Leaves);
                    _leaf = stream.FirstLeaf;
                    _stage = Stage.Leaves;
                    break;
                case Stage.Leaves:
                    WriteLeaves(stream, output, listpack);
                    break;
                default:
                    WriteGroups(stream, output);
                    break;
            }
        }

        return true;
    }

    private void WriteLeaves(LargeStream stream, RdbOutput output, ListpackWriter listpack)
    {
        Span<byte> id = stackalloc byte[StreamId.Bytes];
        while (_leaf != 0)
        {
            if (!output.GoOn() || output.Work <= 0) return;
            StreamLeaf leaf = stream.LeafAt(_leaf);
            PutId(id, leaf.First);
            output.WriteString(id);
            WriteLeaf(leaf, listpack);
            output.Work -= leaf.Count;
            output.BeginString(listpack.Finish());
            _leaf = leaf.Next;
        }

        if (!output.GoOn()) return;
        output.WriteLength((ulong)stream.Length);
        WriteId(output, stream.LastId);
        WriteId(output, stream.FirstId);
        WriteId(output, stream.MaxDeletedId);
        output.WriteLength((ulong)stream.Added);
        output.WriteLength((ulong)stream.Groups.Count);
        _stage = Stage.Groups;
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
            listpack.Append((isSame ? StreamLeaf.FlagSameFields : 0)
                | (leaf.IsDeleted(i) ? StreamLeaf.FlagDeleted : 0));
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

    private unsafe void WriteGroups(LargeStream stream, RdbOutput output)
    {
        // Ends: each round goes on to the next stop.
        for (; output.Work > 0; output.Work--)
        {
            StreamStop stop = _walk.Next(stream);
            if (stop == StreamStop.End) break;
            if (stop is StreamStop.Held or StreamStop.Pending) WriteRawId(output, _walk.IdOf(stream));
            if (stop == StreamStop.Pending)
            {
                output.WriteInt64(_walk.EntryOf(stream)->DeliveredMs);
                output.WriteLength((ulong)_walk.EntryOf(stream)->Deliveries);
            }
            else if (stop == StreamStop.Consumers)
            {
                output.WriteLength((ulong)_walk.GroupOf(stream).Consumers.Count);
            }
            else if (stop == StreamStop.Group)
            {
                BeginGroup(_walk.GroupOf(stream), output);
            }
            else if (stop == StreamStop.Consumer)
            {
                BeginConsumer(_walk.ConsumerOf(stream), output);
            }
        }

        if (output.Work > 0) _stage = Stage.Done;
    }

    private static void BeginGroup(StreamGroup group, RdbOutput output)
    {
        output.WriteString(group.Name);
        WriteId(output, group.LastId);
        output.WriteLength((ulong)group.EntriesRead);
        output.WriteLength(group.Pending.Count);
    }

    private static void BeginConsumer(StreamConsumer consumer, RdbOutput output)
    {
        output.WriteString(consumer.Name);
        output.WriteInt64(consumer.SeenMs);
        output.WriteLength(consumer.Pending.Count);
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

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

/// <summary>Writes a stream as RDB files and DUMP have it, as much at a time as one likes.</summary>
internal struct RdbStreamWriter
{
    private Stage _stage;
    private uint _leaf;
    private int _group, _consumer;
    private IdCursor _at;

    private enum Stage : byte
    {
        Begin,
        Leaves,
        Group,
        Pending,
        Consumer,
        Held,
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
                case Stage.Group:
                    BeginGroup(stream, output);
                    break;
                case Stage.Pending:
                    WritePending(GroupOf(stream), output);
                    break;
                case Stage.Consumer:
                    BeginConsumer(GroupOf(stream), output);
                    break;
                default:
                    WriteHeld(GroupOf(stream).ConsumerAt(_consumer), output);
                    break;
            }
        }

        return true;
    }

    private readonly StreamGroup GroupOf(LargeStream stream) => new(stream.Region, stream.Groups[_group]);

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
        _stage = Stage.Group;
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

    private void BeginGroup(LargeStream stream, RdbOutput output)
    {
        if (_group == stream.Groups.Count)
        {
            _stage = Stage.Done;
            return;
        }

        StreamGroup group = GroupOf(stream);
        output.WriteString(group.Name);
        WriteId(output, group.LastId);
        output.WriteLength((ulong)group.EntriesRead);
        output.WriteLength(group.Pending.Count);
        _at = group.Pending.From(StreamId.Zero);
        _stage = Stage.Pending;
    }

    private unsafe void WritePending(StreamGroup group, RdbOutput output)
    {
        IdTree pending = group.Pending;
        for (; !_at.IsEnd; pending.MoveNext(ref _at), output.Work--)
        {
            if (output.Work <= 0) return;
            var entry = (PendingEntry*)pending.PayloadAt(_at);
            WriteRawId(output, pending.IdAt(_at));
            output.WriteInt64(entry->DeliveredMs);
            output.WriteLength((ulong)entry->Deliveries);
        }

        output.WriteLength((ulong)group.Consumers.Count);
        _consumer = 0;
        _stage = Stage.Consumer;
    }

    private void BeginConsumer(StreamGroup group, RdbOutput output)
    {
        if (_consumer == group.Consumers.Count)
        {
            _group++;
            _stage = Stage.Group;
            return;
        }

        StreamConsumer consumer = group.ConsumerAt(_consumer);
        output.WriteString(consumer.Name);
        output.WriteInt64(consumer.SeenMs);
        output.WriteLength(consumer.Pending.Count);
        _at = consumer.Pending.From(StreamId.Zero);
        _stage = Stage.Held;
    }

    private void WriteHeld(StreamConsumer consumer, RdbOutput output)
    {
        IdTree held = consumer.Pending;
        for (; !_at.IsEnd; held.MoveNext(ref _at), output.Work--)
        {
            if (output.Work <= 0) return;
            WriteRawId(output, held.IdAt(_at));
        }

        _consumer++;
        _stage = Stage.Consumer;
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

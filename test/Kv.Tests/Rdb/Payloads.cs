using System.Buffers.Binary;
using System.Text;
using Kv.Storage;
using Kv.Tests.Storage;

namespace Kv.Tests.Rdb;

/// <summary>Reads and writes values of a store as DUMP and RESTORE do; makes the packed forms of old servers.</summary>
internal static class Payloads
{
    /// <param name="workPerStep">How much is read at a time.</param>
    public static unsafe RdbStatus Restore(TestStore test, string key, ReadOnlySpan<byte> content,
        long stringBytesMax = Store.ValueBytesMax, long workPerStep = long.MaxValue)
    {
        fixed (byte* start = content)
        {
            var reader = new RdbValueReader(start, content.Length, test.Store, stringBytesMax);
            var value = new RdbValue(test.Store);
            try
            {
                RdbStatus status;
                // Ends: each step gets on.
                while ((status = reader.Read(ref value, workPerStep)) == RdbStatus.More)
                {
                }

                if (status == RdbStatus.Ok && !reader.IsAtEnd) status = RdbStatus.BadData;
                if (status != RdbStatus.Ok) return status;
                using var held = test.Session.Hold(test.Session.Key(TestStore.Bytes(key)), DataType.Any,
                    value.ExpectedBytes);
                var stored = held.Status == StoreStatus.Ok ? value.Store(held.Value, NewValue.NoExpiry) : held.Status;
                return stored == StoreStatus.Ok ? RdbStatus.Ok : RdbStatus.OutOfMemory;
            }
            finally
            {
                value.Dispose();
                reader.Dispose();
            }
        }
    }

    /// <summary>Type and value; null when there is none.</summary>
    public static byte[]? Dump(TestStore test, string key, bool compresses = true)
    {
        using var writer = new RdbValueWriter(test.Store);
        using var held = test.Session.Hold(test.Session.Key(TestStore.Bytes(key)), DataType.Any);
        if (held.Status != StoreStatus.Ok) return null;
        writer.Output.Begin(compresses, 0);
        writer.Write(held.Value.View);
        Assert.Equal(StoreStatus.Ok, writer.Output.Status);
        return writer.Output.Written.ToArray();
    }

    /// <summary>What is at a key, as a text that shows it whole: a list in its order, the others sorted.</summary>
    public static string Show(TestStore test, string key)
    {
        using var held = test.Session.Hold(test.Session.Key(TestStore.Bytes(key)), DataType.Any);
        if (held.Status != StoreStatus.Ok) return "none";
        var parts = new List<string>();
        ref readonly var hash = ref test.Session.MemberHash;
        switch (held.Value.Type)
        {
            case DataType.String:
                return "string " + Text(held.Value.View.Bytes);
            case DataType.List:
                for (var walk = new ListView(held.Value.View).GetWalk(); walk.Next(out var element);)
                    parts.Add(Text(element));
                return "list " + string.Join(' ', parts);
            case DataType.Hash:
                for (var walk = new HashView(held.Value.View, in hash, nowMs: 0).GetWalk();
                    walk.Next(out var field, out var value, out long expiryMs);)
                    parts.Add($"{Text(field)}={Text(value)}{(expiryMs == FieldExpiry.None ? "" : $"@{expiryMs}")}");
                break;
            case DataType.Stream:
                var stream = new StreamView(held.Value.View);
                for (var walk = stream.Between(StreamId.Zero, StreamId.Max); walk.Next(out var entry);)
                {
                    parts.Add($"{entry.Id.Ms}-{entry.Id.Number}");
                    while (entry.Next(out var name, out var content)) parts.Add($"{Text(name)}={Text(content)}");
                }

                parts.Add($"last {stream.LastId} added {stream.Added} deleted {stream.MaxDeletedId}");
                for (int i = 0; i < stream.GroupCount; i++)
                    parts.Add(
                        $"{Text(stream.GroupAt(i).Name)} {stream.GroupAt(i).LastId} {stream.GroupAt(i).EntriesRead} "
                        + $"{stream.GroupAt(i).Pending.Count}");
                return "stream " + string.Join(' ', parts);
            case DataType.Set:
                for (var walk = new SetView(held.Value.View, in hash).GetWalk(); walk.Next(out var member);)
                    parts.Add(Text(member));
                break;
            default:
                for (var walk = new SortedSetView(held.Value.View, in hash).From(0);
                    walk.Next(out var member, out double score);) parts.Add($"{score:R}:{Text(member)}");
                return "zset " + string.Join(' ', parts);
        }

        parts.Sort(StringComparer.Ordinal);
        return $"{held.Value.Type.ToString().ToLowerInvariant()} {string.Join(' ', parts)}";
    }

    public static byte[] Concat(params byte[][] parts) => [.. parts.SelectMany(part => part)];

    public static byte[] Bytes(string text) => Encoding.Latin1.GetBytes(text);

    /// <summary>A string of an RDB file, as it is.</summary>
    public static byte[] Plain(params byte[] text) => text.Length < 64
        ? [(byte)text.Length, .. text]
        : [0x80, (byte)(text.Length >> 24), (byte)(text.Length >> 16), (byte)(text.Length >> 8),
            (byte)text.Length, .. text];

    public static byte[] Plain(string text) => Plain(Bytes(text));

    public static byte[] Listpack(params string[] elements)
    {
        using var writer = new ListpackWriter();
        writer.Begin();
        foreach (string element in elements) writer.Append(Bytes(element));
        return writer.Finish().ToArray();
    }

    /// <summary>A ziplist, with integers where the text of one is.</summary>
    public static byte[] Ziplist(params string[] elements)
    {
        var body = new List<byte>();
        int before = 0, last = 10;
        foreach (string element in elements)
        {
            last = 10 + body.Count;
            int start = body.Count;
            if (before < 254) body.Add((byte)before);
            else body.AddRange([0xFE, .. Little(before, 4)]);
            AddZiplistContent(body, element);
            before = body.Count - start;
        }

        return [.. Little(11 + body.Count, 4), .. Little(elements.Length == 0 ? 10 : last, 4),
            .. Little(elements.Length, 2), .. body, 0xFF];
    }

    /// <summary>A zipmap: fields and values in turn.</summary>
    public static byte[] Zipmap(int spare, params string[] pairs)
    {
        var body = new List<byte> { (byte)Math.Min(254, pairs.Length / 2) };
        for (int i = 0; i < pairs.Length; i++)
        {
            if (pairs[i].Length < 254) body.Add((byte)pairs[i].Length);
            else body.AddRange([0xFE, .. Little(pairs[i].Length, 4)]);
            if (i % 2 == 1) body.Add((byte)spare);
            body.AddRange(Bytes(pairs[i]));
            if (i % 2 == 1) body.AddRange(new byte[spare]);
        }

        return [.. body, 0xFF];
    }

    public static byte[] Integers(int width, params long[] numbers) =>
        [.. Little(width, 4), .. Little(numbers.Length, 4), .. numbers.SelectMany(number => Little(number, width))];

    public static byte[] Little(long number, int bytes)
    {
        byte[] all = new byte[8];
        BinaryPrimitives.WriteInt64LittleEndian(all, number);
        return all[..bytes];
    }

    private static void AddZiplistContent(List<byte> body, string element)
    {
        if (long.TryParse(element, out long number) && number.ToString() == element)
        {
            if (number is >= 0 and <= 12) body.Add((byte)(0xF1 + number));
            else if (number == (sbyte)number) body.AddRange([0xFE, .. Little(number, 1)]);
            else if (number == (short)number) body.AddRange([0xC0, .. Little(number, 2)]);
            else if (number is >= -(1 << 23) and < 1 << 23) body.AddRange([0xF0, .. Little(number, 3)]);
            else if (number == (int)number) body.AddRange([0xD0, .. Little(number, 4)]);
            else body.AddRange([0xE0, .. Little(number, 8)]);
            return;
        }

        int length = element.Length;
        if (length < 64) body.Add((byte)length);
        else if (length < 16384) body.AddRange([(byte)(0x40 | (length >> 8)), (byte)length]);
        else body.AddRange([0x80, (byte)(length >> 24), (byte)(length >> 16), (byte)(length >> 8), (byte)length]);
        body.AddRange(Bytes(element));
    }

    private static string Text(ReadOnlySpan<byte> bytes) => Encoding.Latin1.GetString(bytes);
}

using System.Buffers;

namespace Kv.Storage;

/// <summary>Writes values as RDB files and DUMP have them, with the encodings of Redis 7.0.</summary>
/// <remarks>Keeps its memory for the next value. Threads: one at a time; the key of what is written is held.</remarks>
internal sealed class RdbValueWriter(Store store) : IDisposable
{
    private readonly ListpackWriter _listpack = new();

    /// <summary>Where it writes to.</summary>
    public RdbOutput Output { get; } = new(store);

    /// <summary>How a value is written.</summary>
    public static RdbType TypeOf(in ValueView value) => value.Kind switch
    {
        ValueKind.PackedHash or ValueKind.Hash when EarliestOf(value) != FieldExpiry.Never => RdbType.HashExpiry,
        ValueKind.PackedList or ValueKind.List => RdbType.ListQuicklist2,
        ValueKind.PackedHash => RdbType.HashListpack,
        ValueKind.Hash => RdbType.Hash,
        ValueKind.IntegerSet => RdbType.IntegerSet,
        ValueKind.PackedSet or ValueKind.Set => RdbType.Set,
        ValueKind.PackedSortedSet => RdbType.SortedSetListpack,
        ValueKind.SortedSet => RdbType.SortedSet,
        ValueKind.Stream => RdbType.Stream2,
        _ => RdbType.String,
    };

    /// <summary>Writes the type of a value and the value.</summary>
    public void Write(in ValueView value)
    {
        Output.WriteByte((byte)TypeOf(value));
        WriteContent(value);
    }

    /// <summary>Writes the type of a string and the string.</summary>
    public void WriteString(ReadOnlySpan<byte> text)
    {
        Output.WriteByte((byte)RdbType.String);
        Output.WriteString(text);
    }

    /// <summary>Writes a value; its type stands elsewhere.</summary>
    public void WriteContent(in ValueView value)
    {
        Span<byte> digits = stackalloc byte[SetView.DigitsMax];
        ref readonly KeyHash hash = ref store.Hash;
        switch (value.Kind)
        {
            case ValueKind.PackedList or ValueKind.List:
                WriteList(new ListView(value));
                break;
            case ValueKind.PackedHash or ValueKind.Hash:
                WriteHash(new HashView(value, in hash, nowMs: 0), EarliestOf(value));
                break;
            case ValueKind.IntegerSet:
                WriteIntegers(value.IntegerSet);
                break;
            case ValueKind.PackedSet or ValueKind.Set:
                WriteSet(new SetView(value, in hash, digits));
                break;
            case ValueKind.PackedSortedSet or ValueKind.SortedSet:
                WriteSortedSet(new SortedSetView(value, in hash));
                break;
            case ValueKind.Stream:
                RdbStreamWriter.Write(new LargeStream(value.Region), Output, _listpack);
                break;
            case ValueKind.Integer:
                value.Integer.TryFormat(digits, out int length);
                Output.WriteString(digits[..length]);
                break;
            default:
                Output.WriteString(value.Bytes);
                break;
        }

        _listpack.Release();
    }

    public void Dispose()
    {
        _listpack.Dispose();
        Output.Dispose();
    }

    private void WriteList(ListView list)
    {
        const ulong packedNode = 2;
        // A node ends where Redis' would, were the elements pushed one behind the other.
        const int estimatedOverhead = 8;
        long limit = store.PackedLimits.ListSize, place = Output.Length;
        int passed = list.IsPacked ? 1 : 2;
        Output.WriteByte(0);
        if (passed == 2) Output.WriteByte(0);
        ulong nodes = 0;
        _listpack.Begin();
        for (var walk = list.GetWalk(); walk.Next(out var element);)
        {
            if (_listpack.Count != 0 && ListpackRule.IsTooLarge(limit, _listpack.Length + element.Length + estimatedOverhead, _listpack.Count + 1))
            {
                EndNode();
                _listpack.Begin();
            }

            _listpack.Append(element);
        }

        EndNode();
        Output.InsertLength(place, passed, nodes);

        void EndNode()
        {
            Output.WriteLength(packedNode);
            Output.WriteString(_listpack.Finish());
            nodes++;
        }
    }

    /// <summary>Bound of the expiries of a hash's fields.</summary>
    private static unsafe long EarliestOf(in ValueView value) => FieldExpiry.EarliestOf(value.Content, value.Kind, value.ContentBytes);

    private void WriteHash(HashView hash, long earliestMs)
    {
        if (earliestMs != FieldExpiry.Never)
        {
            WriteExpiringHash(hash, earliestMs);
            return;
        }

        bool isPacked = hash.IsPacked;
        if (isPacked) _listpack.Begin();
        else Output.WriteLength((ulong)hash.Count);
        for (var walk = hash.GetWalk(); walk.Next(out var field, out var value);)
        {
            if (isPacked)
            {
                _listpack.Append(field);
                _listpack.Append(value);
            }
            else
            {
                Output.WriteString(field);
                Output.WriteString(value);
            }
        }

        if (isPacked) Output.WriteString(_listpack.Finish());
    }

    //  | earliest expiry 8 | count | expiry | field | value | expiry | ...        an expiry: a length: 0 none, else from the earliest on, plus 1
    private void WriteExpiringHash(HashView hash, long earliestMs)
    {
        Output.WriteInt64(earliestMs);
        Output.WriteLength((ulong)hash.Count);
        for (var walk = hash.GetWalk(); walk.Next(out var field, out var value, out long expiryMs);)
        {
            Output.WriteLength(expiryMs == FieldExpiry.None ? 0 : (ulong)(expiryMs - earliestMs + 1));
            Output.WriteString(field);
            Output.WriteString(value);
        }
    }

    //  | bytes of a number 4 | count 4 | numbers |        little endian, ascending
    private void WriteIntegers(IntegerSet numbers)
    {
        int width = numbers.Width, count = numbers.Count;
        byte[] content = ArrayPool<byte>.Shared.Rent(8 + (width * count));
        int at = 0;
        Put(width, 4);
        Put(count, 4);
        for (int i = 0; i < count; i++) Put(numbers[i], width);
        Output.WriteString(content.AsSpan(0, at));
        ArrayPool<byte>.Shared.Return(content);

        void Put(long number, int bytes)
        {
            for (int i = 0; i < bytes; i++) content[at++] = (byte)(number >> (8 * i));
        }
    }

    private void WriteSet(SetView set)
    {
        Output.WriteLength((ulong)set.Count);
        for (var walk = set.GetWalk(); walk.Next(out var member);) Output.WriteString(member);
    }

    private void WriteSortedSet(SortedSetView set)
    {
        long count = set.Count;
        if (set.IsPacked)
        {
            _listpack.Begin();
            for (var walk = set.From(0); walk.Next(out var member, out double score);)
            {
                _listpack.Append(member);
                AppendScore(score);
            }

            Output.WriteString(_listpack.Finish());
            return;
        }

        // From the greatest to the least, as Redis does: a list that is read so is built at its head.
        Output.WriteLength((ulong)count);
        for (var walk = set.From(count - 1, isBackward: true); walk.Next(out var member, out double score);)
        {
            Output.WriteString(member);
            Output.WriteInt64(BitConverter.DoubleToInt64Bits(score));
        }
    }

    private void AppendScore(double score)
    {
        const double wholeMax = 1L << 62;       // so far Redis writes them as integers
        if (score >= -wholeMax && score <= wholeMax && score == (long)score)
        {
            _listpack.Append((long)score);
            return;
        }

        Span<byte> text = stackalloc byte[ScoreText.BytesMax];
        _listpack.Append(text[..ScoreText.Format(score, text)]);
    }
}

using System.Buffers;
using System.Diagnostics;

namespace Kv.Storage;

/// <summary>Writes values as RDB files and DUMP have them, with the encodings of Redis 7.0.</summary>
/// <remarks>
/// A large one as much at a time as one likes: one element, and one node of a stream, is written at once. Keeps its
/// memory for the next value. Threads: one at a time; the key of what is written is held.
/// </remarks>
internal sealed class RdbValueWriter(Store store) : IDisposable
{
    private readonly ListpackWriter _listpack = new();
    private RdbStreamWriter _stream;
    private bool _isBegun, _hasNode;
    private MemberPlace _place;
    private long _index, _counted, _lengthAt;
    private ulong _nodes;

    /// <summary>Whether the nodes of a list are counted before they are written, which takes twice as long: then what
    /// was written may be taken away between two calls.</summary>
    public bool CountsFirst { get; init; }

    /// <summary>Whether hashes are written without the times of their fields: for readers that know of none.</summary>
    public bool OmitsFieldExpiries { get; init; }

    /// <summary>Where it writes to.</summary>
    public RdbOutput Output { get; } = new(store);

    /// <summary>How a value is written.</summary>
    public RdbType TypeOf(in ValueView value) => value.Kind switch
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

    /// <summary>Writes the type of a value and the value, from where it left off.</summary>
    /// <param name="value">The value, unchanged from the first call to the last.</param>
    /// <param name="work">See <see cref="RdbOutput.Work"/>.</param>
    /// <returns>True when it has ended.</returns>
    public bool Write(in ValueView value, long work = long.MaxValue)
    {
        if (!_isBegun) Output.WriteByte((byte)TypeOf(value));
        return WriteContent(value, work);
    }

    /// <summary>Writes a value whose type has been written, from where it left off.</summary>
    /// <param name="value">The value, unchanged from the first call to the last.</param>
    /// <param name="work">See <see cref="RdbOutput.Work"/>.</param>
    /// <returns>True when it has ended.</returns>
    public bool WriteContent(in ValueView value, long work = long.MaxValue)
    {
        Output.Work = work;
        bool isDone = WriteSome(value);
        _isBegun = !isDone;
        if (isDone) _listpack.Release();
        return isDone;
    }

    /// <summary>Writes the type of a string and the string, from where it left off. As long as it is not written, the
    /// string stays where it is.</summary>
    /// <returns>True when it has ended.</returns>
    public bool WriteString(ReadOnlySpan<byte> text, long work = long.MaxValue)
    {
        Output.Work = work;
        if (!_isBegun)
        {
            Output.WriteByte((byte)RdbType.String);
            Output.BeginString(text);
        }

        _isBegun = !Output.GoOn();
        return !_isBegun;
    }

    private bool WriteSome(in ValueView value)
    {
        if (!_isBegun)
        {
            _place = default;
            _index = -1;
            _counted = 0;
            _stream = new RdbStreamWriter();
        }

        Span<byte> digits = stackalloc byte[SetView.DigitsMax];
        ref readonly KeyHash hash = ref store.Hash;
        switch (value.Kind)
        {
            case ValueKind.PackedList or ValueKind.List:
                return WriteList(new ListView(value));
            case ValueKind.PackedHash or ValueKind.Hash:
                return WriteHash(new HashView(value, in hash, nowMs: 0), EarliestOf(value));
            case ValueKind.IntegerSet:
                WriteIntegers(value.IntegerSet);
                return true;
            case ValueKind.PackedSet or ValueKind.Set:
                return WriteSet(new SetView(value, in hash));
            case ValueKind.PackedSortedSet or ValueKind.SortedSet:
                return WriteSortedSet(new SortedSetView(value, in hash));
            case ValueKind.Stream:
                return _stream.Write(new LargeStream(value.Region), Output, _listpack);
            case ValueKind.Integer:
                value.Integer.TryFormat(digits, out int length);
                Output.WriteString(digits[..length]);
                return true;
            default:
                Debug.Assert(value.Type == DataType.String, "all other types have their own case");
                Output.WriteString(value.Bytes);
                return true;
        }
    }

    public void Dispose()
    {
        _listpack.Dispose();
        Output.Dispose();
    }

    private bool WriteList(ListView list)
    {
        long count = list.Count;
        if (_index < 0)
        {
            if (CountsFirst)
            {
                if (!CountNodes(list)) return false;
                Output.WriteLength(_nodes);
            }
            else
            {
                _lengthAt = Output.PassLength();
            }

            _nodes = 0;
            _index = 0;
            _hasNode = true;
            _listpack.Begin();
        }

        ReadOnlySpan<byte> element = default;
        var walk = _index < count ? list.GetWalk(_index) : default;
        bool isThere = _index < count && walk.Next(out element);
        // Ends: each round goes on by an element or a node.
        while (isThere)
        {
            if (!Output.GoOn()) return false;
            if (!_hasNode) _listpack.Begin();
            _hasNode = true;
            if (Output.Work <= 0) return false;
            if (EndsNodeBefore(element))
            {
                EndNode();
                continue;
            }

            _listpack.Append(element);
            Output.Work -= RdbOutput.WorkOf(element.Length);
            _index++;
            isThere = walk.Next(out element);
        }

        if (_hasNode) EndNode();
        if (!Output.GoOn()) return false;
        if (!CountsFirst) Output.InsertLength(_lengthAt, _nodes);
        return true;
    }

    /// <summary>Whether a node of a list has no room for one more element.</summary>
    // A node ends where Redis' would, were the elements pushed one after the other.
    private bool EndsNodeBefore(ReadOnlySpan<byte> element)
    {
        const int estimatedOverhead = 8;
        return _listpack.Count != 0 && ListpackRule.IsTooLarge(store.PackedLimits.ListSize,
            _listpack.Length + element.Length + estimatedOverhead, _listpack.Count + 1);
    }

    /// <summary>Counts the nodes of a list, from where it left off.</summary>
    /// <returns>True when all are counted.</returns>
    private bool CountNodes(ListView list)
    {
        if (_counted == 0)
        {
            _nodes = 1;
            _listpack.Begin();
        }

        var walk = list.GetWalk(_counted);
        for (; _counted < list.Count && walk.Next(out var element); _counted++)
        {
            if (Output.Work <= 0) return false;
            if (EndsNodeBefore(element))
            {
                _nodes++;
                _listpack.Begin();
            }

            _listpack.Append(element);
            Output.Work -= RdbOutput.WorkOf(element.Length);
        }

        return true;
    }

    private void EndNode()
    {
        Debug.Assert(_hasNode, "a node has begun");
        const ulong packedNode = 2;
        Output.WriteLength(packedNode);
        Output.BeginString(_listpack.Finish());
        _nodes++;
        _hasNode = false;
    }

    /// <summary>Bound of the expiries of a hash's fields.</summary>
    private unsafe long EarliestOf(in ValueView value) => OmitsFieldExpiries ? FieldExpiry.Never
        : FieldExpiry.EarliestOf(value.Content, value.Kind, value.ContentBytes);

    //  | earliest expiry 8 | count | expiry | field | value | expiry | ...        an expiry: a length: 0 none, else from the earliest on, plus 1
    private bool WriteHash(HashView hash, long earliestMs)
    {
        bool expires = earliestMs != FieldExpiry.Never;
        if (hash.IsPacked && !expires)
        {
            _listpack.Begin();
            for (var all = hash.GetWalk(); all.Next(out var field, out var value);)
            {
                _listpack.Append(field);
                _listpack.Append(value);
            }

            Output.WriteString(_listpack.Finish());
            return true;
        }

        if (!_isBegun)
        {
            if (expires) Output.WriteInt64(earliestMs);
            Output.WriteLength((ulong)hash.Count);
        }

        var walk = hash.GetWalk(_place);
        // Ends: each round goes on by a field. A packed hash is written at once.
        while (Output.GoOn() && (Output.Work > 0 || hash.IsPacked))
        {
            if (!walk.Next(out var field, out var value, out long expiryMs)) return true;
            Debug.Assert(!expires || expiryMs == FieldExpiry.None || expiryMs >= earliestMs, "the earliest is a bound");
            if (expires) Output.WriteLength(expiryMs == FieldExpiry.None ? 0 : (ulong)(expiryMs - earliestMs + 1));
            Output.WriteString(field);
            if (hash.IsPacked) Output.WriteString(value);
            else Output.BeginString(value);
        }

        _place = walk.Place;
        return false;
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

    private bool WriteSet(SetView set)
    {
        if (!_isBegun) Output.WriteLength((ulong)set.Count);
        var walk = set.GetWalk(_place);
        bool isPacked = set.Kind != ValueKind.Set;
        while (Output.Work > 0 || isPacked)
        {
            if (!walk.Next(out var member)) return true;
            Output.WriteString(member);
        }

        _place = walk.Place;
        return false;
    }

    private bool WriteSortedSet(SortedSetView set)
    {
        if (set.IsPacked)
        {
            _listpack.Begin();
            for (var all = set.From(0); all.Next(out var element, out double at);)
            {
                _listpack.Append(element);
                AppendScore(at);
            }

            Output.WriteString(_listpack.Finish());
            return true;
        }

        // From the greatest to the least, as Redis does: a list that is read so is built at its head.
        if (_index < 0)
        {
            _index = set.Count;
            Output.WriteLength((ulong)_index);
        }

        var walk = _index == 0 ? default : set.From(_index - 1, isBackward: true);
        for (; _index > 0; _index--)
        {
            if (Output.Work <= 0) return false;
            bool isThere = walk.Next(out var member, out double score);
            Debug.Assert(isThere, "as many are written as were counted");
            Output.WriteString(member);
            Output.WriteInt64(BitConverter.DoubleToInt64Bits(score));
        }

        return true;
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

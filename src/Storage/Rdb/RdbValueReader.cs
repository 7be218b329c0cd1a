using System.Buffers.Binary;
using System.Diagnostics;

namespace Kv.Storage;

/// <summary>Reads values of every type that Redis 1 to 7.4 writes, out of bytes that nobody vouches for; as much at a
/// time as one likes.</summary>
/// <remarks>
/// Everything is checked, as deep as it goes: every length, each element of a packed form, members that are there
/// twice, scores that are no numbers, collections without elements. Memory is taken as elements are read, so what comes
/// of a payload is at most a multiple of it (<see cref="Lzf.ExpansionMax"/>, and what the tables of a collection take).
/// Whoever makes one disposes it, after the value: strings may be in its memory.
/// Cost: a step goes on by elements; one element, and one node of a list or stream, is read at once.
/// </remarks>
/// <param name="bytes">What to read.</param>
/// <param name="length">How many bytes.</param>
/// <param name="store">Whose memory, limits and hash are used.</param>
/// <param name="stringBytesMax">Most bytes of a string.</param>
internal unsafe struct RdbValueReader(byte* bytes, int length, Store store, long stringBytesMax) : IDisposable
{
    private const int AddsPerCheck = 1024, OrderedAtOnce = 4096;

    /// <summary>A unit of work is an element of a list, a quarter of a member of a table, or this many bytes.</summary>
    private const int BytesPerWork = 256, WorkPerMember = 4;

    /// <summary>The latest expiry of a field: 48 bits, as Redis has it.</summary>
    private const long FieldExpiryMaxMs = (1L << 48) - 2;

    private readonly Store _store = store;
    private readonly MemoryBudget _budget = store.Budget;
    private RdbInput _input = new(bytes, length, store.Budget, stringBytesMax);
    private RdbScratch _first, _second, _digits;
    private RdbStreamReader _stream;
    private RdbType _type;
    private Stage _stage;
    private long _work, _left, _earliestMs;
    private int _adds;

    // What is being read piece by piece: a packed form, an array of integers, a long string. It stands in the input, or
    // has been expanded.
    private bool _hasContent, _isExpanded;
    private int _contentAt, _contentLength;
    private PackedPlace _place;
    private Block _block;
    private LzfPlace _expanded;

    private enum Stage : byte
    {
        Type,
        Begin,
        Elements,
        Nodes,
        Packed,
        Integers,
        Text,
        Stream,
        Order,
        Done,
    }

    /// <summary>Whether `maxmemory` does not bound what is read: data of one's own is loaded whole, and evicted then.
    /// Set before the first step.</summary>
    public bool IsUnbounded { get; init; }

    private readonly bool IsTooMuch => !IsUnbounded && _budget.IsFarOver;

    /// <summary>Whether nothing is left.</summary>
    public readonly bool IsAtEnd => _input.Remaining == 0;

    /// <summary>Bytes that have been read.</summary>
    public readonly int Position => _input.Position;

    private readonly ReadOnlySpan<byte> Content =>
        _isExpanded ? _first.Get(_contentLength) : _input.Slice(_contentAt, _contentLength);

    private readonly bool IsOfPairs => _type is RdbType.Hash or RdbType.HashZipmap or RdbType.HashZiplist
        or RdbType.HashListpack or RdbType.SortedSetZiplist or RdbType.SortedSetListpack;

    private readonly bool HasExpiries => _type is RdbType.HashListpackExpiry or RdbType.HashListpackExpiryOld;

    /// <summary>Goes on in a copy of the input. Not after the end.</summary>
    public void MoveTo(byte* start) => _input.MoveTo(start);

    /// <summary>Reads a type and a value of it, from where it left off.</summary>
    /// <param name="value">Gets what is read; given again by each call.</param>
    /// <param name="work">About how much to read, as elements of a list.</param>
    /// <returns>More: call again.</returns>
    public RdbStatus Read(scoped ref RdbValue value, long work = long.MaxValue)
    {
        _work = work;
        Debug.Assert(work > 0 && _stage != Stage.Done, "each call reads something");
        var status = RdbStatus.Ok;
        // Ends: each round ends a stage.
        while (status == RdbStatus.Ok && _stage != Stage.Done) status = ReadStage(ref value);
        return status;
    }

    /// <summary>Reads a value of a type that stood elsewhere.</summary>
    /// <param name="value">Nothing has been read into it.</param>
    public RdbStatus Read(RdbType type, scoped ref RdbValue value)
    {
        Debug.Assert(_stage == Stage.Type && value.Type == DataType.Any, "nothing has been read");
        _type = type;
        _stage = Stage.Begin;
        return Read(ref value);
    }

    public void Dispose()
    {
        _first.Dispose();
        _second.Dispose();
        _digits.Dispose();
        _stream.Dispose();
        if (!_block.IsNone) _store.Release(_block);
        _block = default;
    }

    private RdbStatus ReadStage(scoped ref RdbValue value)
    {
        switch (_stage)
        {
            case Stage.Type:
                if (!_input.TryReadByte(out byte type)) return RdbStatus.BadData;
                _type = (RdbType)type;
                return Go(Stage.Begin);
            case Stage.Begin:
                return Begin(ref value);
            case Stage.Elements:
                return ReadElements(ref value);
            case Stage.Nodes:
                return ReadNodes(ref value);
            case Stage.Packed:
                return ReadPacked(ref value);
            case Stage.Integers:
                return ReadIntegers(ref value);
            case Stage.Text:
                return ReadText(ref value);
            case Stage.Stream:
                var read = _stream.Read(ref _input, ref _work, out value.Stream);
                return read == RdbStatus.Ok ? Go(Stage.Done) : read;
            default:
                return Order(ref value);
        }
    }

    private RdbStatus Go(Stage stage)
    {
        _stage = stage;
        return RdbStatus.Ok;
    }

    private RdbStatus Begin(scoped ref RdbValue value)
    {
        value.Type = DataTypeOf(_type);
        switch (_type)
        {
            case RdbType.String:
                return BeginText(ref value);
            case RdbType.List or RdbType.Set:
                return BeginCounted(1, Stage.Elements);
            case RdbType.Hash or RdbType.SortedSet or RdbType.SortedSetText:
                return BeginCounted(2, Stage.Elements);
            case RdbType.ListQuicklist or RdbType.ListQuicklist2:
                return BeginCounted(_type == RdbType.ListQuicklist2 ? 2 : 1, Stage.Nodes);
            case RdbType.HashExpiry or RdbType.HashExpiryOld:
                // An expiry ahead of each field: since the earliest of all, or of itself.
                _earliestMs = 1;
                if (_type == RdbType.HashExpiry && (!_input.TryReadInt64(out _earliestMs) || _earliestMs is < 0
                    or > FieldExpiryMaxMs)) return RdbStatus.BadData;
                return BeginCounted(3, Stage.Elements);
            case RdbType.HashListpackExpiry when !_input.TryReadInt64(out _):
                return RdbStatus.BadData;
            case RdbType.Stream or RdbType.Stream2 or RdbType.Stream3:
                _stream = new RdbStreamReader(_store, _type, IsUnbounded);
                return Go(Stage.Stream);
            case RdbType.IntegerSet:
                return BeginContent(Stage.Integers);
            case RdbType.ListZiplist or RdbType.HashZipmap or RdbType.HashZiplist or RdbType.HashListpack
                or RdbType.SetListpack
                or RdbType.SortedSetZiplist or RdbType.SortedSetListpack or RdbType.HashListpackExpiry
                or RdbType.HashListpackExpiryOld:
                return BeginContent(Stage.Packed);
            default:
                return _type is RdbType.Module or RdbType.ModuleOld ? RdbStatus.Unknown : RdbStatus.BadData;
        }
    }

    private static DataType DataTypeOf(RdbType type) => type switch
    {
        RdbType.String => DataType.String,
        RdbType.List or RdbType.ListZiplist or RdbType.ListQuicklist or RdbType.ListQuicklist2 => DataType.List,
        RdbType.Set or RdbType.IntegerSet or RdbType.SetListpack => DataType.Set,
        RdbType.Stream or RdbType.Stream2 or RdbType.Stream3 => DataType.Stream,
        RdbType.Hash or RdbType.HashZipmap or RdbType.HashZiplist or RdbType.HashListpack
            or RdbType.HashExpiry or RdbType.HashExpiryOld or RdbType.HashListpackExpiry
            or RdbType.HashListpackExpiryOld => DataType.Hash,
        RdbType.SortedSet or RdbType.SortedSetText or RdbType.SortedSetZiplist
        or RdbType.SortedSetListpack => DataType.SortedSet,
        _ => DataType.Any,
    };

    private RdbStatus BeginCounted(int bytesEach, Stage stage) =>
        _input.TryReadCount(bytesEach, out _left) ? Go(stage) : RdbStatus.BadData;

    private RdbStatus BeginContent(Stage stage)
    {
        var status = ReadContent();
        return status == RdbStatus.Ok ? Go(stage) : status;
    }

    /// <summary>Reads a string whose parts are then read one by one.</summary>
    private RdbStatus ReadContent()
    {
        if (!_input.TryReadHead(out var head)) return RdbStatus.BadData;
        _contentLength = head.Length;
        _isExpanded = !head.IsPlain;
        _contentAt = _input.Position - head.Length;
        _place = default;
        if (!_isExpanded) return RdbStatus.Ok;
        if (!_first.TryGet(_budget, head.Length, out var memory)) return RdbStatus.OutOfMemory;
        _work -= head.Length / BytesPerWork;
        return head.TryWrite(memory) ? RdbStatus.Ok : RdbStatus.BadData;
    }

    private RdbStatus BeginText(scoped ref RdbValue value)
    {
        if (!_input.TryReadHead(out var head)) return RdbStatus.BadData;
        if (head.Length <= RecordWord.InlineValueMax)
        {
            if (head.IsPlain)
            {
                value.SetString(head.Content, default);
                return Go(Stage.Done);
            }

            if (!_first.TryGet(_budget, head.Length, out var memory)) return RdbStatus.OutOfMemory;
            if (!head.TryWrite(memory)) return RdbStatus.BadData;
            value.SetString(memory, default);
            return Go(Stage.Done);
        }

        // It will be in a block: written right there.
        _block = Block.Allocate(head.Length, head.Length, _budget);
        if (_block.IsNone || IsTooMuch) return RdbStatus.OutOfMemory;
        _isExpanded = !head.IsPlain;
        _contentLength = head.Content.Length;
        _contentAt = _input.Position - _contentLength;
        return Go(Stage.Text);
    }

    private RdbStatus ReadText(scoped ref RdbValue value)
    {
        if (_work <= 0) return RdbStatus.More;
        var content = _input.Slice(_contentAt, _contentLength);
        var text = new Span<byte>(_block.Content, (int)_block.Length);
        int before = _expanded.To;
        long most = _work > text.Length ? text.Length : _work * BytesPerWork;
        if (_isExpanded)
        {
            if (!Lzf.TryExpand(content, text, ref _expanded, most)) return RdbStatus.BadData;
        }
        else
        {
            int count = (int)Math.Min(most, text.Length - before);
            content.Slice(before, count).CopyTo(text[before..]);
            _expanded = new LzfPlace(before + count, before + count);
        }

        _work -= (_expanded.To - before + BytesPerWork - 1) / BytesPerWork;
        if (_expanded.From != content.Length) return RdbStatus.More;
        if (_expanded.To != text.Length) return RdbStatus.BadData;
        value.SetString(_block.Span, _block);
        _block = default;       // the value's now
        return Go(Stage.Done);
    }

    private RdbStatus ReadElements(scoped ref RdbValue value)
    {
        for (; _left > 0; _left--)
        {
            if (_work <= 0) return RdbStatus.More;
            int before = _input.Position;
            var status = ReadElement(ref value);
            if (status != RdbStatus.Ok) return status;
            _work -= (_input.Position - before) / BytesPerWork;
        }

        return Go(value.Type == DataType.SortedSet ? Stage.Order : Stage.Done);
    }

    private RdbStatus ReadElement(scoped ref RdbValue value)
    {
        long expiryMs = 0;
        bool expires = _type is RdbType.HashExpiry or RdbType.HashExpiryOld;
        if (expires && (!_input.TryReadLength(out expiryMs) || expiryMs > FieldExpiryMaxMs)) return RdbStatus.BadData;
        var status = _input.ReadString(ref _first, out var element);
        if (status != RdbStatus.Ok) return status;
        switch (_type)
        {
            case RdbType.List:
                return Add(ref value, element);
            case RdbType.Set:
                return AddMember(ref value, element);
            case RdbType.SortedSet or RdbType.SortedSetText:
                return TryReadScore(out double score) ? AddScored(ref value, element, score) : RdbStatus.BadData;
        }

        status = _input.ReadString(ref _second, out var content);
        if (status != RdbStatus.Ok) return status;
        return AddField(ref value, element, content, expiryMs == 0 ? FieldExpiry.None : expiryMs + _earliestMs - 1);
    }

    private bool TryReadScore(out double score)
    {
        const byte positiveInfinity = 254, negativeInfinity = 255, notANumber = 253;
        score = 0;
        if (_type == RdbType.SortedSet)
        {
            if (!_input.TryReadInt64(out long bits)) return false;
            score = BitConverter.Int64BitsToDouble(bits);
            return true;
        }

        if (!_input.TryReadByte(out byte length) || length == notANumber) return false;
        score = length == positiveInfinity ? double.PositiveInfinity : double.NegativeInfinity;
        if (length is positiveInfinity or negativeInfinity) return true;
        return _input.TryReadBytes(length, out var text) && ScoreText.TryParse(text, out score);
    }

    /// <summary>Reads a list of nodes, each some elements packed, or one as it is.</summary>
    private RdbStatus ReadNodes(scoped ref RdbValue value)
    {
        const long plain = 1, packed = 2;
        for (; _left > 0; _left--)
        {
            if (!_hasContent)
            {
                if (_work <= 0) return RdbStatus.More;
                long kind = packed;
                if (_type == RdbType.ListQuicklist2
                    && (!_input.TryReadLength(out kind) || kind is not (plain or packed))) return RdbStatus.BadData;
                var read = ReadContent();
                if (read == RdbStatus.Ok && kind == plain) read = Add(ref value, Content);
                if (read != RdbStatus.Ok) return read;
                if (kind == plain) continue;
                _hasContent = true;
            }

            var status = AddPacked(ref value);
            if (status != RdbStatus.Ok) return status;
            _hasContent = false;
        }

        return value.List.Count == 0 ? RdbStatus.BadData : Go(Stage.Done);
    }

    private RdbStatus Order(scoped ref RdbValue value)
    {
        bool isDone;
        // Ends: each round gets on.
        do
        {
            if (_work <= 0) return RdbStatus.More;
            if (!value.SortedSet.TryFinish((int)Math.Min(_work, OrderedAtOnce), out isDone))
                return RdbStatus.OutOfMemory;
            _work -= OrderedAtOnce;
        }
        while (!isDone);
        return Go(Stage.Done);
    }

    private RdbStatus ReadPacked(scoped ref RdbValue value)
    {
        var status = AddPacked(ref value);
        if (status != RdbStatus.Ok) return status;
        // A node of a list may be empty, what is nothing else may not.
        if (_place.Count == 0) return RdbStatus.BadData;
        return Go(value.Type == DataType.SortedSet ? Stage.Order : Stage.Done);
    }

    private RdbStatus AddPacked(scoped ref RdbValue value)
    {
        switch (_type)
        {
            case RdbType.HashZipmap:
                var zipmap = new ZipmapReader(Content, _place);
                return AddElements(ref zipmap, ref value);
            case RdbType.ListQuicklist or RdbType.ListZiplist or RdbType.HashZiplist or RdbType.SortedSetZiplist:
                var ziplist = new ZiplistReader(Content, _place);
                return AddElements(ref ziplist, ref value);
            default:
                var listpack = new ListpackReader(Content, _place);
                return AddElements(ref listpack, ref value);
        }
    }

    /// <summary>Adds elements of a packed form, alone or with what belongs to each, as the value's type has
    /// them.</summary>
    private RdbStatus AddElements<TReader>(scoped ref TReader reader, scoped ref RdbValue value)
        where TReader : struct, IElementReader, allows ref struct
    {
        if (!_digits.TryGet(_budget, 3 * SetView.DigitsMax, out var scratch)) return RdbStatus.OutOfMemory;
        Span<byte> digits = scratch[..SetView.DigitsMax], moreDigits =
            scratch[SetView.DigitsMax..(2 * SetView.DigitsMax)], evenMore = scratch[(2 * SetView.DigitsMax)..];
        bool isList = value.Type == DataType.List, hasPairs = IsOfPairs, hasExpiries = HasExpiries;
        // Ends: each round takes an element of the bytes.
        while (_work > 0)
        {
            if (!reader.Next(digits, out var element))
            {
                _place = reader.Place;
                return reader.IsWhole ? RdbStatus.Ok : RdbStatus.BadData;
            }

            RdbStatus status;
            ReadOnlySpan<byte> other = default, expiry = default;
            if ((hasPairs || hasExpiries) && !reader.Next(moreDigits, out other)) return RdbStatus.BadData;
            if (hasExpiries && !reader.Next(evenMore, out expiry)) return RdbStatus.BadData;
            if (isList) status = Add(ref value, element);
            else if (hasExpiries) status = AddField(ref value, element, other, expiry);
            else if (!hasPairs) status = AddMember(ref value, element);
            else if (value.Type == DataType.Hash) status = AddField(ref value, element, other);
            else status = ScoreText.TryParse(other, out double score)
                ? AddScored(ref value, element, score) : RdbStatus.BadData;
            if (status != RdbStatus.Ok) return status;
        }

        _place = reader.Place;
        return RdbStatus.More;
    }

    private RdbStatus ReadIntegers(scoped ref RdbValue value)
    {
        const int headerBytes = 8;
        var content = Content;
        if (content.Length <= headerBytes) return RdbStatus.BadData;
        uint width = BinaryPrimitives.ReadUInt32LittleEndian(content),
            count = BinaryPrimitives.ReadUInt32LittleEndian(content[4..]);
        ReadOnlySpan<byte> numbers = content[headerBytes..];
        if (width is not (2 or 4 or 8) || (long)count * width != numbers.Length) return RdbStatus.BadData;
        bool isArray = count <= Math.Min(_store.PackedLimits.IntegerSetEntries, IntegerSet.CountMax);
        if (!_digits.TryGet(_budget, SetView.DigitsMax, out var digits)) return RdbStatus.OutOfMemory;
        // Whether it is one may have changed since the last step.
        if (value.Set.Count != 0) isArray = false;
        for (int i = _place.Count; i < (int)count; i++)
        {
            if (_work <= 0 && !isArray)
            {
                _place = new PackedPlace(0, i, 0);
                return RdbStatus.More;
            }

            long number = NumberAt(numbers, i, (int)width);
            if (i != 0 && number <= NumberAt(numbers, i - 1, (int)width)) return RdbStatus.BadData;
            if (isArray) continue;
            number.TryFormat(digits, out int length);
            var status = AddMember(ref value, digits[..length]);
            if (status != RdbStatus.Ok) return status;
        }

        if (isArray) value.SetIntegers(numbers, (int)width);
        return Go(Stage.Done);
    }

    private static long NumberAt(ReadOnlySpan<byte> numbers, int index, int width)
    {
        ReadOnlySpan<byte> at = numbers[(index * width)..];
        return width == 2 ? BinaryPrimitives.ReadInt16LittleEndian(at)
            : width == 4 ? BinaryPrimitives.ReadInt32LittleEndian(at) : BinaryPrimitives.ReadInt64LittleEndian(at);
    }

    private RdbStatus Add(scoped ref RdbValue value, scoped ReadOnlySpan<byte> element)
    {
        _work -= 1 + (element.Length / BytesPerWork);
        return After(value.List.TryAdd(element));
    }

    private RdbStatus AddMember(scoped ref RdbValue value, scoped ReadOnlySpan<byte> member)
    {
        _work -= WorkPerMember;
        long before = value.Set.Count;
        if (!value.Set.TryAdd(member)) return RdbStatus.OutOfMemory;
        return value.Set.Count == before ? RdbStatus.BadData : After(isAdded: true);
    }

    private RdbStatus AddField(scoped ref RdbValue value, scoped ReadOnlySpan<byte> field,
        scoped ReadOnlySpan<byte> content, scoped ReadOnlySpan<byte> expiry)
    {
        if (!IntegerText.TryParse(expiry, out long expiryMs) || expiryMs < 0) return RdbStatus.BadData;
        return AddField(ref value, field, content, expiryMs == 0 ? FieldExpiry.None : expiryMs);
    }

    private RdbStatus AddField(scoped ref RdbValue value, scoped ReadOnlySpan<byte> field,
        scoped ReadOnlySpan<byte> content, long expiryMs = FieldExpiry.None)
    {
        _work -= WorkPerMember + (content.Length / BytesPerWork);
        if (expiryMs > FieldExpiryMaxMs) return RdbStatus.BadData;
        if (!value.Hash.TryAdd(field, content, out bool isNew, expiryMs)) return RdbStatus.OutOfMemory;
        return isNew ? After(isAdded: true) : RdbStatus.BadData;
    }

    private RdbStatus AddScored(scoped ref RdbValue value, scoped ReadOnlySpan<byte> member, double score)
    {
        _work -= WorkPerMember;
        if (double.IsNaN(score)) return RdbStatus.BadData;
        long before = value.SortedSet.Count;
        if (!value.SortedSet.TryAdd(member, score, ScoreAggregate.Sum)) return RdbStatus.OutOfMemory;
        return value.SortedSet.Count == before ? RdbStatus.BadData : After(isAdded: true);
    }

    /// <summary>What adding comes to; now and then it looks whether all this is more than the store may hold.</summary>
    private RdbStatus After(bool isAdded) =>
        !isAdded || (++_adds % AddsPerCheck == 0 && IsTooMuch) ? RdbStatus.OutOfMemory : RdbStatus.Ok;
}

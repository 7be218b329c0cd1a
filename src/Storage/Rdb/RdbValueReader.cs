using System.Buffers.Binary;

namespace Kv.Storage;

/// <summary>Reads values of every type that Redis 1 to 7.4 writes, out of bytes that nobody vouches for.</summary>
/// <remarks>
/// Everything is checked, as deep as it goes: every length, each element of a packed form, members that are there twice, scores
/// that are no numbers, collections without elements. Memory is taken as elements are read, so what comes of a payload is at most
/// a multiple of it (<see cref="Lzf.ExpansionMax"/>, and what the tables of a collection take).
/// Whoever makes one disposes it, after the value: strings may be in its memory.
/// </remarks>
/// <param name="bytes">What to read.</param>
/// <param name="store">Whose memory, limits and hash are used.</param>
/// <param name="stringBytesMax">Most bytes of a string.</param>
internal ref struct RdbValueReader(ReadOnlySpan<byte> bytes, Store store, long stringBytesMax)
{
    private const int AddsPerCheck = 1024;

    /// <summary>The latest expiry of a field: 48 bits, as Redis has it.</summary>
    private const long FieldExpiryMaxMs = (1L << 48) - 2;

    private readonly Store _store = store;
    private readonly MemoryBudget _budget = store.Budget;
    private RdbInput _input = new(bytes, store.Budget, stringBytesMax);
    private RdbScratch _first, _second, _digits;
    private int _adds;

    /// <summary>Whether nothing is left.</summary>
    public readonly bool IsAtEnd => _input.Remaining == 0;

    /// <summary>Reads a type and a value of it.</summary>
    public RdbStatus Read(scoped ref RdbValue value) => _input.TryReadByte(out byte type) ? Read((RdbType)type, ref value) : RdbStatus.BadData;

    /// <summary>Reads a value of a type that stood elsewhere.</summary>
    /// <param name="value">Nothing has been read into it.</param>
    public RdbStatus Read(RdbType type, scoped ref RdbValue value)
    {
        value.Type = DataTypeOf(type);
        return type switch
        {
            RdbType.String => ReadString(ref value),
            RdbType.List => ReadList(ref value),
            RdbType.ListQuicklist or RdbType.ListQuicklist2 => ReadNodes(type, ref value),
            RdbType.Set => ReadSet(ref value),
            RdbType.Hash => ReadHash(ref value),
            RdbType.HashExpiry or RdbType.HashExpiryOld => ReadExpiringHash(type, ref value),
            RdbType.HashListpackExpiry or RdbType.HashListpackExpiryOld => ReadExpiringListpack(type, ref value),
            RdbType.SortedSet or RdbType.SortedSetText => ReadSortedSet(type, ref value),
            RdbType.IntegerSet => ReadIntegers(ref value),
            RdbType.Stream or RdbType.Stream2 or RdbType.Stream3 => ReadStream(type, ref value),
            RdbType.ListZiplist or RdbType.HashZipmap or RdbType.HashZiplist or RdbType.HashListpack or RdbType.SetListpack
                or RdbType.SortedSetZiplist or RdbType.SortedSetListpack => ReadPacked(type, ref value),
            RdbType.Module or RdbType.ModuleOld => RdbStatus.Unknown,
            _ => RdbStatus.BadData,
        };
    }

    public void Dispose()
    {
        _first.Dispose();
        _second.Dispose();
        _digits.Dispose();
    }

    private static DataType DataTypeOf(RdbType type) => type switch
    {
        RdbType.String => DataType.String,
        RdbType.List or RdbType.ListZiplist or RdbType.ListQuicklist or RdbType.ListQuicklist2 => DataType.List,
        RdbType.Set or RdbType.IntegerSet or RdbType.SetListpack => DataType.Set,
        RdbType.Stream or RdbType.Stream2 or RdbType.Stream3 => DataType.Stream,
        RdbType.Hash or RdbType.HashZipmap or RdbType.HashZiplist or RdbType.HashListpack
            or RdbType.HashExpiry or RdbType.HashExpiryOld or RdbType.HashListpackExpiry or RdbType.HashListpackExpiryOld => DataType.Hash,
        RdbType.SortedSet or RdbType.SortedSetText or RdbType.SortedSetZiplist or RdbType.SortedSetListpack => DataType.SortedSet,
        _ => DataType.Any,
    };

    private unsafe RdbStatus ReadString(scoped ref RdbValue value)
    {
        if (!_input.TryReadHead(out var head)) return RdbStatus.BadData;
        if (head.IsPlain)
        {
            value.SetString(head.Content, default);
            return RdbStatus.Ok;
        }

        if (head.Length <= RecordWord.InlineValueMax)
        {
            if (!_first.TryGet(_budget, head.Length, out var memory)) return RdbStatus.OutOfMemory;
            if (!head.TryWrite(memory)) return RdbStatus.BadData;
            value.SetString(memory, default);
            return RdbStatus.Ok;
        }

        // It will be in a block: expanded right there.
        Block block = Block.Allocate(head.Length, head.Length, _budget);
        if (block.IsNone) return RdbStatus.OutOfMemory;
        value.SetString(block.Span, block);
        if (_budget.IsOver) return RdbStatus.OutOfMemory;
        return head.TryWrite(new Span<byte>(block.Content, head.Length)) ? RdbStatus.Ok : RdbStatus.BadData;
    }

    private RdbStatus ReadList(scoped ref RdbValue value)
    {
        if (!_input.TryReadCount(1, out long count)) return RdbStatus.BadData;
        for (; count > 0; count--)
        {
            var status = _input.ReadString(ref _first, out var element);
            if (status == RdbStatus.Ok) status = After(value.List.TryAdd(element));
            if (status != RdbStatus.Ok) return status;
        }

        return RdbStatus.Ok;
    }

    /// <summary>Reads a list of nodes, each some elements packed, or one as it is.</summary>
    private RdbStatus ReadNodes(RdbType type, scoped ref RdbValue value)
    {
        const long plain = 1, packed = 2;
        bool hasKinds = type == RdbType.ListQuicklist2;
        if (!_input.TryReadCount(hasKinds ? 2 : 1, out long nodes)) return RdbStatus.BadData;
        for (; nodes > 0; nodes--)
        {
            long kind = packed;
            if (hasKinds && (!_input.TryReadLength(out kind) || kind is not (plain or packed))) return RdbStatus.BadData;
            var status = _input.ReadString(ref _first, out var node);
            if (status != RdbStatus.Ok) return status;
            if (kind == plain)
            {
                status = After(value.List.TryAdd(node));
            }
            else if (hasKinds)
            {
                var listpack = new ListpackReader(node);
                status = AddElements(ref listpack, ref value);
            }
            else
            {
                var ziplist = new ZiplistReader(node);
                status = AddElements(ref ziplist, ref value);
            }

            if (status != RdbStatus.Ok) return status;
        }

        return value.List.Count == 0 ? RdbStatus.BadData : RdbStatus.Ok;
    }

    private RdbStatus ReadSet(scoped ref RdbValue value)
    {
        if (!_input.TryReadCount(1, out long count)) return RdbStatus.BadData;
        for (; count > 0; count--)
        {
            var status = _input.ReadString(ref _first, out var member);
            if (status == RdbStatus.Ok) status = AddMember(ref value, member);
            if (status != RdbStatus.Ok) return status;
        }

        return RdbStatus.Ok;
    }

    private RdbStatus ReadHash(scoped ref RdbValue value)
    {
        if (!_input.TryReadCount(2, out long count)) return RdbStatus.BadData;
        for (; count > 0; count--)
        {
            var status = _input.ReadString(ref _first, out var field);
            if (status != RdbStatus.Ok) return status;
            status = _input.ReadString(ref _second, out var content);
            if (status == RdbStatus.Ok) status = AddField(ref value, field, content);
            if (status != RdbStatus.Ok) return status;
        }

        return RdbStatus.Ok;
    }

    /// <summary>Reads a hash with an expiry ahead of each field: since the earliest of all, or of itself.</summary>
    private RdbStatus ReadExpiringHash(RdbType type, scoped ref RdbValue value)
    {
        long earliestMs = 1;
        if (type == RdbType.HashExpiry && (!_input.TryReadInt64(out earliestMs) || earliestMs is < 0 or > FieldExpiryMaxMs)) return RdbStatus.BadData;
        if (!_input.TryReadCount(3, out long count)) return RdbStatus.BadData;
        for (; count > 0; count--)
        {
            if (!_input.TryReadLength(out long expiryMs) || expiryMs > FieldExpiryMaxMs) return RdbStatus.BadData;
            expiryMs = expiryMs == 0 ? FieldExpiry.None : expiryMs + earliestMs - 1;
            var status = _input.ReadString(ref _first, out var field);
            if (status != RdbStatus.Ok) return status;
            status = _input.ReadString(ref _second, out var content);
            if (status == RdbStatus.Ok) status = AddField(ref value, field, content, expiryMs);
            if (status != RdbStatus.Ok) return status;
        }

        return RdbStatus.Ok;
    }

    /// <summary>Reads a listpack of fields, each with its value and its expiry, 0 for none.</summary>
    private RdbStatus ReadExpiringListpack(RdbType type, scoped ref RdbValue value)
    {
        if (type == RdbType.HashListpackExpiry && !_input.TryReadInt64(out _)) return RdbStatus.BadData;
        var status = _input.ReadString(ref _first, out var content);
        if (status != RdbStatus.Ok) return status;
        if (!_digits.TryGet(_budget, 3 * SetView.DigitsMax, out var scratch)) return RdbStatus.OutOfMemory;
        var listpack = new ListpackReader(content);
        // Ends: each round takes elements of the bytes.
        while (listpack.Next(scratch[..SetView.DigitsMax], out var field))
        {
            if (!listpack.Next(scratch[SetView.DigitsMax..], out var text)) return RdbStatus.BadData;
            if (!listpack.Next(scratch[(2 * SetView.DigitsMax)..], out var expiry)) return RdbStatus.BadData;
            if (!IntegerText.TryParse(expiry, out long expiryMs) || expiryMs < 0) return RdbStatus.BadData;
            status = AddField(ref value, field, text, expiryMs == 0 ? FieldExpiry.None : expiryMs);
            if (status != RdbStatus.Ok) return status;
        }

        return listpack.IsWhole && value.Hash.Count != 0 ? RdbStatus.Ok : RdbStatus.BadData;
    }

    private RdbStatus ReadSortedSet(RdbType type, scoped ref RdbValue value)
    {
        if (!_input.TryReadCount(2, out long count)) return RdbStatus.BadData;
        for (; count > 0; count--)
        {
            var status = _input.ReadString(ref _first, out var member);
            if (status != RdbStatus.Ok) return status;
            if (!TryReadScore(type, out double score)) return RdbStatus.BadData;
            status = AddScored(ref value, member, score);
            if (status != RdbStatus.Ok) return status;
        }

        return FinishSortedSet(ref value);
    }

    private bool TryReadScore(RdbType type, out double score)
    {
        const byte positiveInfinity = 254, negativeInfinity = 255, notANumber = 253;
        score = 0;
        if (type == RdbType.SortedSet)
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

    private RdbStatus ReadStream(RdbType type, scoped ref RdbValue value)
    {
        var reader = new RdbStreamReader(_store, type);
        try
        {
            return reader.Read(ref _input, out value.Stream);
        }
        finally
        {
            reader.Dispose();
        }
    }

    private RdbStatus ReadIntegers(scoped ref RdbValue value)
    {
        const int headerBytes = 8;
        var status = _input.ReadString(ref _first, out var content);
        if (status != RdbStatus.Ok) return status;
        if (content.Length <= headerBytes) return RdbStatus.BadData;
        uint width = BinaryPrimitives.ReadUInt32LittleEndian(content), count = BinaryPrimitives.ReadUInt32LittleEndian(content[4..]);
        ReadOnlySpan<byte> numbers = content[headerBytes..];
        if (width is not (2 or 4 or 8) || (long)count * width != numbers.Length) return RdbStatus.BadData;
        bool isArray = count <= Math.Min(_store.PackedLimits.IntegerSetEntries, IntegerSet.CountMax);
        if (!_digits.TryGet(_budget, SetView.DigitsMax, out var digits)) return RdbStatus.OutOfMemory;
        long last = 0;
        for (int i = 0; i < (int)count; i++)
        {
            ReadOnlySpan<byte> at = numbers[(i * (int)width)..];
            long number = width == 2 ? BinaryPrimitives.ReadInt16LittleEndian(at)
                : width == 4 ? BinaryPrimitives.ReadInt32LittleEndian(at) : BinaryPrimitives.ReadInt64LittleEndian(at);
            if (i != 0 && number <= last) return RdbStatus.BadData;
            last = number;
            if (isArray) continue;
            number.TryFormat(digits, out int length);
            status = AddMember(ref value, digits[..length]);
            if (status != RdbStatus.Ok) return status;
        }

        if (isArray) value.SetIntegers(numbers, (int)width);
        return RdbStatus.Ok;
    }

    private RdbStatus ReadPacked(RdbType type, scoped ref RdbValue value)
    {
        var status = _input.ReadString(ref _first, out var content);
        if (status != RdbStatus.Ok) return status;
        switch (type)
        {
            case RdbType.HashZipmap:
                var zipmap = new ZipmapReader(content);
                return AddElements(ref zipmap, ref value);
            case RdbType.ListZiplist or RdbType.HashZiplist or RdbType.SortedSetZiplist:
                var ziplist = new ZiplistReader(content);
                status = AddElements(ref ziplist, ref value);
                return status == RdbStatus.Ok && value.Type == DataType.List && value.List.Count == 0 ? RdbStatus.BadData : status;
            default:
                var listpack = new ListpackReader(content);
                return AddElements(ref listpack, ref value);
        }
    }

    /// <summary>Adds all elements of a packed form, alone or in pairs, as the value's type has them.</summary>
    private RdbStatus AddElements<TReader>(scoped ref TReader reader, scoped ref RdbValue value) where TReader : struct, IElementReader, allows ref struct
    {
        if (!_digits.TryGet(_budget, 2 * SetView.DigitsMax, out var scratch)) return RdbStatus.OutOfMemory;
        Span<byte> digits = scratch[..SetView.DigitsMax], moreDigits = scratch[SetView.DigitsMax..];
        bool hasPairs = value.Type is DataType.Hash or DataType.SortedSet;
        bool isAny = false;
        // Ends: each round takes an element of the bytes.
        while (reader.Next(digits, out var element))
        {
            isAny = true;
            ReadOnlySpan<byte> other = default;
            if (hasPairs && !reader.Next(moreDigits, out other)) return RdbStatus.BadData;
            RdbStatus status;
            if (value.Type == DataType.List) status = After(value.List.TryAdd(element));
            else if (value.Type == DataType.Set) status = AddMember(ref value, element);
            else if (value.Type == DataType.Hash) status = AddField(ref value, element, other);
            else status = ScoreText.TryParse(other, out double score) ? AddScored(ref value, element, score) : RdbStatus.BadData;
            if (status != RdbStatus.Ok) return status;
        }

        // A node of a list may be empty, the list may not.
        if (!reader.IsWhole || (!isAny && value.Type != DataType.List)) return RdbStatus.BadData;
        return value.Type == DataType.SortedSet ? FinishSortedSet(ref value) : RdbStatus.Ok;
    }

    private RdbStatus AddMember(scoped ref RdbValue value, scoped ReadOnlySpan<byte> member)
    {
        long before = value.Set.Count;
        if (!value.Set.TryAdd(member)) return RdbStatus.OutOfMemory;
        return value.Set.Count == before ? RdbStatus.BadData : After(isAdded: true);
    }

    private RdbStatus AddField(scoped ref RdbValue value, scoped ReadOnlySpan<byte> field, scoped ReadOnlySpan<byte> content, long expiryMs = FieldExpiry.None)
    {
        if (expiryMs > FieldExpiryMaxMs) return RdbStatus.BadData;
        if (!value.Hash.TryAdd(field, content, out bool isNew, expiryMs)) return RdbStatus.OutOfMemory;
        return isNew ? After(isAdded: true) : RdbStatus.BadData;
    }

    private RdbStatus AddScored(scoped ref RdbValue value, scoped ReadOnlySpan<byte> member, double score)
    {
        if (double.IsNaN(score)) return RdbStatus.BadData;
        long before = value.SortedSet.Count;
        if (!value.SortedSet.TryAdd(member, score, ScoreAggregate.Sum)) return RdbStatus.OutOfMemory;
        return value.SortedSet.Count == before ? RdbStatus.BadData : After(isAdded: true);
    }

    private static RdbStatus FinishSortedSet(scoped ref RdbValue value) => value.SortedSet.TryFinish() ? RdbStatus.Ok : RdbStatus.OutOfMemory;

    /// <summary>What adding comes to; now and then it looks whether all this is more than the store may hold.</summary>
    private RdbStatus After(bool isAdded) =>
        !isAdded || (++_adds % AddsPerCheck == 0 && _budget.IsOver) ? RdbStatus.OutOfMemory : RdbStatus.Ok;
}

using System.Buffers.Binary;
using System.Diagnostics;

namespace Kv.Storage;

/// <summary>Reads what values are written with (drawn above <see cref="RdbOutput"/>) out of bytes that nobody vouches
/// for.</summary>
/// <remarks>Nothing outside of the bytes is looked at; no memory is taken but what they can be worth.</remarks>
internal unsafe struct RdbInput(byte* bytes, int count, MemoryBudget budget, long stringBytesMax)
{
    private const int Integer8 = 0, Integer16 = 1, Integer32 = 2, Compressed = 3;

    private readonly int _count = count;
    private byte* _bytes = bytes;
    private int _at;

    /// <summary>Bytes that have been read.</summary>
    public readonly int Position => _at;

    /// <summary>Bytes that have not been read.</summary>
    public readonly int Remaining => _count - _at;

    /// <summary>Says that the same bytes are elsewhere now.</summary>
    public void MoveTo(byte* start) => _bytes = start;

    /// <summary>Bytes at a place, read or not.</summary>
    public readonly ReadOnlySpan<byte> Slice(int start, int count)
    {
        Debug.Assert(start >= 0 && count >= 0 && start <= _count - count, "nothing outside of the bytes is looked at");
        return new ReadOnlySpan<byte>(_bytes + start, count);
    }

    public bool TryReadByte(out byte value)
    {
        value = 0;
        if (Remaining < 1) return false;
        value = _bytes[_at++];
        return true;
    }

    /// <summary>So many bytes as they are.</summary>
    public bool TryReadBytes(long count, out ReadOnlySpan<byte> bytes)
    {
        bytes = default;
        if (count < 0 || count > Remaining) return false;
        bytes = Slice(_at, (int)count);
        _at += (int)count;
        return true;
    }

    /// <summary>Eight bytes, little endian.</summary>
    public bool TryReadInt64(out long value)
    {
        value = 0;
        if (!TryReadBytes(sizeof(long), out var bytes)) return false;
        value = BinaryPrimitives.ReadInt64LittleEndian(bytes);
        return true;
    }

    /// <summary>A length, or how many of something there are.</summary>
    /// <returns>False where there is none, or one beyond 63 bits.</returns>
    public bool TryReadLength(out long length) => TryReadLength(out length, out bool isSpecial) && !isSpecial;

    /// <summary>Reads a length of up to 64 bits.</summary>
    public bool TryReadUInt64(out ulong number)
    {
        bool isThere = TryReadRaw(out number, out bool isSpecial);
        return isThere && !isSpecial;
    }

    /// <summary>Reads a count of things that have at least <paramref name="bytesEach"/> each.</summary>
    /// <returns>False when there are none, or the input is too short for them.</returns>
    public bool TryReadCount(int bytesEach, out long count) =>
        TryReadLength(out count) && count > 0 && count <= Remaining / bytesEach;

    /// <summary>A string; what has to be made up is in the scratch, until that is next used.</summary>
    public RdbStatus ReadString(scoped ref RdbScratch scratch, out ReadOnlySpan<byte> text)
    {
        text = default;
        if (!TryReadHead(out var head)) return RdbStatus.BadData;
        if (head.IsPlain)
        {
            text = head.Content;
            return RdbStatus.Ok;
        }

        if (!scratch.TryGet(budget, head.Length, out var memory)) return RdbStatus.OutOfMemory;
        if (!head.TryWrite(memory)) return RdbStatus.BadData;
        text = memory;
        return RdbStatus.Ok;
    }

    /// <summary>The head of a string, and its bytes as they are written.</summary>
    public bool TryReadHead(out StringHead head)
    {
        head = default;
        if (!TryReadLength(out long length, out bool isSpecial)) return false;
        if (!isSpecial)
        {
            if (length > stringBytesMax || !TryReadBytes(length, out var content)) return false;
            head = new StringHead(content, content.Length, isCompressed: false);
            return true;
        }

        if (length == Compressed)
        {
            if (!TryReadLength(out long compressed) || !TryReadLength(out long expanded)) return false;
            if (!TryReadBytes(compressed, out var content)) return false;
            if (expanded <= 0 || expanded > stringBytesMax || expanded > (long)Lzf.ExpansionMax * content.Length)
                return false;
            head = new StringHead(content, (int)expanded, isCompressed: true);
            return true;
        }

        int width = length switch { Integer8 => 1, Integer16 => 2, Integer32 => 4, _ => 0 };
        if (width == 0 || !TryReadBytes(width, out var number)) return false;
        head = new StringHead(width switch
        {
            1 => (sbyte)number[0],
            2 => BinaryPrimitives.ReadInt16LittleEndian(number),
            _ => BinaryPrimitives.ReadInt32LittleEndian(number),
        });
        return true;
    }

    private bool TryReadLength(out long length, out bool isSpecial)
    {
        bool isThere = TryReadRaw(out ulong number, out isSpecial);
        length = (long)number;
        return isThere && length >= 0;
    }

    private bool TryReadRaw(out ulong length, out bool isSpecial)
    {
        length = 0;
        isSpecial = false;
        if (!TryReadByte(out byte first)) return false;
        switch (first >> 6)
        {
            case 0:
                length = first;
                return true;
            case 1:
                if (!TryReadByte(out byte second)) return false;
                length = ((uint)(first & 0x3F) << 8) | second;
                return true;
            case 3:
                length = (uint)(first & 0x3F);
                isSpecial = true;
                return true;
        }

        if (first == 0x80 && TryReadBytes(4, out var four))
        {
            length = BinaryPrimitives.ReadUInt32BigEndian(four);
            return true;
        }

        if (first != 0x81 || !TryReadBytes(8, out var eight)) return false;
        length = BinaryPrimitives.ReadUInt64BigEndian(eight);
        return true;
    }

    /// <summary>A string as it is written.</summary>
    public readonly ref struct StringHead
    {
        private readonly bool _isCompressed;
        private readonly int _number;

        public StringHead(ReadOnlySpan<byte> content, int length, bool isCompressed)
        {
            Content = content;
            Length = length;
            _isCompressed = isCompressed;
            IsPlain = !isCompressed;
        }

        public StringHead(int number)
        {
            Span<byte> digits = stackalloc byte[SetView.DigitsMax];
            number.TryFormat(digits, out int length);
            Length = length;
            _number = number;
        }

        /// <summary>Whether the content is the string.</summary>
        public bool IsPlain { get; }

        public ReadOnlySpan<byte> Content { get; }

        /// <summary>Bytes of the string.</summary>
        public int Length { get; }

        /// <summary>Writes the string; there is room for exactly its length.</summary>
        /// <returns>False when it is not what was said.</returns>
        public bool TryWrite(Span<byte> destination)
        {
            Debug.Assert(destination.Length == Length, "there is room for exactly the string");
            if (_isCompressed) return Lzf.TryExpand(Content, destination);
            if (IsPlain) return Content.TryCopyTo(destination);
            return _number.TryFormat(destination, out _);
        }
    }
}

using System.Buffers.Binary;

namespace Kv.Storage;

/// <summary>Reads a listpack (drawn above <see cref="ListpackWriter"/>): nothing outside of the bytes, and nothing that
/// is wrong.</summary>
internal ref struct ListpackReader : IElementReader
{
    private const int HeaderBytes = 6;
    private const byte End = 0xFF;

    private readonly ReadOnlySpan<byte> _bytes;
    private readonly int _declared;
    private int _at, _count;

    /// <param name="place">Where to go on.</param>
    public ListpackReader(ReadOnlySpan<byte> bytes, PackedPlace place)
        : this(bytes)
    {
        if (place.At == 0) return;
        (_at, _count) = (place.At, place.Count);
    }

    public ListpackReader(ReadOnlySpan<byte> bytes)
    {
        _bytes = bytes;
        _at = -1;
        if (bytes.Length <= HeaderBytes || BinaryPrimitives.ReadUInt32LittleEndian(bytes) != (uint)bytes.Length) return;
        _declared = BinaryPrimitives.ReadUInt16LittleEndian(bytes[4..]);
        _at = HeaderBytes;
    }

    /// <summary>How many have been read.</summary>
    public readonly int Count => _count;

    /// <inheritdoc/>
    public readonly PackedPlace Place => new(_at, _count, 0);

    /// <inheritdoc/>
    public readonly bool IsWhole =>
        _at > 0 && _at == _bytes.Length - 1 && _bytes[_at] == End
        && (_declared == ushort.MaxValue || _declared == _count);

    /// <inheritdoc/>
    public bool Next(Span<byte> digits, out ReadOnlySpan<byte> element)
    {
        element = default;
        // The last byte is the end's: an element begins and ends before it.
        ReadOnlySpan<byte> rest = _at < 0 ? default : _bytes[_at..^1];
        if (rest.IsEmpty || !TryReadHead(rest, out int head, out int content, out bool isInteger)) return Fail();
        long length = head + (long)content;
        int back = ListpackWriter.BackLengthBytes(length);
        if (length + back > rest.Length || !IsBackLength(rest.Slice((int)length, back), length)) return Fail();
        element = isInteger ? Text(Integer(rest, content), digits) : rest.Slice(head, content);
        _at += (int)length + back;
        _count++;
        return true;
    }

    // At the end there is nothing that could be wrong.
    private bool Fail()
    {
        if (_at < 0 || _at < _bytes.Length - 1) _at = -1;
        return false;
    }

    private static bool TryReadHead(ReadOnlySpan<byte> rest, out int head, out int content, out bool isInteger)
    {
        byte first = rest[0];
        isInteger = (first & 0x80) == 0 || (first & 0xE0) == 0xC0 || first >= 0xF1;
        head = 1;
        content = 0;
        if ((first & 0x80) == 0) return true;
        if ((first & 0xC0) == 0x80)
        {
            content = first & 0x3F;
            return true;
        }

        if ((first & 0xE0) == 0xC0)
        {
            content = 1;
            return true;
        }

        if ((first & 0xF0) == 0xE0)
        {
            head = 2;
            if (rest.Length < 2) return false;
            content = ((first & 0x0F) << 8) | rest[1];
            return true;
        }

        if (first == 0xF0)
        {
            head = 5;
            if (rest.Length < 5) return false;
            content = BinaryPrimitives.ReadInt32LittleEndian(rest[1..]);
            return content >= 0;
        }

        content = first switch { 0xF1 => 2, 0xF2 => 3, 0xF3 => 4, 0xF4 => 8, _ => -1 };
        return content > 0;
    }

    private static long Integer(ReadOnlySpan<byte> rest, int bytes)
    {
        byte first = rest[0];
        if (bytes == 0) return first;
        if ((first & 0xE0) == 0xC0) return (((first & 0x1F) << 8 | rest[1]) << 19) >> 19;
        return bytes switch
        {
            2 => BinaryPrimitives.ReadInt16LittleEndian(rest[1..]),
            3 => (rest[1] << 8 | rest[2] << 16 | rest[3] << 24) >> 8,
            4 => BinaryPrimitives.ReadInt32LittleEndian(rest[1..]),
            _ => BinaryPrimitives.ReadInt64LittleEndian(rest[1..]),
        };
    }

    private static bool IsBackLength(ReadOnlySpan<byte> bytes, long length)
    {
        for (int i = bytes.Length - 1; i >= 0; i--, length >>= 7)
        {
            if ((bytes[i] & 127) != (length & 127) || (bytes[i] >= 128) != (i > 0)) return false;
        }

        return length == 0;
    }

    private static ReadOnlySpan<byte> Text(long number, Span<byte> digits)
    {
        number.TryFormat(digits, out int length);
        return digits[..length];
    }
}

using System.Buffers.Binary;

namespace Kv.Storage;

//   | bytes 4 | last element 4 | count 2 | element | element |     | FF |        little endian; count 65,535: not known
//   element:  | length of the one before: 1 byte, or FE and 4 | head | content |
//
//   head   00llllll              a string of up to 63 bytes
//          01llllll llllllll     one of up to 16,383 bytes
//          10000000 + 4 bytes    a longer one, big endian
//          C0, D0, E0            an integer of 2, 4, 8 bytes
//          F0, FE                one of 3 bytes, of 1 byte
//          F1 to FD              0 to 12

/// <summary>Reads a ziplist, which Redis had before the listpack: nothing outside of the bytes, and nothing that is
/// wrong.</summary>
internal ref struct ZiplistReader : IElementReader
{
    private const int HeaderBytes = 10, LongBefore = 0xFE;
    private const byte End = 0xFF;

    private readonly ReadOnlySpan<byte> _bytes;
    private readonly int _declared;
    private readonly uint _last;
    private int _at, _count, _before;

    /// <param name="place">Where to go on.</param>
    public ZiplistReader(ReadOnlySpan<byte> bytes, PackedPlace place)
        : this(bytes)
    {
        if (place.At == 0) return;
        (_at, _count, _before) = (place.At, place.Count, place.Before);
    }

    public ZiplistReader(ReadOnlySpan<byte> bytes)
    {
        _bytes = bytes;
        _at = -1;
        if (bytes.Length <= HeaderBytes || BinaryPrimitives.ReadUInt32LittleEndian(bytes) != (uint)bytes.Length) return;
        _last = BinaryPrimitives.ReadUInt32LittleEndian(bytes[4..]);
        _declared = BinaryPrimitives.ReadUInt16LittleEndian(bytes[8..]);
        _at = HeaderBytes;
    }

    /// <inheritdoc/>
    public readonly PackedPlace Place => new(_at, _count, _before);

    /// <inheritdoc/>
    public readonly bool IsWhole =>
        _at > 0 && _at == _bytes.Length - 1 && _bytes[_at] == End
        && (_declared == ushort.MaxValue || _declared == _count)
        && _last == (uint)(_at - _before);

    /// <inheritdoc/>
    public bool Next(Span<byte> digits, out ReadOnlySpan<byte> element)
    {
        element = default;
        ReadOnlySpan<byte> rest = _at < 0 ? default : _bytes[_at..^1];
        if (rest.IsEmpty || !TryReadBefore(rest, out int before)
            || !TryReadHead(rest[before..], out int head, out int content, out bool isInteger)) return Fail();
        long length = before + head + (long)content;
        if (length > rest.Length) return Fail();
        element = isInteger ? Text(Integer(rest[before], rest.Slice(before + head, content)), digits)
            : rest.Slice(before + head, content);
        _at += (int)length;
        _before = (int)length;
        _count++;
        return true;
    }

    private bool Fail()
    {
        if (_at < 0 || _at < _bytes.Length - 1) _at = -1;
        return false;
    }

    /// <summary>Reads how long the element before is, which must be true.</summary>
    private readonly bool TryReadBefore(ReadOnlySpan<byte> rest, out int bytes)
    {
        bytes = rest[0] < LongBefore ? 1 : 5;
        if (rest[0] < LongBefore) return rest.Length > 1 && rest[0] == _before;
        return rest[0] == LongBefore && rest.Length > 5
            && BinaryPrimitives.ReadUInt32LittleEndian(rest[1..]) == (uint)_before;
    }

    private static bool TryReadHead(ReadOnlySpan<byte> rest, out int head, out int content, out bool isInteger)
    {
        byte first = rest[0];
        isInteger = first >= 0xC0;
        head = 1;
        content = first & 0x3F;
        if (first < 0x40) return true;
        if (first < 0x80)
        {
            head = 2;
            if (rest.Length < 2) return false;
            content = (content << 8) | rest[1];
            return true;
        }

        if (!isInteger)
        {
            head = 5;
            if (first != 0x80 || rest.Length < 5) return false;
            content = BinaryPrimitives.ReadInt32BigEndian(rest[1..]);
            return content >= 0;
        }

        content = first switch { 0xC0 => 2, 0xD0 => 4, 0xE0 => 8, 0xF0 => 3, 0xFE => 1, >= 0xF1
            and <= 0xFD => 0, _ => -1 };
        return content >= 0;
    }

    private static long Integer(byte head, ReadOnlySpan<byte> content) => content.Length switch
    {
        0 => head - 0xF1,
        1 => (sbyte)content[0],
        2 => BinaryPrimitives.ReadInt16LittleEndian(content),
        3 => (content[0] << 8 | content[1] << 16 | content[2] << 24) >> 8,
        4 => BinaryPrimitives.ReadInt32LittleEndian(content),
        _ => BinaryPrimitives.ReadInt64LittleEndian(content),
    };

    private static ReadOnlySpan<byte> Text(long number, Span<byte> digits)
    {
        number.TryFormat(digits, out int length);
        return digits[..length];
    }
}

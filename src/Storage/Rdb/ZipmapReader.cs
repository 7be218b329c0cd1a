using System.Buffers.Binary;

namespace Kv.Storage;

//   | pairs 1 | length | field | length | spare 1 | value | spare bytes | length | field |     | FF |
//   length: 1 byte, or FE and 4 bytes, little endian; pairs 254 and above: not known

/// <summary>Reads a zipmap, as which Redis kept small hashes before 2.6: fields and values in turn.</summary>
internal ref struct ZipmapReader : IElementReader
{
    private const byte Long = 0xFE, End = 0xFF;

    private readonly ReadOnlySpan<byte> _bytes;
    private int _at, _count;

    /// <param name="place">Where to go on.</param>
    public ZipmapReader(ReadOnlySpan<byte> bytes, PackedPlace place)
        : this(bytes)
    {
        if (place.At == 0) return;
        (_at, _count) = (place.At, place.Count);
    }

    public ZipmapReader(ReadOnlySpan<byte> bytes)
    {
        _bytes = bytes;
        _at = bytes.Length < 2 ? -1 : 1;
    }

    /// <inheritdoc/>
    public readonly PackedPlace Place => new(_at, _count, 0);

    /// <inheritdoc/>
    public readonly bool IsWhole =>
        _at > 0 && _at == _bytes.Length - 1 && _bytes[_at] == End && (_count & 1) == 0
        && (_bytes[0] >= Long || _bytes[0] == _count / 2);

    /// <inheritdoc/>
    public bool Next(Span<byte> digits, out ReadOnlySpan<byte> element)
    {
        element = default;
        ReadOnlySpan<byte> rest = _at < 0 ? default : _bytes[_at..^1];
        bool isValue = (_count & 1) != 0;
        if (rest.IsEmpty || rest[0] == End || (rest[0] == Long && rest.Length < 5)) return Fail();
        int head = rest[0] == Long ? 5 : 1;
        uint length = rest[0] == Long ? BinaryPrimitives.ReadUInt32LittleEndian(rest[1..]) : rest[0];
        int spare = 0;
        if (isValue)
        {
            if (rest.Length <= head) return Fail();
            spare = rest[head++];
        }

        if (head + (long)length + spare > rest.Length) return Fail();
        element = rest.Slice(head, (int)length);
        _at += head + (int)length + spare;
        _count++;
        return true;
    }

    private bool Fail()
    {
        if (_at < 0 || _at < _bytes.Length - 1) _at = -1;
        return false;
    }
}

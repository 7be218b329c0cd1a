using System.Diagnostics;
using System.Runtime.CompilerServices;

namespace Kv.Storage;

//   item, a piece of the region:
//   | length prefix | field | length prefix | value |                                           lives as long as the hash
//   | length prefix | field | 255 | length 4, its highest bit set | expiry 8 | value |          may expire
//
//   No value is 2 GB, so the bit is never a length's. An expiry of -1 says none: what HPERSIST leaves, which needs no
// memory.

/// <summary>A field as a large hash keeps it: name, value and, if it has had one, when it expires.</summary>
internal static unsafe class HashItem
{
    private const byte Widest = 255;
    private const uint Expires = 1u << 31;
    private const int ExpiryOffset = 1 + sizeof(uint), ValueOffset = ExpiryOffset + sizeof(long);

    /// <summary>Bytes of an item.</summary>
    /// <param name="hasExpiry">Whether there is room for one.</param>
    public static int SizeOf(int fieldLength, int valueLength, bool hasExpiry) =>
        LengthPrefix.SizeWith(fieldLength)
        + (hasExpiry ? ValueOffset + valueLength : LengthPrefix.SizeWith(valueLength));

    /// <summary>Bytes of an item that is there.</summary>
    public static int SizeOf(byte* item)
    {
        byte* payload = MemberItem.PayloadOf(item);
        Read(payload, out var value);
        int prefix = ExpiryOf(payload) != null ? ValueOffset : LengthPrefix.SizeOf(value.Length);
        return (int)(payload - item) + prefix + value.Length;
    }

    /// <summary>Writes what follows the field's name.</summary>
    /// <param name="expiryMs">Unix milliseconds; -1: none, and no room for one, unless it is asked for.</param>
    public static void WritePayload(byte* payload, ReadOnlySpan<byte> value, long expiryMs, bool hasExpiry)
    {
        Debug.Assert(hasExpiry || expiryMs == FieldExpiry.None, "an expiry needs room");
        Debug.Assert(expiryMs >= FieldExpiry.None, "an expiry is a time, or none");
        if (!hasExpiry)
        {
            LengthPrefix.WriteWith(payload, value);
            return;
        }

        *payload = Widest;
        Unsafe.WriteUnaligned(payload + 1, (uint)value.Length | Expires);
        Unsafe.WriteUnaligned(payload + ExpiryOffset, expiryMs);
        value.CopyTo(new Span<byte>(payload + ValueOffset, value.Length));
    }

    /// <summary>Reads what follows the field's name.</summary>
    /// <returns>When it expires: unix milliseconds, or -1.</returns>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static long Read(byte* payload, out ReadOnlySpan<byte> value)
    {
        if (*payload == Widest) return ReadWidest(payload, out value);
        value = MemberItem.MemberOf(payload);
        return FieldExpiry.None;
    }

    private static long ReadWidest(byte* payload, out ReadOnlySpan<byte> value)
    {
        uint length = Unsafe.ReadUnaligned<uint>(payload + 1);
        bool expires = (length & Expires) != 0;
        value = new ReadOnlySpan<byte>(payload + (expires ? ValueOffset : ExpiryOffset), (int)(length & ~Expires));
        return expires ? Unsafe.ReadUnaligned<long>(payload + ExpiryOffset) : FieldExpiry.None;
    }

    /// <summary>Where the expiry stands; null: there is no room for one.</summary>
    public static byte* ExpiryOf(byte* payload) =>
        *payload == Widest && (Unsafe.ReadUnaligned<uint>(payload + 1) & Expires) != 0 ? payload + ExpiryOffset : null;
}

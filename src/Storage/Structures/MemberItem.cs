using System.Runtime.CompilerServices;

namespace Kv.Storage;

//   item, a piece of the region:   | length prefix | member | payload ...       set: none   sorted set: score 8
//                                                                                hash: length prefix, value

/// <summary>A member as a large set, hash or sorted set keeps it: its bytes, then what belongs to it.</summary>
internal static unsafe class MemberItem
{
    /// <summary>Bytes of an item.</summary>
    public static int SizeOf(int memberLength, int payloadBytes) => LengthPrefix.SizeWith(memberLength) + payloadBytes;

    /// <summary>Writes the member.</summary>
    /// <returns>Where the payload goes.</returns>
    public static byte* Write(byte* item, ReadOnlySpan<byte> member) => LengthPrefix.WriteWith(item, member);

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static ReadOnlySpan<byte> MemberOf(byte* item)
    {
        byte* start = LengthPrefix.Read(item, out int length);
        return new ReadOnlySpan<byte>(start, length);
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static byte* PayloadOf(byte* item)
    {
        byte* start = LengthPrefix.Read(item, out int length);
        return start + length;
    }
}

using System.Runtime.CompilerServices;

namespace Kv.Storage;

//  | 1 | 7 bits | 1 | 7 bits | ... | 0 | 7 bits |       the lowest bits first

/// <summary>Numbers in as few bytes as they need, seven bits in each.</summary>
internal static unsafe class Varint
{
    private const int BytesMax = 10;

    public static int SizeOf(ulong value)
    {
        int bytes = 1;
        // Ends: the value loses 7 bits each round.
        for (; value >= 0x80; value >>= 7) bytes++;
        return bytes;
    }

    public static byte* Write(byte* at, ulong value)
    {
        // Ends: the value loses 7 bits each round.
        for (; value >= 0x80; value >>= 7) *at++ = (byte)(value | 0x80);
        *at = (byte)value;
        return at + 1;
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static byte* Read(byte* at, out ulong value)
    {
        value = *at++;
        return value < 0x80 ? at : ReadLong(at, ref value);
    }

    private static byte* ReadLong(byte* at, ref ulong value)
    {
        value &= 0x7F;
        for (int shift = 7; shift < BytesMax * 7; shift += 7)
        {
            ulong part = *at++;
            value |= (part & 0x7F) << shift;
            if (part < 0x80) break;
        }

        return at;
    }
}

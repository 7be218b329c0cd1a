using System.Diagnostics;
using System.Numerics;
using System.Runtime.CompilerServices;

namespace Kv.Storage;

//   0
//  +-----+---------------+
//  | tag | number 1 to 8 |       tag    7        3 2        0
//  +-----+---------------+             +----------+----------+
//                                      |   form   | bytes - 1|
//                                      +----------+----------+
//   form   0: the score is the number, 1: a millionth of the number, 2: the number's bits are the score's
//   number with its sign, in as few bytes as it needs

/// <summary>A score in as few bytes as a packed sorted set keeps it: 2 for -128 to 127, 4 for 99,999 or 4.25, 9 at
/// most.</summary>
/// <remarks>
/// What is read is what was written, bit by bit, but for -0, which becomes 0: as with Redis, whose packed form keeps
/// whole numbers as such. Redis has one byte more for whole numbers above 4,095, and for others their text.
/// </remarks>
internal static unsafe class PackedScore
{
    /// <summary>The fewest and the most bytes of one.</summary>
    public const int BytesMin = 2, BytesMax = 9;

    private const int FormShift = 3, WidthMask = 7, Whole = 0, Millionths = 1, Bits = 2;
    private const double Million = 1e6;

    /// <summary>Bytes that a score takes.</summary>
    public static int SizeOf(double score) => SizeOfTagged(TagOf(score, out _));

    /// <summary>Bytes of the score at a place; at most 9, whatever the bytes are.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static int SizeAt(byte* at) => SizeOfTagged(*at);

    /// <summary>Writes a score.</summary>
    /// <returns>What follows it.</returns>
    public static byte* Write(byte* at, double score)
    {
        Debug.Assert(!double.IsNaN(score), "a score is a number");
        int tag = TagOf(score, out long number);
        *at++ = (byte)tag;
        // Byte by byte: what follows is the next element's.
        for (int left = (tag & WidthMask) + 1; left != 0; left--, number >>= 8) *at++ = (byte)number;
        return at;
    }

    /// <summary>Reads a score. Looks at the 6 bytes before it, too; at up to 7 after it, if a writer changes it
    /// meanwhile (memory of the log).</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static double Read(byte* at)
    {
        int tag = *at, missing = WidthMask - (tag & WidthMask);
        // The number's last byte is the load's highest: shifting out what stands ahead of it extends the sign.
        long number = Unsafe.ReadUnaligned<long>(at + 1 - missing) >> (missing * 8);
        return tag >> FormShift == Whole ? number : ReadFraction(tag, number);
    }

    private static double ReadFraction(int tag, long number) =>
        tag >> FormShift == Millionths ? number / Million : BitConverter.Int64BitsToDouble(number);

    private static int SizeOfTagged(int tag) => (tag & WidthMask) + BytesMin;

    private static int TagOf(double score, out long number)
    {
        // A conversion out of range gives the nearest number, and 0 for NaN: the comparison below finds both out.
        number = (long)score;
        if (number == score) return TagOf(Whole, number);
        number = (long)Math.Round(score * Million);
        if (number / Million == score) return TagOf(Millionths, number);
        number = BitConverter.DoubleToInt64Bits(score);
        return (Bits << FormShift) | WidthMask;
    }

    private static int TagOf(int form, long number)
    {
        int bits = 65 - BitOperations.LeadingZeroCount((ulong)(number ^ (number >> 63)));
        return (form << FormShift) | ((bits - 1) / 8);
    }
}

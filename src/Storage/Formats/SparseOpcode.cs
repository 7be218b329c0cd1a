using System.Diagnostics;

namespace Kv.Storage;

//             7 6 5 4 3 2 1 0
//   ZERO     |0 0| length - 1 |                          1 to 64 registers that are 0
//   XZERO    |0 1| high 6     | low 8 of length - 1 |    1 to 16,384 of them
//   VAL      |1| rank - 1 |len|                          1 to 4 (len + 1) registers of one rank, 1 to 32

/// <summary>A run of equal registers, as a sparse HyperLogLog holds it.</summary>
/// <param name="Rank">Of each of its registers; 0: they are 0.</param>
/// <param name="Length">How many registers.</param>
/// <param name="Bytes">1, or 2 for an XZERO.</param>
internal readonly record struct SparseOpcode(int Rank, int Length, int Bytes)
{
    public const int RankMax = 32, ValueLengthMax = 4, ZeroLengthMax = 64;

    private const byte Value = 0x80, LongZero = 0x40, ZeroBits = 0x3F;

    /// <summary>Reads the opcode at a place inside of the text.</summary>
    /// <remarks>An XZERO that is cut reads as if a zero byte followed, as in every other server.</remarks>
    public static SparseOpcode Read(ReadOnlySpan<byte> text, int at)
    {
        int first = text[at];
        if ((first & Value) != 0) return new(((first >> 2) & (RankMax - 1)) + 1, (first & (ValueLengthMax - 1)) + 1, 1);
        if ((first & LongZero) == 0) return new(0, first + 1, 1);
        int low = at + 1 < text.Length ? text[at + 1] : 0;
        return new(0, ((first & ZeroBits) << 8 | low) + 1, 2);
    }

    /// <summary>Whether a byte begins registers that are not 0.</summary>
    public static bool IsValue(byte first) => (first & Value) != 0;

    /// <summary>Writes registers of one rank.</summary>
    /// <returns>The place after them.</returns>
    public static int WriteValue(Span<byte> text, int at, int rank, int length)
    {
        Debug.Assert(rank is > 0 and <= RankMax && length is > 0 and <= ValueLengthMax,
            "rank and length fit in the opcode");
        text[at] = (byte)(Value | ((rank - 1) << 2) | (length - 1));
        return at + 1;
    }

    /// <summary>Writes registers that are 0, in the shortest form.</summary>
    /// <returns>The place after them.</returns>
    public static int WriteZeros(Span<byte> text, int at, int length)
    {
        Debug.Assert(length is > 0 and <= HyperLogLog.Registers, "the length fits in the opcode");
        length--;
        if (length >= ZeroLengthMax) text[at++] = (byte)(LongZero | (length >> 8));
        text[at++] = (byte)length;
        return at;
    }
}

using System.Buffers.Binary;
using System.Diagnostics;
using System.Numerics;

namespace Kv.Storage;

//   0        4          5          8                    16
//  +--------+----------+----------+--------------------+------------------ - - -
//  | "HYLL" | encoding | not used | cached cardinality | registers ...
//  +--------+----------+----------+--------------------+------------------ - - -
//   bytes 4      1          3              8             dense: 12,288 (DenseRegisters); sparse: any (SparseRegisters)
//
//   encoding             0 dense, 1 sparse
//   cached cardinality   little endian; its highest bit set: not valid, count again
//   an element's hash    63                14 13          0        rank: place of the lowest 1 of the upper 50 bits,
//                       +--------------------+-------------+       counted from 1; 51 if they are all 0
//                       | upper 50           | register 14 |
//                       +--------------------+-------------+
//
// Bytes and hash are those of every server that speaks RESP, so that the GET of one is the SET of another.

/// <summary>How registers are held. The numbers are in values: never change them.</summary>
internal enum HyperLogLogEncoding : byte
{
    Dense = 0,
    Sparse = 1,
}

/// <summary>What became of a HyperLogLog that was looked at.</summary>
internal enum HyperLogLogStatus : byte
{
    Ok,

    /// <summary>The key holds another type than a string.</summary>
    WrongType,

    /// <summary>A string that is no HyperLogLog.</summary>
    NotOne,

    /// <summary>A HyperLogLog by its header, whose registers are not all there.</summary>
    Corrupt,
}

/// <summary>A string that counts different elements: its header, and where an element belongs. Pure
/// functions.</summary>
/// <remarks>
/// Any client can SET any bytes, so nothing in them is trusted; readers may see them torn, too.
/// Source: Flajolet et al., "HyperLogLog", AofA 2007; the 64-bit hash of Heule et al., EDBT 2013.
/// </remarks>
internal static class HyperLogLog
{
    public const int HeaderBytes = 16, Registers = 1 << IndexBits, DenseBytes = HeaderBytes + DenseRegisters.Bytes;

    /// <summary>A sparse one with all its registers is never longer: an opcode of two bytes for each.</summary>
    public const int SparseBytesMax = HeaderBytes + (2 * Registers);

    /// <summary>An empty one: a header, and one opcode for all registers.</summary>
    public const int EmptyBytes = HeaderBytes + 2;

    /// <summary>The highest rank: all bits of the hash that are left over are 0.</summary>
    public const int RankMax = HashBits - IndexBits + 1;

    private const int IndexBits = 14, HashBits = 64, EncodingAt = 4, CardinalityAt = 8;
    private const ulong Seed = 0xADC83B19, NotValid = 1UL << 63;

    private static ReadOnlySpan<byte> Magic => "HYLL"u8;

    /// <summary>Which register an element goes to, and how high it may raise it.</summary>
    public static Observation Observe(ReadOnlySpan<byte> element)
    {
        ulong hash = MurmurHash64A.Of(element, Seed);
        // The bit above the others ends the count where they are all 0.
        int zeros = BitOperations.TrailingZeroCount((hash >> IndexBits) | (1UL << (HashBits - IndexBits)));
        return new Observation((int)hash & (Registers - 1), zeros + 1);
    }

    /// <summary>Whether a string is one, by its header and, if it is dense, its length.</summary>
    public static bool TryReadEncoding(ReadOnlySpan<byte> text, out HyperLogLogEncoding encoding)
    {
        encoding = default;
        if (text.Length < HeaderBytes || !text.StartsWith(Magic)) return false;
        encoding = (HyperLogLogEncoding)text[EncodingAt];
        return encoding == HyperLogLogEncoding.Sparse
            || (encoding == HyperLogLogEncoding.Dense && text.Length == DenseBytes);
    }

    /// <summary>Writes an empty one: the first <see cref="EmptyBytes"/>.</summary>
    public static void WriteEmpty(Span<byte> text)
    {
        Debug.Assert(text.Length >= EmptyBytes, "there is room for an empty one");
        text[..HeaderBytes].Clear();
        Magic.CopyTo(text);
        text[EncodingAt] = (byte)HyperLogLogEncoding.Sparse;
        SparseRegisters.WriteEmpty(text[HeaderBytes..]);
    }

    /// <summary>Makes a header that of a dense one; everything else in it stays.</summary>
    public static void SetDense(Span<byte> text)
    {
        Debug.Assert(text.Length == DenseBytes, "a dense one has all its registers");
        text[EncodingAt] = (byte)HyperLogLogEncoding.Dense;
    }

    /// <summary>The cardinality that was found last, if no register has changed since.</summary>
    public static bool TryReadCardinality(ReadOnlySpan<byte> text, out long cardinality)
    {
        cardinality = BinaryPrimitives.ReadInt64LittleEndian(text[CardinalityAt..]);
        return cardinality >= 0;
    }

    public static void WriteCardinality(Span<byte> text, long cardinality) =>
        BinaryPrimitives.WriteInt64LittleEndian(text[CardinalityAt..], cardinality);

    /// <summary>A register has changed.</summary>
    public static void ForgetCardinality(Span<byte> text) => text[CardinalityAt + 7] |= (byte)(NotValid >> 56);

    /// <summary>Counts the different elements.</summary>
    /// <returns>Ok, NotOne or Corrupt; the count only with Ok.</returns>
    public static HyperLogLogStatus Count(ReadOnlySpan<byte> text, out long cardinality)
    {
        cardinality = 0;
        if (!TryReadEncoding(text, out var encoding)) return HyperLogLogStatus.NotOne;
        Span<int> histogram = stackalloc int[RegisterHistogram.Length];
        histogram.Clear();
        if (encoding == HyperLogLogEncoding.Dense) RegisterHistogram.OfDense(text[HeaderBytes..], histogram);
        else if (!SparseRegisters.TryCount(text, histogram)) return HyperLogLogStatus.Corrupt;
        cardinality = RegisterHistogram.Cardinality(histogram);
        return HyperLogLogStatus.Ok;
    }

    /// <summary>Raises registers, a byte each, to those of a value.</summary>
    public static HyperLogLogStatus Merge(ReadOnlySpan<byte> text, Span<byte> registers,
        out HyperLogLogEncoding encoding)
    {
        if (!TryReadEncoding(text, out encoding)) return HyperLogLogStatus.NotOne;
        if (encoding == HyperLogLogEncoding.Dense) DenseRegisters.Merge(text[HeaderBytes..], registers);
        else if (!SparseRegisters.TryMerge(text, registers)) return HyperLogLogStatus.Corrupt;
        return HyperLogLogStatus.Ok;
    }

    /// <summary>What an element shows: a register that is at least this high.</summary>
    internal readonly record struct Observation(int Register, int Rank);
}

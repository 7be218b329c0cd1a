using System.Diagnostics;
using System.Numerics;
using System.Runtime.CompilerServices;
using System.Runtime.Intrinsics;

namespace Kv.Storage;

//  A bucket is one cache line: 7 entries and a control word.
//  +---------+---------+---------+---------+---------+---------+---------+---------+
//  | entry 0 | entry 1 | entry 2 | entry 3 | entry 4 | entry 5 | entry 6 | control |
//  +---------+---------+---------+---------+---------+---------+---------+---------+
//
//  entry     63          44 43  40 39                                       0
//           +--------------+------+------------------------------------------+
//           |    tag 20    |  -   |     address 40, in units of 8 bytes      |      0 = empty
//           +--------------+------+------------------------------------------+
//
//  control   63             40 39    34  33    32   31                      0
//           +-----------------+--------+-----+-------+-----------------------+
//           |   sequence 24   | depth 6|  -  | latch |      overflow 32      |
//           +-----------------+--------+-----+-------+-----------------------+
//   sequence  changes whenever an entry was published, removed or moved     latch   one session changes this bucket's chain
//   depth     hash bits that lead here; 0 = as the index began, or not yet  overflow  next bucket of the chain, 0 = none
//
// Of an overflow bucket's control word only the overflow field is used: the latch of the home bucket covers the chain.

/// <summary>Reads one bucket of the index: matching by tag, and the fields of entries and control words.</summary>
internal static unsafe class HashBucket
{
    public const int Bytes = 64, Entries = 7, ControlIndex = 7, TagBits = 20;

    public const ulong LatchBit = 1UL << 32, SequenceOne = 1UL << 40;
    private const int TagShift = 44, DepthShift = 34;
    private const ulong AddressMask = (1UL << 40) - 1;

    public static ulong Entry(ulong tag, ulong address)
    {
        Debug.Assert(tag < 1UL << (64 - TagShift) && address <= AddressMask, "tag and address fit into their fields");
        return tag << TagShift | address;
    }
    public static ulong AddressOf(ulong entry) => entry & AddressMask;
    public static ulong TagOf(ulong entry) => entry >> TagShift;

    /// <summary>A bit of the tag where it stands in an entry.</summary>
    public static ulong TagBit(int bit) => 1UL << (TagShift + bit);

    public static int DepthOf(ulong control) => (int)(control >> DepthShift) & 63;
    public static uint OverflowOf(ulong control) => (uint)control;
    public static bool IsLatched(ulong control) => (control & LatchBit) != 0;

    public static ulong SequenceOf(ulong control) => control & ~(SequenceOne - 1);

    public static ulong Control(ulong sequencePart, int depth, uint overflow)
    {
        Debug.Assert(depth is >= 0 and < 64, "the depth fits into its field");
        return SequenceOf(sequencePart) | (ulong)depth << DepthShift | overflow;
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static ulong ReadControl(ulong* bucket) => Volatile.Read(ref bucket[ControlIndex]);

    /// <summary>Bit i is set when entry i carries the tag (an empty one may: check the entry).</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static uint Match(ulong* bucket, ulong tag)
    {
        // An aligned line; each 8-byte lane is read whole on the machines that we run on (x86-64, arm64).
        if (Vector512.IsHardwareAccelerated)
            return (uint)Vector512.Equals(Vector512.ShiftRightLogical(Vector512.Load(bucket), TagShift),
                Vector512.Create(tag))
                .ExtractMostSignificantBits() & 0x7F;

        var wanted = Vector256.Create(tag);
        uint low = Vector256.Equals(Vector256.ShiftRightLogical(Vector256.Load(bucket), TagShift), wanted)
            .ExtractMostSignificantBits();
        uint high = Vector256.Equals(Vector256.ShiftRightLogical(Vector256.Load(bucket + 4), TagShift), wanted)
            .ExtractMostSignificantBits();
        return (low | high << 4) & 0x7F;
    }

    /// <summary>Bit i is set when entry i is not empty.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static uint Used(ulong* bucket)
    {
        if (Vector512.IsHardwareAccelerated)
            return ~(uint)Vector512.Equals(Vector512.Load(bucket), Vector512<ulong>.Zero)
                .ExtractMostSignificantBits() & 0x7F;
        uint low = Vector256.Equals(Vector256.Load(bucket), Vector256<ulong>.Zero).ExtractMostSignificantBits();
        uint high = Vector256.Equals(Vector256.Load(bucket + 4), Vector256<ulong>.Zero).ExtractMostSignificantBits();
        return ~(low | high << 4) & 0x7F;
    }

    /// <summary>Whether an entry is empty.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static bool HasRoom(ulong* bucket) => Used(bucket) != (1u << Entries) - 1;

    /// <summary>Takes the lowest set bit off.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static int TakeLowest(ref uint matches)
    {
        int index = BitOperations.TrailingZeroCount(matches);
        matches &= matches - 1;
        return index;
    }
}

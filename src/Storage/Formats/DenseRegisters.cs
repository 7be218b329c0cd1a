using System.Buffers.Binary;
using System.Diagnostics;
using System.Runtime.Intrinsics;
using System.Runtime.Intrinsics.X86;

namespace Kv.Storage;

//   byte     0                 1                 2            3 ...
//   bit      7 6 5 4 3 2 1 0 | 7 6 5 4 3 2 1 0 | 7 6 5 4 3 2 1 0
//            1 1 0 0 0 0 0 0   2 2 2 2 1 1 1 1   3 3 3 3 3 3 2 2      the register that a bit belongs to
//
// 16,384 registers of 6 bits, the first in the lowest bits: four of them are a number of 24 bits, little endian.

/// <summary>The registers of a dense HyperLogLog: 12,288 bytes. Pure functions; "registers" are unpacked, a byte
/// each.</summary>
/// <remarks>Cost: unpacked or packed 32 at a time with AVX2, four without.</remarks>
internal static class DenseRegisters
{
    public const int Bytes = HyperLogLog.Registers * Bits / 8;

    /// <summary>Registers hold 0 to this.</summary>
    public const int Max = (1 << Bits) - 1;

    private const int Bits = 6;

    // A step of the vector loops: 24 packed bytes, 32 registers. The upper half is loaded 8 bytes on, not 12, so that
    // no step reads past its own bytes.
    private const int StepBytes = 24, StepRegisters = 32, UpperAt = 8;

    public static int Get(ReadOnlySpan<byte> packed, int register)
    {
        int at = Place(register, out int shift);
        return (BinaryPrimitives.ReadUInt16LittleEndian(packed[at..]) >> shift) & Max;
    }

    /// <summary>Where a register is among the packed bytes.</summary>
    public static int PlaceOf(int register) => Place(register, out _);

    /// <summary>Raises a register.</summary>
    /// <returns>False when it is that high already.</returns>
    public static bool Raise(Span<byte> packed, int register, int rank)
    {
        Debug.Assert((uint)register < HyperLogLog.Registers && rank is >= 0 and <= Max, "a rank fits in its register");
        Span<byte> place = packed[Place(register, out int shift)..];
        int pair = BinaryPrimitives.ReadUInt16LittleEndian(place);
        if (((pair >> shift) & Max) >= rank) return false;
        BinaryPrimitives.WriteUInt16LittleEndian(place, (ushort)((pair & ~(Max << shift)) | (rank << shift)));
        return true;
    }

    /// <summary>Raises registers to those of a dense one.</summary>
    public static void Merge(ReadOnlySpan<byte> packed, Span<byte> registers)
    {
        if (Avx2.IsSupported) MergeVectors(packed, registers);
        else MergeScalar(packed, registers);
    }

    /// <summary>Writes the registers of a dense one, a byte each.</summary>
    public static void Unpack(ReadOnlySpan<byte> packed, Span<byte> registers)
    {
        registers = registers[..HyperLogLog.Registers];
        if (Avx2.IsSupported)
        {
            packed = packed[..Bytes];
            for (int at = 0, to = 0; to < HyperLogLog.Registers; at += StepBytes, to += StepRegisters)
                UnpackStep(packed.Slice(at, StepBytes)).CopyTo(registers.Slice(to, StepRegisters));
            return;
        }

        registers.Clear();
        MergeScalar(packed, registers);
    }

    /// <summary>Packs registers, none of them above <see cref="Max"/>.</summary>
    public static void Pack(ReadOnlySpan<byte> registers, Span<byte> packed)
    {
        if (Avx2.IsSupported) PackVectors(registers, packed);
        else PackScalar(registers, packed);
    }

    private static Vector256<byte> UnpackStep(ReadOnlySpan<byte> packed)
    {
        Vector256<byte> both = Vector256.Create(Vector128.Create(packed), Vector128.Create(packed[UpperAt..]));
        // Three bytes into each 32 bits, then each six bits into a byte.
        Vector256<uint> groups = Avx2.Shuffle(both, Vector256.Create(
            (byte)0, 1, 2, 0xFF, 3, 4, 5, 0xFF, 6, 7, 8, 0xFF, 9, 10, 11, 0xFF,
            4, 5, 6, 0xFF, 7, 8, 9, 0xFF, 10, 11, 12, 0xFF, 13, 14, 15, 0xFF)).AsUInt32();
        return ((groups & Vector256.Create(0x3Fu)) | ((groups << 2) & Vector256.Create(0x3F00u))
            | ((groups << 4) & Vector256.Create(0x3F0000u)) | ((groups << 6) & Vector256.Create(0x3F000000u))).AsByte();
    }

    internal static void MergeScalar(ReadOnlySpan<byte> packed, Span<byte> registers)
    {
        for (int group = 0; group < HyperLogLog.Registers / 4; group++)
        {
            Span<byte> four = registers.Slice(group * 4, 4);
            int bits = packed[group * 3] | (packed[(group * 3) + 1] << 8) | (packed[(group * 3) + 2] << 16);
            for (int index = 0; index < 4; index++, bits >>= Bits)
                four[index] = Math.Max(four[index], (byte)(bits & Max));
        }
    }

    internal static void PackScalar(ReadOnlySpan<byte> registers, Span<byte> packed)
    {
        Debug.Assert(registers.IndexOfAnyExceptInRange((byte)0, (byte)Max) < 0, "registers fit in their bits");
        for (int group = 0; group < HyperLogLog.Registers / 4; group++)
        {
            ReadOnlySpan<byte> four = registers.Slice(group * 4, 4);
            int bits = four[0] | (four[1] << Bits) | (four[2] << (2 * Bits)) | (four[3] << (3 * Bits));
            packed[group * 3] = (byte)bits;
            packed[(group * 3) + 1] = (byte)(bits >> 8);
            packed[(group * 3) + 2] = (byte)(bits >> 16);
        }
    }

    private static void MergeVectors(ReadOnlySpan<byte> packed, Span<byte> registers)
    {
        packed = packed[..Bytes];
        registers = registers[..HyperLogLog.Registers];
        for (int at = 0, to = 0; to < HyperLogLog.Registers; at += StepBytes, to += StepRegisters)
        {
            Span<byte> place = registers.Slice(to, StepRegisters);
            Vector256.Max(UnpackStep(packed.Slice(at, StepBytes)), Vector256.Create((ReadOnlySpan<byte>)place))
                .CopyTo(place);
        }
    }

    private static void PackVectors(ReadOnlySpan<byte> registers, Span<byte> packed)
    {
        Debug.Assert(registers.IndexOfAnyExceptInRange((byte)0, (byte)Max) < 0, "registers fit in their bits");
        registers = registers[..HyperLogLog.Registers];
        packed = packed[..Bytes];
        // 16 bits: the first register and 64 times the second
        Vector256<sbyte> pairs = Vector256.Create((short)0x4001).AsSByte();
        // 32 bits: the first pair and 4,096 times the second
        Vector256<short> fours = Vector256.Create(0x10000001).AsInt16();
        Vector256<byte> close = Vector256.Create(
            (byte)0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 0xFF, 0xFF, 0xFF, 0xFF,
            0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 0xFF, 0xFF, 0xFF, 0xFF);
        Vector256<int> together = Vector256.Create(0, 1, 2, 4, 5, 6, 7, 7);
        for (int at = 0, to = 0; at < HyperLogLog.Registers; at += StepRegisters, to += StepBytes)
        {
            Vector256<byte> step = Vector256.Create(registers.Slice(at, StepRegisters));
            Vector256<int> groups = Avx2.MultiplyAddAdjacent(Avx2.MultiplyAddAdjacent(step, pairs), fours);
            Vector256<byte> bytes = Avx2.PermuteVar8x32(Avx2.Shuffle(groups.AsByte(), close).AsInt32(),
                together).AsByte();
            Span<byte> place = packed.Slice(to, StepBytes);
            bytes.GetLower().CopyTo(place);
            BinaryPrimitives.WriteUInt64LittleEndian(place[16..], bytes.AsUInt64().GetElement(2));
        }
    }

    /// <summary>The two bytes that a register is in: the last one ends with its byte, so that its pair begins a byte
    /// earlier.</summary>
    private static int Place(int register, out int shift)
    {
        Debug.Assert((uint)register < HyperLogLog.Registers, "there is such a register");
        int bit = register * Bits, at = Math.Min(bit >> 3, Bytes - 2);
        shift = bit - (at * 8);
        return at;
    }
}

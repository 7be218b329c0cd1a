using System.Diagnostics;
using System.Numerics;
using System.Runtime.Intrinsics;
using System.Runtime.Intrinsics.X86;

namespace Kv.Storage;

/// <summary>What became of a register that was to be raised.</summary>
internal enum SparseResult : byte
{
    /// <summary>It is that high already.</summary>
    Unchanged,
    Raised,

    /// <summary>Nothing was changed: the rank or the bytes are too many for a sparse one.</summary>
    NeedsDense,

    /// <summary>Nothing was changed: the opcodes end before the register.</summary>
    Corrupt,
}

/// <summary>The registers of a sparse HyperLogLog: opcodes after its header (<see cref="SparseOpcode"/>). Pure
/// functions.</summary>
/// <remarks>
/// Texts begin with the header. Every change gives the bytes that every other server gives: opcodes are split where a
/// register is raised, and equal neighbours joined within five opcodes from the one before.
/// </remarks>
internal static class SparseRegisters
{
    /// <summary>Most bytes that raising a register adds: an XZERO, even one that is cut, becomes XZERO, VAL,
    /// XZERO.</summary>
    public const int GrowthMax = 4;

    private const int JoinedOpcodesMax = 5;

    /// <summary>All registers are 0: one opcode of two bytes.</summary>
    public static void WriteEmpty(Span<byte> opcodes) => SparseOpcode.WriteZeros(opcodes, 0, HyperLogLog.Registers);

    /// <summary>Counts the registers of each rank. The histogram begins with zeros.</summary>
    /// <returns>False: they are not 16,384.</returns>
    public static bool TryCount(ReadOnlySpan<byte> text, Span<int> histogram)
    {
        int register = 0;
        for (int at = HyperLogLog.HeaderBytes; at < text.Length;)
        {
            var opcode = SparseOpcode.Read(text, at);
            if (opcode.Length > HyperLogLog.Registers - register) return false;
            histogram[opcode.Rank] += opcode.Length;
            register += opcode.Length;
            at += opcode.Bytes;
        }

        return register == HyperLogLog.Registers;
    }

    /// <summary>Raises registers, a byte each, to those of a sparse one.</summary>
    /// <returns>False: they are not 16,384; some may have been raised.</returns>
    public static bool TryMerge(ReadOnlySpan<byte> text, Span<byte> registers)
    {
        int register = 0;
        for (int at = HyperLogLog.HeaderBytes; at < text.Length;)
        {
            var opcode = SparseOpcode.Read(text, at);
            if (opcode.Length > HyperLogLog.Registers - register) return false;
            if (opcode.Rank > 0)
                foreach (ref byte place in registers.Slice(register, opcode.Length))
                    place = Math.Max(place, (byte)opcode.Rank);
            register += opcode.Length;
            at += opcode.Bytes;
        }

        return register == HyperLogLog.Registers;
    }

    /// <summary>Raises one register.</summary>
    /// <param name="text">Of <paramref name="length"/> bytes so far, and room for <see cref="GrowthMax"/> more.</param>
    /// <param name="bytesMax">It may grow to this.</param>
    /// <param name="cursor">Where to begin to look: a new one, or that of the last call, for a higher register.</param>
    public static SparseResult Raise(Span<byte> text, ref int length, HyperLogLog.Observation seen, long bytesMax,
        ref Cursor cursor)
    {
        Debug.Assert(text.Length >= length + GrowthMax, "there is room for what raising adds");
        if (seen.Rank > SparseOpcode.RankMax) return SparseResult.NeedsDense;
        if (!TryFind(text[..length], seen.Register, ref cursor, out int at, out int before, out int first))
            return SparseResult.Corrupt;
        if (before < 0 && at > HyperLogLog.HeaderBytes)
        {
            // Registers were joined into the opcode at the cursor, or the register is a lower one: the opcode before it
            // is found from the start.
            cursor = Cursor.Start;
            TryFind(text[..length], seen.Register, ref cursor, out at, out before, out first);
        }

        var opcode = SparseOpcode.Read(text[..length], at);
        if (opcode.Rank >= seen.Rank) return SparseResult.Unchanged;

        // The registers before it, itself, those after it.
        Span<byte> split = stackalloc byte[5];
        int left = seen.Register - first, right = opcode.Length - left - 1, bytes = 0;
        Debug.Assert(left >= 0 && right >= 0, "the register is in the opcode that was found");
        if (left > 0) bytes = Write(split, bytes, opcode.Rank, left);
        bytes = SparseOpcode.WriteValue(split, bytes, seen.Rank, 1);
        if (right > 0) bytes = Write(split, bytes, opcode.Rank, right);

        int oldBytes = Math.Min(opcode.Bytes, length - at), growth = bytes - oldBytes;
        Debug.Assert(growth <= GrowthMax, "there is room for what raising adds");
        if (growth > 0 && length + growth > bytesMax) return SparseResult.NeedsDense;
        if (growth != 0) text[(at + oldBytes)..length].CopyTo(text[(at + bytes)..]);
        split[..bytes].CopyTo(text[at..]);
        length += growth;
        Join(text, ref length, before < 0 ? at : before);
        return SparseResult.Raised;
    }

    private static int Write(Span<byte> text, int at, int rank, int length) =>
        rank == 0 ? SparseOpcode.WriteZeros(text, at, length) : SparseOpcode.WriteValue(text, at, rank, length);

    /// <summary>Joins neighbours of one rank, as far as they fit into one opcode.</summary>
    private static void Join(Span<byte> text, ref int length, int at)
    {
        for (int left = JoinedOpcodesMax; left > 0 && at < length; left--)
        {
            var opcode = SparseOpcode.Read(text[..length], at);
            if (opcode.Rank > 0 && at + 1 < length && SparseOpcode.IsValue(text[at + 1]))
            {
                var next = SparseOpcode.Read(text[..length], at + 1);
                if (next.Rank == opcode.Rank && next.Length + opcode.Length <= SparseOpcode.ValueLengthMax)
                {
                    SparseOpcode.WriteValue(text, at + 1, opcode.Rank, opcode.Length + next.Length);
                    text[(at + 1)..length].CopyTo(text[at..]);
                    length--;
                    continue;       // with the same place: what is now there may fit with the next one, too
                }
            }

            at += opcode.Bytes;
        }
    }

    /// <summary>Finds the opcode that a register belongs to.</summary>
    /// <param name="before">The opcode before it; -1: there is none.</param>
    /// <param name="first">The opcode's first register.</param>
    private static bool TryFind(ReadOnlySpan<byte> text, int register, ref Cursor cursor, out int at, out int before,
        out int first)
    {
        at = cursor.At;
        first = cursor.First;
        before = -1;
        // Where the last two steps began: at least two opcodes before the one that is found.
        Cursor last = cursor;
        while (at < text.Length)
        {
            Cursor here = new(at, first);
            if (TrySkip(text, register, ref at, ref first))
            {
                before = at - 1;
            }
            else
            {
                var opcode = SparseOpcode.Read(text, at);
                if (register < first + opcode.Length) return true;
                before = at;
                at += opcode.Bytes;
                first += opcode.Length;
            }

            cursor = last;
            last = here;
        }

        return false;
    }

    /// <summary>Passes over up to 32 opcodes of one byte, if the register comes after them.</summary>
    private static bool TrySkip(ReadOnlySpan<byte> text, int register, ref int at, ref int first)
    {
        if (!Avx2.IsSupported || text.Length - at < Vector256<byte>.Count) return false;
        Vector256<byte> bytes = Vector256.Create(text[at..]);
        Vector256<byte> isValue = Vector256.LessThan(bytes.AsSByte(), Vector256<sbyte>.Zero).AsByte();
        // Lengths less one: two bits of a VAL, six of a ZERO. From the first XZERO on the bytes are left out.
        Vector256<byte> longZeros =
            Vector256.Equals(bytes & Vector256.Create((byte)0xC0), Vector256.Create((byte)0x40));
        int count = BitOperations.TrailingZeroCount(longZeros.ExtractMostSignificantBits());
        if (count == 0) return false;
        Vector256<byte> lengths = bytes & Vector256.ConditionalSelect(isValue, Vector256.Create((byte)0x03),
            Vector256.Create((byte)0x3F));
        lengths &= Vector256.LessThan(Vector256<byte>.Indices, Vector256.Create((byte)count));
        int registers = count + Vector256.Sum(Avx2.SumAbsoluteDifferences(lengths, Vector256<byte>.Zero).AsInt32());
        if (first + registers > register) return false;
        at += count;
        first += registers;
        return true;
    }

    /// <summary>A place between two opcodes, and the register that begins there.</summary>
    internal readonly record struct Cursor(int At, int First)
    {
        /// <summary>The first opcode.</summary>
        public static Cursor Start => new(HyperLogLog.HeaderBytes, 0);
    }
}

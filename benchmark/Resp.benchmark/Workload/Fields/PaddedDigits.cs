using System.Diagnostics;
using System.Numerics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Runtime.Intrinsics;
using System.Runtime.Intrinsics.X86;

namespace RespBenchmark.Workload;

/// <summary>Writes numbers as decimals of a constant width, padded on the left.</summary>
/// <remarks>Eight digits are made in one register: no table, no loop, no division by a variable. That is what the
/// generator's speed at great depth hangs on; see the rate in benchmark/Kv.Microbenchmarks.</remarks>
internal static class PaddedDigits
{
    public const int WidthMax = 19;

    /// <summary>Numbers that are made side by side.</summary>
    private const int Side = 4;

    private const uint EightDigits = 100_000_000;
    private const ulong Zeros = 0x3030303030303030;
    private const ulong EveryByte = 0x0101010101010101;

    /// <summary>The digits that 0..n−1 need.</summary>
    public static int CountFor(long n)
    {
        int digits = 1;
        for (long left = Math.Max(0, n - 1); left >= 10; left /= 10) digits++;
        return digits;
    }

    /// <summary>Writes one number at each stride.</summary>
    /// <param name="width">1 to 19, at least the digits of every number.</param>
    /// <param name="pad">What stands in place of leading zeros.</param>
    public static void WriteColumn(ReadOnlySpan<long> numbers, ref byte first, nint stride, int width, byte pad)
    {
        if (width == 8)
        {
            if (Avx2.IsSupported)
            {
                int count = numbers.Length & ~(Side - 1);
                WriteFours(numbers[..count], ref first, stride, pad);
                numbers = numbers[count..];
                first = ref Unsafe.Add(ref first, count * stride);
            }

            if (pad == '0') WriteEights(numbers, ref first, stride);
            else WritePaddedEights(numbers, ref first, stride, pad);
        }
        else
        {
            foreach (long number in numbers)
            {
                Write(number, ref first, width, pad);
                first = ref Unsafe.Add(ref first, stride);
            }
        }
    }

    public static void Write(long number, ref byte at, int width, byte pad)
    {
        Debug.Assert(width is > 0 and <= WidthMax && number >= 0 && CountFor(number + 1) <= width, "the number fits");
        if (width <= 8)
        {
            StoreLow(ref at, PadFew(Eight((uint)number) >> (8 * (8 - width)), width, pad), width);
        }
        else if (width <= 16)
        {
            uint high = (uint)((ulong)number / EightDigits), low = (uint)((ulong)number % EightDigits);
            int highWidth = width - 8;
            ulong lowText = high == 0 ? PadFew(Eight(low), 8, pad) : Eight(low) | Zeros;
            ulong highText = high == 0 ? pad * EveryByte : PadFew(Eight(high) >> (8 * (8 - highWidth)), highWidth, pad);
            StoreLow(ref at, highText, highWidth);
            Unsafe.WriteUnaligned(ref Unsafe.Add(ref at, highWidth), lowText);
        }
        else
        {
            WriteWide(number, ref at, width, pad);
        }
    }

    /// <summary>Numbers of eight digits, four at a time and no others: what <see cref="Eight"/> and
    /// <see cref="PadFew"/> do, side by side. A GET of 8 digits, 512 at once: 4.9 ns without, 2.3 ns with it.</summary>
    private static void WriteFours(ReadOnlySpan<long> numbers, ref byte at, nint stride, byte pad)
    {
        // 3518437209/2^45 is 1/10,000 for all numbers of 32 bits, rounded as a division is.
        Vector256<uint> tenThousandth = Vector256.Create(3518437209UL).AsUInt32(),
            tenThousand = Vector256.Create(10_000UL).AsUInt32();
        Vector256<ulong> pads = Vector256.Create(pad * EveryByte), last = Vector256.Create(0xFF00_0000_0000_0000UL);
        ref long number = ref MemoryMarshal.GetReference(numbers);
        for (int index = 0; index < numbers.Length; index += Side)
        {
            Vector256<ulong> four = Vector256.LoadUnsafe(ref number, (nuint)index).AsUInt64();
            Vector256<ulong> high = Avx2.Multiply(four.AsUInt32(), tenThousandth) >>> 45;
            Vector256<uint> x = (high | ((four - Avx2.Multiply(high.AsUInt32(), tenThousand)) << 32)).AsUInt32();
            Vector256<uint> hundreds = (x * 10_486) >>> 20;
            Vector256<ushort> y = (hundreds | ((x - (hundreds * 100)) << 16)).AsUInt16();
            Vector256<ushort> tens = (y * 103) >>> 10;
            Vector256<ulong> digits = (tens | ((y - (tens * 10)) << 8)).AsUInt64();

            // Bytes before the first that is not 0; the last digit stays.
            Vector256<ulong> kept = ~Vector256.Equals(digits.AsByte(), Vector256<byte>.Zero).AsUInt64() | last;
            Vector256<ulong> leading = (kept & (Vector256<ulong>.Zero - kept)) - Vector256<ulong>.One;
            Vector256<ulong> text = Vector256.ConditionalSelect(leading, pads, digits | Vector256.Create(Zeros));
            Unsafe.WriteUnaligned(ref at, text.GetElement(0));
            Unsafe.WriteUnaligned(ref Unsafe.Add(ref at, stride), text.GetElement(1));
            Unsafe.WriteUnaligned(ref Unsafe.Add(ref at, 2 * stride), text.GetElement(2));
            Unsafe.WriteUnaligned(ref Unsafe.Add(ref at, 3 * stride), text.GetElement(3));
            at = ref Unsafe.Add(ref at, Side * stride);
        }
    }

    private static void WriteEights(ReadOnlySpan<long> numbers, ref byte at, nint stride)
    {
        foreach (long number in numbers)
        {
            Unsafe.WriteUnaligned(ref at, Eight((uint)number) | Zeros);
            at = ref Unsafe.Add(ref at, stride);
        }
    }

    private static void WritePaddedEights(ReadOnlySpan<long> numbers, ref byte at, nint stride, byte pad)
    {
        foreach (long number in numbers)
        {
            Unsafe.WriteUnaligned(ref at, PadFew(Eight((uint)number), 8, pad));
            at = ref Unsafe.Add(ref at, stride);
        }
    }

    /// <summary>Digits to text, leading zeros to pads; the last digit stays.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static ulong PadFew(ulong digits, int width, byte pad)
    {
        ulong marked = digits | (1UL << ((8 * width) - 1));         // so that the last byte never counts as leading
        ulong leading = (1UL << (BitOperations.TrailingZeroCount(marked) & ~7)) - 1;
        return ((digits | Zeros) & ~leading) | ((pad * EveryByte) & leading);
    }

    /// <summary>Eight digits as bytes 0 to 9, the first in the lowest byte: halves, quarters, eighths side by
    /// side.</summary>
    /// <param name="number">Below 10^8.</param>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static ulong Eight(uint number)
    {
        // Two lanes of 32 bits below 10^4. 10486/2^20 exceeds 1/100 by 2.3e-7: times 9,999 that is less than a
        // hundredth.
        ulong x = (number / 10_000) | ((ulong)(number % 10_000) << 32);
        ulong quotient = ((x * 10_486) >> 20) & 0x0000007F_0000007F;
        // Four lanes of 16 bits below 100. 103/2^10 exceeds 1/10 by 5.9e-4: times 99 that is less than a tenth.
        x = quotient | ((x - (quotient * 100)) << 16);
        quotient = ((x * 103) >> 10) & 0x000F000F_000F000F;
        return quotient | ((x - (quotient * 10)) << 8);
    }

    /// <summary>Stores the lowest <paramref name="count"/> bytes, 1 to 8, by two stores that may overlap.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static void StoreLow(ref byte at, ulong bytes, int count)
    {
        if (count == 8)
        {
            Unsafe.WriteUnaligned(ref at, bytes);
        }
        else if (count >= 4)
        {
            Unsafe.WriteUnaligned(ref at, (uint)bytes);
            Unsafe.WriteUnaligned(ref Unsafe.Add(ref at, count - 4), (uint)(bytes >> (8 * (count - 4))));
        }
        else if (count >= 2)
        {
            Unsafe.WriteUnaligned(ref at, (ushort)bytes);
            Unsafe.WriteUnaligned(ref Unsafe.Add(ref at, count - 2), (ushort)(bytes >> (8 * (count - 2))));
        }
        else
        {
            at = (byte)bytes;
        }
    }

    private static void WriteWide(long number, ref byte at, int width, byte pad)
    {
        for (int index = width - 1; index >= 0; index--)
        {
            bool isPad = number == 0 && index < width - 1;
            Unsafe.Add(ref at, index) = isPad ? pad : (byte)('0' + (number % 10));
            number /= 10;
        }
    }
}

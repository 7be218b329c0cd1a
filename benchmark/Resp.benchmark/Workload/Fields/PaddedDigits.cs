using System.Diagnostics;
using System.Numerics;
using System.Runtime.CompilerServices;

namespace RespBenchmark.Workload;

/// <summary>Writes numbers as decimals of a constant width, padded on the left.</summary>
/// <remarks>Eight digits are made in one register: no table, no loop, no division by a variable. That is what the
/// generator's speed at great depth hangs on; see the rate in benchmark/Kv.Microbenchmarks.</remarks>
internal static class PaddedDigits
{
    public const int WidthMax = 19;

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
        if (width == 8 && pad == '0') WriteEights(numbers, ref first, stride);
        else if (width == 8) WritePaddedEights(numbers, ref first, stride, pad);
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

    /// <summary>Eight digits as bytes 0 to 9, the first in the lowest byte: halves, quarters, eighths side by side.</summary>
    /// <param name="number">Below 10^8.</param>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static ulong Eight(uint number)
    {
        // Two lanes of 32 bits below 10^4. 10486/2^20 exceeds 1/100 by 2.3e-7: times 9,999 that is less than a hundredth.
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

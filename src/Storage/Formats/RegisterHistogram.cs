using System.Runtime.CompilerServices;
using System.Runtime.Intrinsics;
using System.Runtime.Intrinsics.X86;

namespace Kv.Storage;

/// <summary>How many registers have each value: all that an estimate needs. Pure functions.</summary>
/// <remarks>
/// Cost: of a dense HyperLogLog, 512 steps to unpack it and 512 for each 8 values between the lowest and the highest.
/// Source: Otmar Ertl, "New cardinality estimation algorithms for HyperLogLog sketches", arXiv:1702.01284, algorithm 6.
/// </remarks>
internal static class RegisterHistogram
{
    /// <summary>All values that 6 bits have, and room to count 8 from any of them.</summary>
    public const int Length = DenseRegisters.Max + 8;

    /// <summary>1 / (2 ln 2).</summary>
    private const double AlphaInfinity = 0.721347520444481703680;

    /// <summary>Of the packed registers of a dense one. The histogram begins with zeros.</summary>
    [SkipLocalsInit]
    public static void OfDense(ReadOnlySpan<byte> packed, Span<int> histogram)
    {
        if (!Avx2.IsSupported)
        {
            for (int register = 0; register < HyperLogLog.Registers; register++)
                histogram[DenseRegisters.Get(packed, register)]++;
            return;
        }

        Span<byte> registers = stackalloc byte[HyperLogLog.Registers];
        DenseRegisters.Unpack(packed, registers);
        Of(registers, histogram);
    }

    /// <summary>Of registers, a byte each, none above <see cref="DenseRegisters.Max"/>. The histogram begins with
    /// zeros.</summary>
    public static void Of(ReadOnlySpan<byte> registers, Span<int> histogram)
    {
        if (Avx2.IsSupported) OfVectors(registers, histogram);
        else foreach (byte register in registers) histogram[register]++;
    }

    /// <summary>The estimate; long.MinValue, which also says "not valid" in a header, where registers are all at the
    /// end of their range.</summary>
    public static long Cardinality(ReadOnlySpan<int> histogram)
    {
        // In the order of every other server, so that the same registers give the same number.
        const double m = HyperLogLog.Registers;
        double z = m * Tau((m - histogram[HyperLogLog.RankMax]) / m);
        for (int rank = HyperLogLog.RankMax - 1; rank >= 1; rank--)
        {
            z += histogram[rank];
            z *= 0.5;
        }

        z += m * Sigma(histogram[0] / m);
        double estimate = Math.Round(AlphaInfinity * m * m / z, MidpointRounding.AwayFromZero);
        return estimate < long.MaxValue ? (long)estimate : long.MinValue;
    }

    /// <summary>Counts 8 values at a time, each in the bytes of a vector of its own.</summary>
    private static void OfVectors(ReadOnlySpan<byte> registers, Span<int> histogram)
    {
        Range(registers, out int lowest, out int highest);
        for (int value = lowest; value <= highest; value += 8)
        {
            // A byte of the counts grows by at most 1 a step: 128 steps fit in it.
            for (ReadOnlySpan<byte> rest = registers; rest.Length > 0; rest = rest[(128 * Vector256<byte>.Count)..])
                CountEight(rest[..(128 * Vector256<byte>.Count)], (byte)value, histogram.Slice(value, 8));
        }
    }

    private static void Range(ReadOnlySpan<byte> registers, out int lowest, out int highest)
    {
        Vector256<byte> min = Vector256<byte>.AllBitsSet, max = default;
        for (int at = 0; at < HyperLogLog.Registers; at += Vector256<byte>.Count)
        {
            Vector256<byte> step = Vector256.Create(registers[at..]);
            min = Vector256.Min(min, step);
            max = Vector256.Max(max, step);
        }

        lowest = byte.MaxValue;
        highest = 0;
        for (int index = 0; index < Vector256<byte>.Count; index++)
        {
            lowest = Math.Min(lowest, min[index]);
            highest = Math.Max(highest, max[index]);
        }
    }

    private static void CountEight(ReadOnlySpan<byte> registers, byte first, Span<int> counts)
    {
        Vector256<byte> value = Vector256.Create(first), one = Vector256.Create((byte)1);
        Vector256<byte> v1 = value + one, v2 = v1 + one, v3 = v2 + one, v4 = v3 + one, v5 = v4 + one, v6 = v5 + one,
            v7 = v6 + one;
        Vector256<byte> c0 = default, c1 = default, c2 = default, c3 = default, c4 = default, c5 = default,
            c6 = default, c7 = default;
        for (; registers.Length >= Vector256<byte>.Count; registers = registers[Vector256<byte>.Count..])
        {
            // What is equal is -1.
            Vector256<byte> step = Vector256.Create(registers);
            c0 -= Vector256.Equals(step, value);
            c1 -= Vector256.Equals(step, v1);
            c2 -= Vector256.Equals(step, v2);
            c3 -= Vector256.Equals(step, v3);
            c4 -= Vector256.Equals(step, v4);
            c5 -= Vector256.Equals(step, v5);
            c6 -= Vector256.Equals(step, v6);
            c7 -= Vector256.Equals(step, v7);
        }

        counts[0] += Sum(c0);
        counts[1] += Sum(c1);
        counts[2] += Sum(c2);
        counts[3] += Sum(c3);
        counts[4] += Sum(c4);
        counts[5] += Sum(c5);
        counts[6] += Sum(c6);
        counts[7] += Sum(c7);
    }

    private static int Sum(Vector256<byte> counts) =>
        // each sum in the low half of 64 bits
        Vector256.Sum(Avx2.SumAbsoluteDifferences(counts, Vector256<byte>.Zero).AsInt32());

    /// <summary>The weight of the registers that are 0: x + x^2 + 2 x^4 + 4 x^8 ... for their share x.</summary>
    private static double Sigma(double x)
    {
        if (x == 1) return double.PositiveInfinity;
        double weight = 1, sum = x, before;
        do      // ends: x shrinks as it is squared, until a term changes the sum no more
        {
            x *= x;
            before = sum;
            sum += x * weight;
            weight += weight;
        }
        while (before != sum);
        return sum;
    }

    /// <summary>The weight of the registers at the end of their range; x is the share of the others.</summary>
    private static double Tau(double x)
    {
        if (x is 0 or 1) return 0;
        double weight = 1, sum = 1 - x, before;
        do      // ends: x comes nearer to 1 with each root, until a term changes the sum no more
        {
            x = Math.Sqrt(x);
            before = sum;
            weight *= 0.5;
            sum -= (1 - x) * (1 - x) * weight;
        }
        while (before != sum);
        return sum / 3;
    }
}

using System.Numerics;
using RespBenchmark.Measure;

namespace RespBenchmark.RedisBenchmark;

//   digits 3     microseconds 0 .. 16,383      8 us each      2,048 buckets
//                             16,384 .. 32,767  16 us each     1,024 buckets
//                             .. 4,194,303      32 us, 64 ...  1,024 buckets for each power of two
//   digits 1, 2, 4: 32, 256 and 32,768 buckets of 8 us first

/// <summary>The histogram behind redis-benchmark's tables: microseconds from 10 to 3,000,000 in steps of 8, to D
/// significant digits. A bucket is named by its last microsecond.</summary>
internal sealed class StepHistogram
{
    public const long ValueMax = 3_000_000;

    // The largest power of two not above the lowest value to tell apart, 10: 8.
    private const int UnitBits = 3;

    private readonly int _firstBits;
    private readonly long[] _counts;

    private StepHistogram(int digits)
    {
        int distinct = 2 * (int)Math.Pow(10, Math.Clamp(digits, 1, 4));
        _firstBits = BitOperations.Log2((uint)distinct - 1) + 1;
        _counts = new long[IndexOf(ValueMax) + 1];
    }

    public long Total { get; private set; }

    /// <summary>Sorts what was measured into steps; a counter goes where its middle lies. Above 8 ms counters are wider
    /// than 8 us, 0.1 % of their value: four digits then show no more than three.</summary>
    public static StepHistogram From(Histogram fine, int digits)
    {
        var steps = new StepHistogram(digits);
        var counts = fine.Counts;
        for (int index = 0; index < counts.Length; index++)
        {
            if (counts[index] == 0) continue;
            long middle = Histogram.LowestOf(index)
                + ((Histogram.HighestOf(index) - Histogram.LowestOf(index) + 1) / 2);
            steps.Record(middle / 1000, counts[index]);
        }

        return steps;
    }

    /// <summary>The count and the last microsecond of each bucket, from the lowest.</summary>
    public IEnumerable<(long Count, long Label)> Buckets()
    {
        for (int index = 0; index < _counts.Length; index++) yield return (_counts[index], HighestOf(index));
    }

    /// <summary>How many values lie in the bucket that holds a value and in those below; and that bucket's last
    /// microsecond.</summary>
    public (long Count, long Label) UpTo(long microseconds)
    {
        int last = IndexOf(microseconds);
        long count = 0;
        for (int index = 0; index <= last && index < _counts.Length; index++) count += _counts[index];
        return (count, HighestOf(last));
    }

    private void Record(long microseconds, long count)
    {
        _counts[IndexOf(Math.Min(microseconds, ValueMax))] += count;
        Total += count;
    }

    // As in Histogram, in units of 8 us and with the first row of buckets as long as the digits ask for.
    private int IndexOf(long microseconds)
    {
        long unit = microseconds >> UnitBits;
        int shift = Math.Max(0, BitOperations.Log2((ulong)unit) + 1 - _firstBits);
        return (shift << (_firstBits - 1)) + (int)(unit >> shift);
    }

    private long HighestOf(int index)
    {
        int shift = Math.Max(0, (index >> (_firstBits - 1)) - 1);
        long lowest = (long)(index - (shift << (_firstBits - 1))) << shift;
        return ((lowest + (1L << shift)) << UnitBits) - 1;
    }
}

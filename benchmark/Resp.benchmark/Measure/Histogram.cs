using System.Numerics;

namespace RespBenchmark.Measure;

//   value      0 .. 2047            1 ns each                         counters 0 .. 2047
//   value      2048 .. 4095         2 ns each                         counters 2048 .. 3071
//   value      2^(10+k) .. -1       2^k ns each, 1,024 counters       ...
//   value      .. 2^37 (137 s)      above 100 s: the last counter     27 powers of two, 28,672 counters of 8 bytes
//
// A counter's width is at most 1/1024 of its values: error at most 0.1 %.

/// <summary>Counts of durations in ns, 1 ns to 100 s, to 3 significant digits, in 224 KiB: an HDR histogram.</summary>
/// <remarks>Threads: one writer; whoever reads does so after the writer handed it over. Cost: a record is a count of
/// leading zeros, a shift and an increment; it allocates nothing.</remarks>
internal sealed class Histogram
{
    public const int Digits = 3;
    public const long ValueMax = 100_000_000_000;

    private const int HalfBits = 10, Half = 1 << HalfBits;
    private const int Powers = 27;

    /// <summary>The same in the words of HDR tools: buckets of 2,048, each but the first using its upper
    /// half.</summary>
    public const int BucketCount = Powers, SubBucketCount = 2 * Half;

    public const int CounterCount = (Powers + 1) * Half;

    private readonly long[] _counts = new long[CounterCount];
    private long _count, _sum, _min = long.MaxValue, _max;

    public long Count => _count;

    /// <summary>Values above <see cref="ValueMax"/>: counted as that, and here.</summary>
    public long Clipped { get; private set; }

    /// <summary>The smallest and largest value, exact; 0 when there is none.</summary>
    public long Min => _count == 0 ? 0 : _min;

    public long Max => _max;

    /// <summary>Exact, in ns; NaN when there is none.</summary>
    public double Mean => _count == 0 ? double.NaN : (double)_sum / _count;

    public long Sum => _sum;

    public ReadOnlySpan<long> Counts => _counts;

    /// <summary>Counts one duration <paramref name="count"/> times. A negative one is 0.</summary>
    public void Record(long nanoseconds, long count = 1)
    {
        if ((ulong)nanoseconds > ValueMax) nanoseconds = Clip(nanoseconds, count);
        _counts[IndexOf(nanoseconds)] += count;
        _count += count;
        _sum += nanoseconds * count;
        if (nanoseconds < _min) _min = nanoseconds;
        if (nanoseconds > _max) _max = nanoseconds;
    }

    private long Clip(long nanoseconds, long count)
    {
        if (nanoseconds < 0) return 0;
        Clipped += count;
        return ValueMax;
    }

    public void Add(Histogram other)
    {
        if (other._count == 0) return;
        for (int index = 0; index < CounterCount; index++) _counts[index] += other._counts[index];
        _count += other._count;
        _sum += other._sum;
        Clipped += other.Clipped;
        _min = Math.Min(_min, other._min);
        _max = Math.Max(_max, other._max);
    }

    /// <summary>A histogram of these counters, as an encoding holds them: its sum takes a value for the middle of its
    /// counter, its smallest and largest are the ends of theirs.</summary>
    public static Histogram FromCounts(ReadOnlySpan<long> counts)
    {
        var histogram = new Histogram();
        for (int index = 0; index < counts.Length; index++)
        {
            if (counts[index] == 0) continue;
            long lowest = LowestOf(index), highest = HighestOf(index);
            histogram._counts[index] = counts[index];
            histogram._count += counts[index];
            histogram._sum += (lowest + highest) / 2 * counts[index];
            histogram._min = Math.Min(histogram._min, lowest);
            histogram._max = highest;
        }

        return histogram;
    }

    /// <summary>The same, with the durations of what each one longer than an expected interval held up: its own less
    /// one interval, less two, as long as an interval is left.</summary>
    /// <remarks>Every value is taken for the middle of its counter. Cost: counters in use times counters below them,
    /// whatever the interval.</remarks>
    public Histogram Corrected(long intervalNs)
    {
        var corrected = new Histogram();
        corrected.Add(this);
        for (int index = IndexOf(intervalNs); index < CounterCount; index++)
        {
            if (_counts[index] == 0) continue;
            long value = (LowestOf(index) + HighestOf(index)) / 2;
            for (int below = IndexOf(intervalNs); below <= index; below++)
            {
                // How many of value - k * interval, k from 1 and at least an interval left, this counter holds.
                long low = Math.Max(LowestOf(below), intervalNs), high = Math.Min(HighestOf(below), value - intervalNs);
                if (high < low) continue;
                long held = (value - low) / intervalNs - (value - high - 1) / intervalNs;
                if (held > 0) corrected.AddOmitted(below, held * _counts[index]);
            }
        }

        return corrected;
    }

    private void AddOmitted(int index, long count)
    {
        long middle = (LowestOf(index) + HighestOf(index)) / 2;
        _counts[index] += count;
        _count += count;
        _sum += middle * count;
        _min = Math.Min(_min, middle);
    }

    /// <summary>From the counters' middles: to 0.1 %.</summary>
    public double StandardDeviation()
    {
        if (_count == 0) return double.NaN;
        double mean = Mean, squares = 0;
        for (int index = 0; index < CounterCount; index++)
        {
            if (_counts[index] == 0) continue;
            double away = (LowestOf(index) + HighestOf(index)) / 2.0 - mean;
            squares += away * away * _counts[index];
        }

        return Math.Sqrt(squares / _count);
    }

    public void Reset()
    {
        if (_count == 0) return;
        Array.Clear(_counts);
        _count = _sum = _max = 0;
        Clipped = 0;
        _min = long.MaxValue;
    }

    /// <summary>The smallest value that at least this share of all values does not exceed (to 0.1 %, never above the
    /// largest); 0 when there is none.</summary>
    public long ValueAt(double share)
    {
        if (_count == 0) return 0;
        long rank = Math.Clamp((long)Math.Ceiling(share * _count), 1, _count);
        long seen = 0;
        for (int index = 0; index < CounterCount; index++)
        {
            seen += _counts[index];
            if (seen >= rank) return Math.Clamp(HighestOf(index), Min, _max);
        }

        return _max;
    }

    /// <summary>Whether enough values lie beyond this share for its percentile to mean something: ten.</summary>
    public bool Supports(double share) => _count * (1 - share) >= 10;

    /// <summary>The counter of a value.</summary>
    public static int IndexOf(long value)
    {
        //  value < 2048: itself. Else shift right until 11 bits are left, top bit set; each shift is 1,024 counters on.
        int shift = Math.Max(0, 63 - BitOperations.LeadingZeroCount((ulong)value) - HalfBits);
        return (shift << HalfBits) + (int)(value >> shift);
    }

    /// <summary>The first value of a counter.</summary>
    public static long LowestOf(int index)
    {
        int shift = Math.Max(0, (index >> HalfBits) - 1);
        return (long)(index - (shift << HalfBits)) << shift;
    }

    /// <summary>The last value of a counter.</summary>
    public static long HighestOf(int index) => LowestOf(index) + (1L << Math.Max(0, (index >> HalfBits) - 1)) - 1;
}

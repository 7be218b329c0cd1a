using System.Diagnostics;
using System.Numerics;

namespace Kv.Server.Metrics;

//  place of a time of n nanoseconds, 16 places for each doubling:
//
//   0 ... 15   16 ... 31   32 33 ... 47   48 49 ... 63           527
//   n = 0..15  n = 16..31  32-33 ...      64-67 ...   124-127    up to 2^36 - 1, and all above
//
//  So a place is at most a sixteenth of its lowest time wide.

/// <summary>How often something took how long: counts by time, in places that are at most 1/16 of their time
/// wide.</summary>
/// <remarks>
/// Threads: one writes, without a barrier; any reads: each count is one aligned word, stale at worst. Memory: 4.2 KB.
/// </remarks>
internal sealed class LatencyHistogram
{
    private const int PlaceBits = 4, PlacesPerDoubling = 1 << PlaceBits;

    /// <summary>69 seconds: what takes longer counts as that.</summary>
    private const int DoublingsMax = 36;

    private const int Places = (DoublingsMax - PlaceBits + 1) * PlacesPerDoubling;

    private static readonly double NanosecondsPerTick = 1e9 / Stopwatch.Frequency;

    private readonly long[] _counts = new long[Places];

    /// <summary>How many times were added.</summary>
    public long Total
    {
        get
        {
            long total = 0;
            foreach (long count in _counts) total += count;
            return total;
        }
    }

    /// <summary>Adds so many times of equal length, in ticks of <see cref="Stopwatch"/>.</summary>
    public void AddTicks(long ticks, long count) => Add((long)(ticks * NanosecondsPerTick), count);

    public void Add(long nanoseconds, long count)
    {
        Debug.Assert(nanoseconds >= 0 && count >= 0, "times and counts are not negative");
        _counts[PlaceOf(nanoseconds)] += count;
    }

    /// <summary>Adds all that another histogram has.</summary>
    public void Add(LatencyHistogram other)
    {
        for (int i = 0; i < Places; i++) _counts[i] += Volatile.Read(ref other._counts[i]);
    }

    /// <summary>How many times were shorter than each power of two nanoseconds, from a given one on; the last count is
    /// that of all.</summary>
    public IEnumerable<(int Exponent, long Count)> Cumulative(int fromExponent)
    {
        Debug.Assert(fromExponent is >= PlaceBits and <= DoublingsMax, "the power is a place's lowest time");
        long sum = 0;
        for (int i = 0, exponent = PlaceBits; exponent <= DoublingsMax; exponent++)
        {
            for (int end = i + PlacesPerDoubling; i < end; i++) sum += _counts[i];
            if (exponent >= fromExponent) yield return (exponent, sum);
        }
    }

    /// <summary>How the reference shows the bound 2^exponent nanoseconds: as the highest microsecond that its own
    /// histogram, of 128 places for each doubling, does not tell from it.</summary>
    public static long ShownMicroseconds(int exponent) => ((1L << exponent) + (1L << (exponent - 7)) - 1) / 1000;

    /// <summary>The nanoseconds that so many percent of all times do not exceed; at most a sixteenth too many. For 0
    /// percent, what no time is less than.</summary>
    public long AtPercentile(double percent)
    {
        Debug.Assert(percent is >= 0 and <= 100, "a percentile is between 0 and 100");
        long wanted = Math.Max(1, (long)((percent / 100 * Total) + 0.5)), sum = 0;
        for (int i = 0; i < Places; i++)
        {
            sum += _counts[i];
            if (sum >= wanted) return percent == 0 ? LowestOf(i) : LowestOf(i + 1) - 1;
        }

        return 0;       // it is empty
    }

    private static int PlaceOf(long nanoseconds)
    {
        if (nanoseconds < PlacesPerDoubling) return (int)nanoseconds;
        int shift = BitOperations.Log2((ulong)nanoseconds) - PlaceBits;
        return Math.Min((int)(nanoseconds >> shift) + (shift << PlaceBits), Places - 1);
    }

    private static long LowestOf(int place)
    {
        if (place < 2 * PlacesPerDoubling) return place;
        int shift = (place >> PlaceBits) - 1;
        return (long)(PlacesPerDoubling + (place & (PlacesPerDoubling - 1))) << shift;
    }
}

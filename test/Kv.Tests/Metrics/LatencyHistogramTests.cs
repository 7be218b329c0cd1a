using Kv.Server.Metrics;
using Kv.Tests.Harness;

namespace Kv.Tests.Metrics;

/// <summary>Counts by time: percentiles against the sorted times themselves.</summary>
public sealed class LatencyHistogramTests
{
    private const long Longest = (1L << 36) - 1;

    [Fact]
    public void Every_time_is_found_again_at_most_a_sixteenth_too_long()
    {
        var random = Seed.NewRandom();
        for (int i = 0; i < 100_000; i++)
        {
            long time = i < 5000 ? i : random.NextInt64(1L << random.Next(5, 36));
            AssertClose(time, Of(time).AtPercentile(100), $"{time} alone");
            Assert.InRange(Of(time).AtPercentile(0), time - (time / 16), time);
        }

        foreach (long time in new[] { Longest, Longest + 1, long.MaxValue })
            Assert.Equal(Longest, Of(time).AtPercentile(50));
    }

    public static TheoryData<string> Distributions => ["even", "steep", "two peaks", "one outlier"];

    [Theory, MemberData(nameof(Distributions))]
    public void Percentiles_are_those_of_the_times_themselves(string distribution)
    {
        var random = Seed.NewRandom();
        long[] times = new long[20_001];
        for (int i = 0; i < times.Length; i++)
        {
            times[i] = distribution switch
            {
                "even" => random.NextInt64(1_000_000),
                "steep" => (long)Math.Exp(5 + (15 * Math.Pow(random.NextDouble(), 4))),
                "two peaks" => random.Next(10) == 0 ? 5_000_000 + random.Next(1000) : 200 + random.Next(10),
                _ => i == 0 ? 3_000_000_000 : 1000,
            };
        }

        var histogram = Of(times);
        Array.Sort(times);
        Assert.Equal(times.Length, histogram.Total);
        foreach (double percent in new[] { 0.01, 1, 10, 25, 50, 75, 90, 95, 99, 99.9, 99.99, 100 })
        {
            int rank = Math.Max(1, (int)((percent / 100 * times.Length) + 0.5));
            AssertClose(times[rank - 1], histogram.AtPercentile(percent), $"p{percent}. {Seed.Hint}");
        }
    }

    [Fact]
    public void Times_below_each_power_of_two_are_counted_exactly()
    {
        var random = Seed.NewRandom();
        long[] times = [.. Enumerable.Range(0, 10_000).Select(_ => random.NextInt64(1L << random.Next(1, 40))),
            1023, 1024, 1025, Longest];
        var counted = Of(times).Cumulative(10).ToList();
        Assert.Equal(Enumerable.Range(10, 27), counted.Select(pair => pair.Exponent));
        Assert.All(counted[..^1],
            pair => Assert.Equal(times.LongCount(time => time < 1L << pair.Exponent), pair.Count));
        Assert.Equal(times.Length, counted[^1].Count);      // those that are longer than all, too
    }

    [Fact]
    public void Others_are_added_and_an_empty_one_has_no_percentiles()
    {
        var sum = Of(100, 200, 300);
        sum.Add(Of(100, 5000));
        sum.Add(7, 0);
        Assert.Equal(5, sum.Total);
        AssertClose(200, sum.AtPercentile(50), "the sum");
        AssertClose(5000, sum.AtPercentile(100), "the sum");
        Assert.Equal((0, 0), (Of().Total, Of().AtPercentile(99)));
    }

    private static LatencyHistogram Of(params long[] times)
    {
        var histogram = new LatencyHistogram();
        foreach (long time in times) histogram.Add(time, 1);
        return histogram;
    }

    private static void AssertClose(long time, long shown, string what) => Assert.True(
        shown >= time && shown <= time + (time / 16), $"{what}: {shown} is shown for {time}");
}

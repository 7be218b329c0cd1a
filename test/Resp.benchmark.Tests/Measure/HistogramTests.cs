using RespBenchmark.Measure;

namespace RespBenchmark.Tests.Measure;

public class HistogramTests
{
    [Fact]
    public void Correction_adds_what_each_long_value_held_up_as_counting_one_by_one_does()
    {
        var random = Kv.Tests.Harness.Seed.NewRandom();
        foreach (long interval in (long[])[1000, 1, 7777, 1_000_000])
        {
            Histogram measured = new(), expected = new();
            for (int one = 0; one < 200; one++)
                measured.Record((long)Math.Exp(random.NextDouble() * Math.Log(2000.0 * interval)), 1 + random.Next(3));
            for (int index = 0; index < Histogram.CounterCount; index++)
            {
                long count = measured.Counts[index],
                    value = (Histogram.LowestOf(index) + Histogram.HighestOf(index)) / 2;
                if (count > 0) expected.Record(value, count);
                for (long left = value - interval; count > 0 && left >= interval; left -= interval)
                    expected.Record(left, count);
            }

            Histogram corrected = measured.Corrected(interval);
            Assert.True(expected.Counts.SequenceEqual(corrected.Counts), $"interval {interval}");
            Assert.Equal(expected.Count, corrected.Count);
            Assert.Equal(measured.Max, corrected.Max);
            Assert.Equal(expected.Mean, corrected.Mean, expected.Mean * 1e-3);
        }
    }

    [Fact]
    public void Correction_leaves_alone_what_held_nothing_up()
    {
        var measured = new Histogram();
        for (int us = 1; us <= 100; us++) measured.Record(us * 1000);
        Assert.True(measured.Counts.SequenceEqual(measured.Corrected(200_000).Counts));
        // 105 us where one was sent every 10 us: 95, 85 ... 15 were never sent.
        var stalled = new Histogram();
        stalled.Record(105_000);
        Assert.Equal(10, stalled.Corrected(10_000).Count);
    }

    [Fact]
    public void Counters_follow_each_other_without_a_gap_and_are_a_thousandth_wide_at_most()
    {
        long next = 0;
        for (int index = 0; index < Histogram.CounterCount; index++)
        {
            long lowest = Histogram.LowestOf(index), highest = Histogram.HighestOf(index);
            Assert.Equal(next, lowest);
            Assert.Equal(index, Histogram.IndexOf(lowest));
            Assert.Equal(index, Histogram.IndexOf(highest));
            Assert.True((highest - lowest) * 1000 <= highest, $"counter {index}: {lowest} to {highest}");
            next = highest + 1;
        }

        Assert.True(next > Histogram.ValueMax);
    }
}

using RespBenchmark.Measure;

namespace RespBenchmark.Tests.Measure;

public class HistogramTests
{
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

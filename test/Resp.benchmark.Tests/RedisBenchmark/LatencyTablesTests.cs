using System.Globalization;
using System.Text.RegularExpressions;
using RespBenchmark.Measure;
using RespBenchmark.RedisBenchmark;

namespace RespBenchmark.Tests.RedisBenchmark;

public partial class LatencyTablesTests
{
    // The rows of both tables say how many latencies lie up to which bucket: latencies laid out so must give the same
    // rows.
    [Fact]
    public void The_recorded_tables_come_out_again_from_latencies_that_lie_as_they_say()
    {
        string[] blocks = Goldens.Read("redis-benchmark-7.0-default.txt")
            .Split("Latency by percentile distribution:\n")[1..];
        Assert.Equal(2, blocks.Length);
        foreach (string block in blocks)
        {
            string expected = "Latency by percentile distribution:\n"
                + block[..block.IndexOf("\nSummary:", StringComparison.Ordinal)];
            Assert.Equal(expected, LatencyTables.Text(LatenciesOf(expected), 3));
        }
    }

    [Fact]
    public void One_bucket_gives_the_first_level_and_the_last()
    {
        var latencies = new Histogram();
        latencies.Record(100_000, 7);
        Assert.Equal("""
            Latency by percentile distribution:
            0.000% <= 0.103 milliseconds (cumulative count 7)
            100.000% <= 0.103 milliseconds (cumulative count 7)

            Cumulative distribution of latencies:
            100.000% <= 0.103 milliseconds (cumulative count 7)

            """, LatencyTables.Text(latencies, 3));
    }

    [Fact]
    public void Nothing_measured_gives_titles_without_rows() => Assert.Equal(
        "Latency by percentile distribution:\n\nCumulative distribution of latencies:\n",
        LatencyTables.Text(new Histogram(), 3));

    [Theory]
    [InlineData(3, 100, 103)]
    [InlineData(3, 16_383, 16_383)]
    [InlineData(3, 16_384, 16_399)]
    [InlineData(3, 40_020, 40_031)]
    [InlineData(4, 8_020, 8_023)]
    [InlineData(4, 40_020, 40_031)]
    [InlineData(1, 250, 255)]
    [InlineData(1, 256, 271)]
    [InlineData(2, 2_048, 2_063)]
    [InlineData(3, 0, 7)]
    [InlineData(3, 9_000_000, 3_000_319)]
    public void A_bucket_is_named_by_its_last_microsecond(int digits, long microseconds, long label)
    {
        var latencies = new Histogram();
        latencies.Record((microseconds * 1000) + 500);
        var bucket = Assert.Single(StepHistogram.From(latencies, digits).Buckets(), bucket => bucket.Count > 0);
        Assert.Equal(label, bucket.Label);
    }

    [Fact]
    public void Values_beyond_three_seconds_end_the_tables()
    {
        var latencies = new Histogram();
        latencies.Record(50_000_000_000, 2);
        Assert.EndsWith("100.000% <= 3000.319 milliseconds (cumulative count 2)\n", LatencyTables.Text(latencies, 3));
    }

    private static Histogram LatenciesOf(string tables)
    {
        var upTo = new SortedDictionary<long, long>();
        foreach (Match row in Row().Matches(tables))
        {
            long label = (long)Math.Round(double.Parse(row.Groups[1].Value, CultureInfo.InvariantCulture) * 1000);
            upTo[label] = long.Parse(row.Groups[2].Value, CultureInfo.InvariantCulture);
        }

        var latencies = new Histogram();
        long seen = 0;
        foreach (var (label, count) in upTo)
        {
            // The middle of the bucket's 8 us.
            latencies.Record((label - 3) * 1000, count - seen);
            seen = count;
        }

        return latencies;
    }

    [GeneratedRegex(@"<= ([0-9.]+) milliseconds \(cumulative count ([0-9]+)\)")]
    private static partial Regex Row();
}

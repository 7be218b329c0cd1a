using RespBenchmark.Measure;
using RespBenchmark.RedisBenchmark;

namespace RespBenchmark.Tests.RedisBenchmark;

public class ResultTextTests
{
    [Fact]
    public void The_full_form_has_a_head_tables_and_a_summary()
    {
        string text = ResultText.Of(Result("-d", "2"));
        Assert.Equal("""
            ====== SET ======
              20000 requests completed in 0.18 seconds
              50 parallel clients
              2 bytes payload
              keep alive: 1
              host configuration "save": 3600 1
              host configuration "appendonly": no
              multi-thread: no

            Latency by percentile distribution:
            0.000% <= 0.207 milliseconds (cumulative count 15000)
            87.500% <= 1.007 milliseconds (cumulative count 20000)
            100.000% <= 1.007 milliseconds (cumulative count 20000)

            Cumulative distribution of latencies:
            75.000% <= 0.207 milliseconds (cumulative count 15000)
            100.000% <= 1.007 milliseconds (cumulative count 20000)

            Summary:
              throughput summary: 111731.84 requests per second
              latency summary (msec):
                      avg       min       p50       p95       p99       max
                    0.400     0.200     0.200     1.000     1.000     1.000

            """, text);
    }

    [Fact]
    public void Threads_and_a_silent_server_change_the_head()
    {
        string text = ResultText.Of(Result("--threads", "4") with { Settings = null });
        Assert.Contains("  keep alive: 1\n  multi-thread: yes\n  threads: 4\n\nLatency", text);
    }

    [Fact]
    public void Quiet_and_csv_forms_are_one_line()
    {
        Assert.Equal("SET: 111731.84 requests per second, p50=0.200 msec\n", ResultText.Of(Result("-q")));
        Assert.Equal("\"SET\",\"111731.84\",\"0.400\",\"0.200\",\"0.200\",\"1.000\",\"1.000\",\"1.000\"\n",
            ResultText.Of(Result("--csv")));
    }

    [Fact]
    public void The_header_of_csv_is_the_golden_s() =>
        Assert.StartsWith(ResultText.CsvHeader, Goldens.Read("redis-benchmark-7.0-csv.txt"));

    [Fact]
    public void The_form_of_redis_3_has_whole_milliseconds()
    {
        // 99,729 below a millisecond, the first of the second millisecond makes 99,730.
        var latencies = new Histogram();
        latencies.Record(400_000, 99_729);
        latencies.Record(1_400_000, 271);
        var result = Result("--rb-format", "legacy") with
        {
            Title = "LRANGE_100 (first 100 elements)", Requests = 100_000, Elapsed = TimeSpan.FromSeconds(1.397),
                Latencies = latencies,
        };
        Assert.Equal("""
            ====== LRANGE_100 (first 100 elements) ======
              100000 requests completed in 1.40 seconds
              50 parallel clients
              3 bytes payload
              keep alive: 1

            99.73% <= 1 milliseconds
            100.00% <= 1 milliseconds
            71581.96 requests per second


            """, ResultText.Of(result));
        Assert.Equal("\"SET\",\"111731.84\"\n", ResultText.Of(Result("--rb-format", "legacy", "--csv")));
        Assert.Equal("SET: 111731.84 requests per second\n", ResultText.Of(Result("--rb-format", "legacy", "-q")));
    }

    [Fact]
    public void The_form_of_redis_3_says_0_milliseconds_when_all_were_faster()
    {
        var latencies = new Histogram();
        latencies.Record(400_000, 5);
        Assert.Contains("keep alive: 1\n\n100.00% <= 0 milliseconds\n",
            ResultText.Of(Result("--rb-format", "legacy") with { Latencies = latencies }));
        latencies.Record(2_400_000);
        Assert.Contains("keep alive: 1\n\n100.00% <= 2 milliseconds\n",
            ResultText.Of(Result("--rb-format", "legacy") with { Latencies = latencies }));
    }

    [Fact]
    public void A_progress_line_is_blanked_to_its_width()
    {
        var output = new StringWriter();
        var line = new ProgressLine(output, legacy: false);
        line.Begin();
        line.Draw("HSET h __rand_int__ v", 0, double.NaN, double.NaN, double.NaN);
        line.Clear();
        output.Write("HSET h __rand_int__ v: 999999.94 requests per second, p50=0.543 msec\n");
        Assert.Equal(Goldens.Read("redis-benchmark-7.0-custom.txt"), output.ToString());
    }

    [Fact]
    public void A_progress_line_has_rates_of_one_digit_and_means_of_three()
    {
        var output = new StringWriter();
        new ProgressLine(output, legacy: false).Draw("SET", 69211.2, 69747.5, 0.425, 0.393);
        Assert.Equal(" \rSET: rps=69211.2 (overall: 69747.5) avg_msec=0.425 (overall: 0.393)\r", output.ToString());
        output = new StringWriter();
        new ProgressLine(output, legacy: true).Draw("SET", 1, 69211.2, 0.425, 0.393);
        Assert.Equal("SET: 69211.20\r", output.ToString());
    }

    private static TestOutcome Result(params string[] arguments)
    {
        var latencies = new Histogram();
        latencies.Record(200_000, 15_000);
        latencies.Record(1_000_000, 5_000);
        var options = RedisBenchmarkParser.Parse(arguments);
        return new TestOutcome
        {
            Title = "SET", Requests = 20_000, Elapsed = TimeSpan.FromSeconds(0.179), Latencies = latencies,
            PayloadBytes = options.DataBytes, Options = options, Settings = new ServerSettings("3600 1", "no"),
        };
    }
}

using RespBenchmark.Garnet;
using RespBenchmark.Measure;

namespace RespBenchmark.Tests.Garnet;

public class GarnetTextTests
{
    [Fact]
    public void The_configuration_is_the_seed_s() => Assert.Equal("""
        <<<<<<< Benchmark Configuration >>>>>>>>
        benchmarkType: Throughput
        skipLoad: Disabled
        DBsize: 16777216
        TotalOps: 33554432
        Op Benchmark: GET
        KeyLength: 8
        ValueLength: 128
        BatchSize: 1
        RunTime: 15
        NumThreads: 1,2,4,8,16,32,64,128
        Auth: 
        Load Using SET: Disabled
        ClientType used for benchmarking: LightClient
        TLS: Disabled
        ClientHistogram: False
        minWorkerThreads: 1000
        minCompletionPortThreads: 1000
        ----------------------------------

        """, GarnetConfigurationText.Of(GarnetParser.Parse(
        "--op get --keylength 8 --valuelength 128 --threads 1,2,4,8,16,32,64,128 --batchsize 1 --dbsize 16777216".Split(
            ' '))));

    [Fact]
    public void Online_the_configuration_tells_the_mix() => Assert.Contains("""
        ClientType used for benchmarking: GarnetClientSession
        Pool: False
        OpWorkload GET,SET
        OpPercent 80,20
        Ttl: 5
        Sorted set cardinality: 2
        Intra thread parallelism: 4
        SyncMode: False
        TLS: Disabled
        """, GarnetConfigurationText.Of(GarnetParser.Parse(
        ("--online -b 1 --client garnetclientsession --op-workload GET,SET --op-percent 80,20 "
        + "--itp 4 --ttl 5 --sscardinality 2").Split(' '))));

    [Fact]
    public void What_the_seed_prints_about_batches_is_computed_without_making_any()
    {
        Assert.Equal("""

            Generating 4096 MSET request batches of size 4096 each; total 16777216 ops
            Resizing request buffer from 65536 to 131072
            Resizing request buffer from 131072 to 262144
            Resizing request buffer from 262144 to 524288
            Resizing request buffer from 524288 to 1048576
            Request generation complete
            maxBytesWritten out of maxBufferSize: 614417/1048576

            """, GarnetThroughputText.Generation("MSET", 16_777_216, 4096, 614_417));
        Assert.Equal("Restricting #buffers to 65536 instead of 33554432\n",
            GarnetThroughputText.Restriction(33_554_432, 1));
        Assert.Equal("", GarnetThroughputText.Restriction(33_554_432, 512));
        Assert.Equal("""

            Generating 65536 GET request batches of size 1 each; total 65536 ops
            Request generation complete
            maxBytesWritten out of maxBufferSize: 27/65536

            """, GarnetThroughputText.Generation("GET", 33_554_432, 1, 27));
    }

    [Fact]
    public void The_buffer_is_larger_than_the_batch_never_equal() =>
        Assert.Contains("65536/131072\n", GarnetThroughputText.Generation("SET", 1, 1, 65_536));

    [Theory]
    [InlineData(20.6112, "Loading time: 20.611 secs\n")]
    [InlineData(1.3, "Loading time: 1.3 secs\n")]
    [InlineData(0, "Loading time: 0 secs\n")]
    public void A_loading_time_has_at_most_three_decimals(double seconds, string text) =>
        Assert.Equal(text, GarnetThroughputText.LoadingTime(TimeSpan.FromSeconds(seconds)));

    [Fact]
    public void A_result_has_commas_and_two_decimals()
    {
        Assert.Equal("""

            Operation type: GET
            Num threads: 1
            Total time: 15,005.00ms for 373,268.00 ops
            Throughput: 24,876.24 ops/sec

            """, GarnetThroughputText.Result("GET", 1, TimeSpan.FromMilliseconds(15005.9), 373_268, 1));
        Assert.Equal("""

            Operation type: MSET
            Num threads: 8
            [Total time]: 3,221.00ms for 16,777,216.00 ops
            [Throughput]: 5,208,697.92 ops/sec

            """, GarnetThroughputText.Result("MSET", 8, TimeSpan.FromMilliseconds(3221), 16_777_216, 2));
    }

    [Fact]
    public void An_online_row_has_ten_columns_of_fifteen()
    {
        var latencies = new Histogram();
        latencies.Record(1_632, 10);
        latencies.Record(2_000, 960);
        latencies.Record(41_400, 30);
        string row = GarnetOnlineText.Row(latencies, 48_084, 47_660, TimeSpan.FromSeconds(2));
        Assert.Equal(
            "1.63           2              2              3.18           2              41.41          41.41          "
            .Replace("41.41 ", "41.4  ") + "48084          47660          23.83          ", row);
        Assert.Equal(150, row.Length);
        Assert.Equal(
            "min (us);      5th (us);      median (us);   avg (us);      95th (us);     99th (us);     99.9th (us);   "
            + "total_ops;     iter_tops;     tpt (Kops/sec) ", GarnetOnlineText.Header);
    }

    [Fact]
    public void A_row_of_nothing_is_all_zeros() => Assert.Equal(string.Concat(Enumerable.Repeat("0".PadRight(15), 10)),
        GarnetOnlineText.Row(new Histogram(), 0, 0, TimeSpan.FromSeconds(2)));

    [Fact]
    public void The_clock_before_a_row_has_twelve_hours()
    {
        Assert.Equal("[000.02:15:50.(info)] |online| ", GarnetOnlineText.Prefix(new DateTime(2026, 1, 1, 14, 15, 50)));
        Assert.Equal("[000.12:00:01.(info)] |online| ", GarnetOnlineText.Prefix(new DateTime(2026, 1, 1, 0, 0, 1)));
    }

    [Fact]
    public void The_runner_is_named_by_client_and_parallelism()
    {
        Assert.Equal("Running benchmark using GarnetClientSession client type\nUsing OpRunnerGarnetClientSession...\n",
            GarnetOnlineText.Runner(GarnetClient.GarnetClientSession, false));
        Assert.EndsWith("Using OpRunnerGarnetClientSessionParallel...\n",
            GarnetOnlineText.Runner(GarnetClient.GarnetClientSession, true));
        Assert.EndsWith("Using OpRunnerLightClient...\n", GarnetOnlineText.Runner(GarnetClient.LightClient, true));
    }
}

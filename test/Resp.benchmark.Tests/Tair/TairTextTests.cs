using RespBenchmark.Measure;
using RespBenchmark.Tair;

namespace RespBenchmark.Tests.Tair;

public class TairTextTests
{
    [Theory]
    [InlineData(0, "<0.01ms")]
    [InlineData(0.009, "<0.01ms")]
    [InlineData(0.45, "0.45ms")]
    [InlineData(0.994, "0.99ms")]
    [InlineData(0.999, "1.0ms")]
    [InlineData(1.1, "1.1ms")]
    [InlineData(9.97, "10ms")]
    [InlineData(12, "12ms")]
    [InlineData(99.7, "0.10s")]
    [InlineData(120, "0.12s")]
    [InlineData(1_200, "1.2s")]
    [InlineData(10_001, ">10s")]
    public void A_time_has_two_digits(double milliseconds, string text) =>
        Assert.Equal(text, TairText.Time(milliseconds * 1e6));

    [Fact]
    public void Lines_are_the_golden_s()
    {
        var latencies = new Histogram();
        latencies.Record(90_000, 19_798);
        latencies.Record(200_000, 190);
        Assert.Equal("qps: 85504(overall 85252), conn: 8, cnt: 19988, avg: 0.09ms, p99: 0.09ms",
            TairText.Running(85_504.4, 85_251.6, 8, latencies));
        latencies.Record(200_000, 50);
        Assert.Equal("qps: 84403, conn: 8, cnt: 20038, avg: 0.09ms, p99: 0.20ms", TairText.Final(84_403, 8, latencies));
        Assert.Equal("qps: 0(overall 0), conn: 1, no data", TairText.Running(0, 0, 1, new Histogram()));
        Assert.Equal("Data loading qps: 287004, 67.01%", TairText.Loading(287_004, 0.6701));
        Assert.Equal("Data loaded, qps: 286013, time elapsed: 0.34s",
            TairText.Loaded(286_013, TimeSpan.FromSeconds(0.342)));
    }

    [Fact]
    public void A_terminal_sees_each_state_over_the_last()
    {
        var output = new StringWriter();
        var screen = new TairScreen(output, overwrite: true, colours: false);
        screen.Begin(TairParser.Parse(
            ["--load", "-c", "16", "-P", "10", "-n", "100000", "SET {key sequence 10000} {value 64}"]));
        screen.State(TairText.Loading(74_252, 0.0008));
        screen.State(TairText.Loading(287_004, 0.6701));
        screen.State(TairText.Loaded(286_013, TimeSpan.FromSeconds(0.342)));
        screen.End();
        Assert.Equal(Goldens.Read("tair-resp-benchmark-0.1.7-load.txt"), output.ToString());
    }

    [Fact]
    public void Elsewhere_there_are_no_escapes_and_unlimited_connections_are_auto()
    {
        var output = new StringWriter();
        var screen = new TairScreen(output, overwrite: false, colours: false);
        screen.Begin(TairParser.Parse([]));
        screen.State("qps: 1, conn: 1, no data");
        Assert.Equal(
            "command: SET {key uniform 100000} {value 64}\nconnections: auto\ncount: 0\nseconds: 0\npipeline: 1\n"
            + "qps: 1, conn: 1, no data\n", output.ToString());
    }

    [Fact]
    public void Colours_are_for_labels_and_the_command()
    {
        var output = new StringWriter();
        var screen = new TairScreen(output, overwrite: true, colours: true);
        screen.State("qps: 1, conn: 1, no data");
        screen.State("Data loaded, qps: 7, time elapsed: 0.01s");
        Assert.Equal("\e[F\e[2K\e[1;34mqps\e[0m: 1, \e[1;34mconn\e[0m: 1, no data\n"
            + "\e[F\e[2K\e[1;34mData loaded, qps\e[0m: 7, time elapsed: 0.01s\n", output.ToString());
    }
}

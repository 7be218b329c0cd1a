using Kv.Tests.Harness;
using RespBenchmark.CommandLine;
using RespBenchmark.Tair;

namespace RespBenchmark.Tests.Tair;

public sealed class TairRunTests : IDisposable
{
    private readonly RedisServer _server = RedisServer.Start();

    [Fact]
    public void A_run_prints_what_the_original_prints()
    {
        var run = Run("-c", "8", "-s", "1", "--progress", "tty", "SET {key uniform 100000} {value 64}");
        Assert.Equal(ExitCode.Ok, run.ExitCode);
        Assert.Equal(MaskedText.Of(Goldens.Read("tair-resp-benchmark-0.1.7-set.txt")),
            WithoutRepeated(MaskedText.Of(run.Output).Replace("no data", "cnt: # avg: #ms, p#: #ms")));
    }

    // How many lines of progress there are depends on when the processor is there for them.
    private static string WithoutRepeated(string text)
    {
        string[] lines = text.Split('\n');
        return string.Join('\n', lines.Where((line, i) => i == 0 || line != lines[i - 1]
            || !line.Contains("overall", StringComparison.Ordinal)));
    }

    [Fact]
    public void A_load_prints_what_the_original_prints_and_writes_every_key()
    {
        var run = Run("--load", "-c", "16", "-P", "10", "-n", "100000", "--progress", "tty",
            "SET {key sequence 10000} {value 64}");
        Assert.Equal(ExitCode.Ok, run.ExitCode);
        Assert.Equal(MaskedText.Of(Goldens.Read("tair-resp-benchmark-0.1.7-load.txt")), MaskedText.Of(run.Output));
        using var client = _server.Connect();
        Assert.Equal(10_000, client.Command("DBSIZE").Integer);
    }

    [Fact]
    public void Every_pair_of_coprime_sequences_is_loaded_once()
    {
        var run = Run("--load", "-c", "3", "-P", "10", "-n", "10070", "SADD {key sequence 10} {key sequence 1007}");
        Assert.Equal(ExitCode.Ok, run.ExitCode);
        using var client = _server.Connect();
        for (int set = 0; set < 10; set++) Assert.Equal(1007, client.Command($"SCARD key_{set:D10}").Integer);
    }

    [Fact]
    public void An_error_reply_ends_it()
    {
        var run = Run("-c", "2", "-s", "5", "SET {key uniform 10}");
        Assert.Equal(ExitCode.RunError, run.ExitCode);
        Assert.Contains("Failed to execute pipeline: ERR wrong number of arguments for 'set' command", run.Errors);
    }

    [Fact]
    public void A_template_that_cannot_be_read_ends_with_1() =>
        Assert.Equal(ExitCode.RunError, Run("-s", "1", "SET {nonsense 3} v").ExitCode);

    [Fact]
    public void Without_a_bound_it_runs_until_a_signal_and_reports()
    {
        var run = ProgramRun.InterruptedAt("cnt: ", "resp-benchmark", "-p", $"{_server.Port}", "-c", "2",
            "GET {key uniform 10}");
        Assert.Equal(ExitCode.Ok, run.ExitCode);
        Assert.Contains("qps: # conn: # cnt: #", MaskedText.Of(run.Output));
    }

    [Fact]
    public void Automatic_connections_double_while_that_brings_a_third_more()
    {
        var ladder = new ConnectionLadder();
        Assert.False(ladder.Observe(TimeSpan.FromSeconds(0.4), 1000));
        Assert.True(ladder.Observe(TimeSpan.FromSeconds(0.5), 1000));
        Assert.Equal(2, ladder.Connections);
        // Not yet twice as much: three seconds decide.
        Assert.False(ladder.Observe(TimeSpan.FromSeconds(2.9), 1400));
        Assert.True(ladder.Observe(TimeSpan.FromSeconds(3), 1400));
        Assert.Equal(4, ladder.Connections);
        Assert.True(ladder.Observe(TimeSpan.FromSeconds(3), 1700));
        Assert.True(ladder.IsReady);
        Assert.Equal(4, ladder.Connections);
    }

    [Fact]
    public void The_ladder_ends_at_1024()
    {
        var ladder = new ConnectionLadder();
        for (double rate = 1; !ladder.IsReady; rate *= 2) ladder.Observe(TimeSpan.FromSeconds(1), rate);
        Assert.Equal(ConnectionLadder.ConnectionsMax, ladder.Connections);
    }

    [Fact]
    public void Help_and_version_are_our_own_words()
    {
        Assert.StartsWith("Resp.benchmark in the grammar of Tair's resp-benchmark.", Run("--help").Output);
        Assert.Equal("resp-benchmark 0.1.7 (Resp.benchmark 0.1.0)\n", Run("-v").Output);
    }

    public void Dispose() => _server.Dispose();

    private ProgramRun Run(params string[] words) =>
        ProgramRun.As("resp-benchmark", ["-p", $"{_server.Port}", .. words]);
}

using System.Text.Json;
using System.Text.RegularExpressions;
using Kv.Tests.Harness;
using RespBenchmark.CommandLine;

namespace RespBenchmark.Tests.CommandLine;

/// <summary>What the compatible grammars say beside the old text about who was saturated.</summary>
public sealed partial class CellWatchTests : IDisposable
{
    private readonly string _json = Path.GetTempFileName();
    private readonly RedisServer _server = RedisServer.Start("--io-threads", "64");

    [Theory]
    [InlineData("garnet", "--op SET -t 1,2 -b 4 --runtime 1", 2)]
    [InlineData("garnet", "--online -t 1 -b 1 --runtime 1 --op-workload PING --op-percent 100", 1)]
    [InlineData("redis-benchmark", "-q -n 200 -c 2 -t set,get", 2)]
    [InlineData("resp-benchmark", "-c 2 -s 1 PING", 1)]
    public void Every_cell_has_a_verdict_on_stderr_and_in_the_report_and_known_traps_are_said_once(
        string grammar, string line, int cells)
    {
        var run = ProgramRun.Of(["--as", grammar, "-p", $"{_server.Port}", "--json", _json, .. line.Split(' ')]);
        Assert.True(run.ExitCode == ExitCode.Ok, run.Errors);
        Assert.Equal(cells, Verdict().Count(run.Errors));
        Assert.Single(run.Errors.Split('\n'),
            text => text.StartsWith("!!! WARNING !!! io-threads 64 > ", StringComparison.Ordinal));
        Assert.DoesNotContain("BOUND", run.Output);
        Assert.DoesNotContain("--pin-", run.Errors);        // the native grammar's
        Assert.DoesNotContain("WARN", run.Output);

        using var report = JsonDocument.Parse(File.ReadAllText(_json));
        foreach (var cell in report.RootElement.GetProperty("cells").EnumerateArray())
        {
            Assert.Contains($"# {cell.GetProperty("verdict").GetString()}  ", run.Errors);
            Assert.True(cell.GetProperty("reps")[0].GetProperty("server_cpu").GetDouble() >= 0);
            Assert.True(cell.GetProperty("reps")[0].GetProperty("client_cpu").GetDouble() >= 0);
        }

        using var client = _server.Connect();
        Assert.Contains($"process_id:{report.RootElement.GetProperty("targets")[0].GetProperty("pid").GetInt32()}\r",
            client.Command("INFO server").String);
        Assert.Contains("io-threads 64", report.RootElement.GetProperty("warnings").ToString());
    }

    [Fact]
    public void A_server_that_is_not_to_be_watched_is_not()
    {
        var run = ProgramRun.Of("--as", "redis-benchmark", "-p", $"{_server.Port}", "-q", "-n", "100", "-t", "get",
            "--server-pid", "off");
        Assert.Contains("server not seen", run.Errors);
    }

    [Fact]
    public void A_cell_too_short_to_tell_says_so_and_never_fails_for_saturation()
    {
        var run = ProgramRun.Of("--as", "redis-benchmark", "-p", $"{_server.Port}", "-q", "-n", "1", "-c", "1", "-t",
            "get", "--fail-on-saturation");
        if (run.Errors.Contains("are too short to tell", StringComparison.Ordinal))
            Assert.Equal(ExitCode.Ok, run.ExitCode);
        Assert.Equal(1, Verdict().Count(run.Errors));
    }

    [Fact]
    public void Fail_on_saturation_ends_with_3_exactly_when_client_or_host_was_the_bound()
    {
        var run = ProgramRun.Of("--as", "resp-benchmark", "-p", $"{_server.Port}", "-c", "4", "-s", "1",
            "--fail-on-saturation", "PING");
        bool foreign = run.Errors.Contains("# CLIENT-BOUND", StringComparison.Ordinal)
            || run.Errors.Contains("# HOST-BOUND", StringComparison.Ordinal);
        Assert.Equal(foreign ? ExitCode.Saturated : ExitCode.Ok, run.ExitCode);
    }

    [Fact]
    public void Calibration_says_the_headroom()
    {
        var run = ProgramRun.Of("--as", "redis-benchmark", "-p", $"{_server.Port}", "-q", "-n", "200", "-c", "2", "-t",
            "get", "--calibrate", "--json", _json);
        Assert.True(run.ExitCode == ExitCode.Ok, run.Errors);
        Assert.Matches("# headroom [0-9.]+x", run.Errors);
        using var report = JsonDocument.Parse(File.ReadAllText(_json));
        Assert.True(report.RootElement.GetProperty("cells")[0].GetProperty("headroom").GetDouble() > 0);
    }

    public void Dispose()
    {
        _server.Dispose();
        File.Delete(_json);
    }

    [GeneratedRegex("^# (SERVER-BOUND|CLIENT-BOUND|HOST-BOUND|LATENCY-BOUND|RATE-BOUND|UNKNOWN)  client ",
        RegexOptions.Multiline)]
    private static partial Regex Verdict();
}

using System.Text.Json;
using Kv.Tests.Harness;
using RespBenchmark.CommandLine;
using RespBenchmark.Measure;

namespace RespBenchmark.Tests.CommandLine;

public sealed class ExtraFileTests : IDisposable
{
    private readonly string _folder = Directory.CreateTempSubdirectory("resp-benchmark").FullName;
    private readonly RedisServer _server = RedisServer.Start();

    [Theory]
    [InlineData("garnet", "--op SET -t 1,2 -b 4 --runtime 1", 2)]
    [InlineData("redis-benchmark", "-q -n 100 -c 2 -t set,get", 2)]
    [InlineData("resp-benchmark", "-c 2 -n 100 PING", 1)]
    public void Every_grammar_writes_its_cells_to_files_and_prints_the_same_text(string grammar, string line, int cells)
    {
        string json = Path.Combine(_folder, "out.json"), csv = Path.Combine(_folder, "out.csv"),
            hdr = Path.Combine(_folder, "hdr");
        var run = ProgramRun.Of(["--as", grammar, "-p", $"{_server.Port}", "--json", json, "--csv-file", csv, "--hdr",
            hdr, .. line.Split(' ')]);
        Assert.True(run.ExitCode == ExitCode.Ok, run.Errors);
        using var document = JsonDocument.Parse(File.ReadAllText(json));
        Assert.Equal(grammar, document.RootElement.GetProperty("grammar").GetString());
        Assert.Equal(cells, document.RootElement.GetProperty("cells").GetArrayLength());
        Assert.Equal(cells + 1, File.ReadAllLines(csv).Length);
        Assert.Equal(cells, Directory.GetFiles(hdr, "*.hlog").Length);
        Assert.Equal(cells, Directory.GetFiles(hdr, "*.hgrm").Length);
        Assert.DoesNotContain(_folder, run.Output);
    }

    [Theory]
    [InlineData("garnet", "--op SET -t 1 -b 4 --runtime 3", "SET")]
    [InlineData("garnet", "--online --op-workload GET,SET --op-percent 50,50 -b 1 -t 1 --runtime 2", "GET SET")]
    [InlineData("redis-benchmark", "-q -c 2 -t set --duration 3", "SET")]
    [InlineData("resp-benchmark", "-c 2 -s 3 PING", "PING")]
    public void The_log_of_histograms_has_a_line_for_each_kind_and_second(string grammar, string line, string kinds)
    {
        string hdr = Path.Combine(_folder, "hdr"), json = Path.Combine(_folder, "out.json");
        var run = ProgramRun.Of(
            ["--as", grammar, "-p", $"{_server.Port}", "--hdr", hdr, "--json", json, .. line.Split(' ')]);
        Assert.True(run.ExitCode == ExitCode.Ok, run.Errors);
        string[][] lines = [.. File.ReadLines(Assert.Single(Directory.GetFiles(hdr, "*.hlog")))
            .Where(text => text.StartsWith("Tag=", StringComparison.Ordinal))
            .Select(text => text[4..].Split(','))];
        Assert.Equal(kinds.Split(' '), lines.Select(fields => fields[0]).Distinct().Order());
        // A machine that is busy may merge seconds, never all: the run is asked at least twice.
        Assert.True(lines.Length >= 2 * kinds.Split(' ').Length, $"{lines.Length} lines");
        Assert.Equal(lines.Select(fields => fields[1]).Distinct().Count(), lines.Length / kinds.Split(' ').Length);
        using var document = JsonDocument.Parse(File.ReadAllText(json));
        long measured = document.RootElement.GetProperty("cells")[0].GetProperty("reps")[0].GetProperty("service")
            .GetProperty("n").GetInt64();
        Assert.Equal(measured, lines.Sum(fields => HdrEncoding.FromText(fields[4]).Count));
    }

    [Fact]
    public void A_file_that_cannot_be_written_is_an_error_after_the_text()
    {
        var run = ProgramRun.As("redis-benchmark",
            ["-p", $"{_server.Port}", "-q", "-n", "10", "-t", "get", "--json", "/proc/nowhere/out.json"]);
        Assert.Equal(ExitCode.RunError, run.ExitCode);
        Assert.Contains("GET: ", run.Output);
        Assert.Contains("/proc/nowhere", run.Errors);
    }

    public void Dispose()
    {
        _server.Dispose();
        Directory.Delete(_folder, recursive: true);
    }
}

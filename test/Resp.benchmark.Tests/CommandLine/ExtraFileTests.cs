using System.Text.Json;
using Kv.Tests.Harness;
using RespBenchmark.CommandLine;

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
        string json = Path.Combine(_folder, "out.json"), csv = Path.Combine(_folder, "out.csv"), hdr = Path.Combine(_folder, "hdr");
        var run = ProgramRun.Of(["--as", grammar, "-p", $"{_server.Port}", "--json", json, "--csv-file", csv, "--hdr", hdr, .. line.Split(' ')]);
        Assert.True(run.ExitCode == ExitCode.Ok, run.Errors);
        using var document = JsonDocument.Parse(File.ReadAllText(json));
        Assert.Equal(grammar, document.RootElement.GetProperty("grammar").GetString());
        Assert.Equal(cells, document.RootElement.GetProperty("cells").GetArrayLength());
        Assert.Equal(cells + 1, File.ReadAllLines(csv).Length);
        Assert.Equal(cells, Directory.GetFiles(hdr, "*.hlog").Length);
        Assert.Equal(cells, Directory.GetFiles(hdr, "*.hgrm").Length);
        Assert.DoesNotContain(_folder, run.Output);
    }

    [Fact]
    public void A_file_that_cannot_be_written_is_an_error_after_the_text()
    {
        var run = ProgramRun.As("redis-benchmark", ["-p", $"{_server.Port}", "-q", "-n", "10", "-t", "get", "--json", "/proc/nowhere/out.json"]);
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

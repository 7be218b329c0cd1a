using System.Text.Json;
using Kv.Tests.Harness;
using RespBenchmark.CommandLine;
using RespBenchmark.Reports;
using RespBenchmark.Reports.Page;
using RespBenchmark.Scenarios;

namespace RespBenchmark.Tests.Scenarios;

/// <summary>The scenario cache: reads that fill what they miss, their hit ratio in every form, traces, and the suite
/// that sets servers beside each other.</summary>
public sealed class CacheTests : IDisposable
{
    private readonly List<string> _files = [];
    private RedisServer? _server;

    [Fact]
    public void Every_key_is_missed_once_and_found_from_then_on()
    {
        RedisServer server = Start();
        using JsonDocument report = Run(server, "--conns 1 --keys 40 --dist seq --value 10-90 --ops 400");
        JsonElement figures = Scenario(report).GetProperty("figures");
        Assert.Equal(0.9, figures.GetProperty("hit_ratio").GetDouble(), 6);
        Assert.Equal(0.9, figures.GetProperty("byte_hit_ratio").GetDouble(), 6);
        JsonElement latencies = Scenario(report).GetProperty("latencies");
        Assert.Equal((400, 360, 40), (N("read"), N("hit"), N("fill")));

        int N(string name) => latencies.GetProperty(name).GetProperty("n").GetInt32();
    }

    [Fact]
    public void A_trace_is_replayed_once_line_by_line_with_its_lengths_and_expiries()
    {
        RedisServer server = Start();
        string trace = File("a,100\nb,0\na,100\nc,7,1000\na,100\n");
        using JsonDocument report = Run(server, $"--conns 1 --trace {trace}");
        JsonElement figures = Scenario(report).GetProperty("figures");
        Assert.Equal(0.4, figures.GetProperty("hit_ratio").GetDouble(), 6);
        Assert.Equal(200.0 / 307, figures.GetProperty("byte_hit_ratio").GetDouble(), 6);
        using var client = server.Connect();
        Assert.Equal((100, 0, 7), (client.Command("STRLEN a").Integer, client.Command("STRLEN b").Integer,
            client.Command("STRLEN c").Integer));
        Assert.Equal(-1, client.Command("TTL a").Integer);
        Assert.InRange(client.Command("TTL c").Integer, 1, 1000);
    }

    [Theory]
    [InlineData("", "is empty")]
    [InlineData("a,1\nb\n", "line 2: give key,bytes")]
    [InlineData("a,1\nb,-1\n", "line 2: give key,bytes")]
    [InlineData("a,16777217\n", "line 1: give key,bytes")]
    [InlineData("a,1,2,3\n", "line 1: give key,bytes")]
    [InlineData(",1\n", "line 1: give key,bytes")]
    public void A_trace_with_a_wrong_line_is_refused_before_anything_is_sent(string text, string why)
    {
        var run = ProgramRun.Of("run", "-p", "1", "--scenario", "cache", "--trace", File(text));
        Assert.Equal(ExitCode.Usage, run.ExitCode);
        Assert.Contains(why, run.Errors);
    }

    [Fact]
    public void A_trace_begins_again_at_its_end()
    {
        using var trace = Trace.Open(File("a,1\nb,2,3\n"));
        Assert.Equal(2, trace.Count);
        Assert.Equal(new[] { 1, 2, 1 }, new[] { trace.Next(), trace.Next(), trace.Next() }.Select(line => line.Bytes));
    }

    [Fact]
    public void More_memory_holds_more_of_the_keys_and_the_servers_limit_is_as_before_afterwards()
    {
        RedisServer server = Start("--maxmemory-policy", "allkeys-lru", "--maxmemory", "77mb");
        string page = File("");
        using JsonDocument report = Run(server, "--conns 1 --keys 5000 --dist seq --value 1000 --ops 40000 --flush "
            + $"--maxmemory 2mb,32mb --html {page}");
        double[] ratios = [.. report.RootElement.GetProperty("cells").EnumerateArray().Select(cell =>
            cell.GetProperty("reps")[0].GetProperty("scenario").GetProperty("figures").GetProperty("hit_ratio")
                .GetDouble())];
        // 5,000 of the 40,000 reads are the first of their key.
        Assert.True(ratios[0] < 0.5 && ratios[1] == 0.875, string.Join(' ', ratios));
        long[] limits = [.. report.RootElement.GetProperty("cells").EnumerateArray().Select(
            cell => cell.GetProperty("axis").GetProperty("max_memory").GetInt64())];
        Assert.Equal([2 << 20, 32 << 20], limits);
        Assert.Contains("Hit ratio by memory", System.IO.File.ReadAllText(page));
        using var client = server.Connect();
        Assert.Equal($"{77 << 20}", client.Command("CONFIG GET maxmemory").Items![1].String);
    }

    [Fact]
    public void The_ratio_is_drawn_over_time_and_over_memory_a_line_for_each_server()
    {
        var report = new Report
        {
            Targets = [new TargetReport { Name = "A" }, new TargetReport { Name = "B" }],
            Cells = [Cell("A", 64, 0.5), Cell("B", 64, 0.6), Cell("A", 128, 0.7), Cell("B", 128, 0.9)],
        };
        List<ChartSection> sections = ChartSections.Of(report);
        Chart bySize = Assert.Single(sections.Single(one => one.Id == "sizes").Variants[0].Charts);
        Assert.Equal([(64, 50), (128, 70)], bySize.Series[0].Points.Select(point => (point.X, point.Y!.Value)));
        Assert.Equal([(64, 60), (128, 90)], bySize.Series[1].Points.Select(point => (point.X, point.Y!.Value)));
        ChartSection overTime = sections.Single(one => one.Id == "shares");
        Assert.Equal(2, overTime.Variants.Count);
        Assert.Equal([1, 2], overTime.Variants[0].Charts[0].Series[1].Points.Select(point => point.X));
    }

    [Fact]
    public void The_suite_says_its_plan_and_is_listed()
    {
        var plan = ProgramRun.Of("suite", "cache", "--dry-run", "--profile", "smoke");
        Assert.Equal(ExitCode.Ok, plan.ExitCode);
        Assert.Contains("20 cells of 3s", plan.Output);
        Assert.Contains("cache ", ProgramRun.Of("suite", "--list").Output);
    }

    [Fact]
    public void The_suite_does_not_empty_a_server_that_holds_keys()
    {
        RedisServer server = Start();
        using var client = server.Connect();
        client.Command("SET a b");
        var run = ProgramRun.Of("suite", "cache", "-p", $"{server.Port}");
        Assert.Equal(ExitCode.Usage, run.ExitCode);
        Assert.Contains("--flush allows it", run.Errors);
        Assert.Equal(1, client.Command("DBSIZE").Integer);
    }

    [Fact]
    public void The_suite_runs_each_popularity_at_each_size()
    {
        RedisServer server = Start("--maxmemory-policy", "allkeys-lfu");
        string json = File("");
        var run = ProgramRun.Of("suite", "cache", "--profile", "smoke", "-p", $"{server.Port}", "--ops", "2000",
            "--cooldown", "0", "--maxmemory", "8mb,16mb", "--progress", "off", "--json", json);
        Assert.True(run.ExitCode == ExitCode.Ok, run.Output + run.Errors);
        Assert.Contains("allkeys-lfu", run.Output);
        using JsonDocument report = JsonDocument.Parse(System.IO.File.ReadAllText(json));
        Assert.Equal(10, report.RootElement.GetProperty("cells").GetArrayLength());
    }

    public void Dispose()
    {
        _server?.Dispose();
        _files.ForEach(System.IO.File.Delete);
    }

    private static CellReport Cell(string target, int megabytes, double ratio) => new()
    {
        Target = target,
        Axis = new CellAxis { Op = "zipf", MaxMemory = (long)megabytes << 20 },
        Reps =
        [
            new Repetition
            {
                Scenario = new ScenarioReport
                {
                    Name = "cache",
                    Figures = new Dictionary<string, double> { ["hit_ratio_late"] = ratio },
                    Share = new ShareReport("hit_ratio", [new SharePoint(1, ratio / 2), new SharePoint(2, ratio)]),
                },
            },
        ],
    };

    private RedisServer Start(params string[] options) => _server = RedisServer.Start(options);

    private JsonDocument Run(RedisServer server, string options)
    {
        string json = File("");
        var run = ProgramRun.Of(["run", "-p", $"{server.Port}", "--scenario", "cache", "--warmup", "0", "--cooldown",
            "0", "--progress", "off", "--json", json, .. options.Split(' ')]);
        Assert.True(run.ExitCode == ExitCode.Ok, run.Output + run.Errors);
        return JsonDocument.Parse(System.IO.File.ReadAllText(json));
    }

    private string File(string text)
    {
        string path = Path.GetTempFileName();
        _files.Add(path);
        System.IO.File.WriteAllText(path, text);
        return path;
    }

    private static JsonElement Scenario(JsonDocument report) =>
        report.RootElement.GetProperty("cells")[0].GetProperty("reps")[0].GetProperty("scenario");
}

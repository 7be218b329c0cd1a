using System.Globalization;
using System.Text.RegularExpressions;
using Kv.Tests.Harness;
using RespBenchmark.CommandLine;
using RespBenchmark.Measure;
using RespBenchmark.Native;
using RespBenchmark.Reports;
using RespBenchmark.Suites;
using RespBenchmark.Workload;

namespace RespBenchmark.Tests.Suites;

/// <summary>A suite's results in the form of its document, from the document's own figures.</summary>
public class PublishedFormTests
{
    private static readonly TargetReport[] Targets = [new() { Name = "A" }, new() { Name = "B" }];

    [Fact]
    public void M2_get_with_the_documents_figures_is_the_documents_text()
    {
        string golden = Goldens.Read("garnet-throughput-get.txt");
        var cells = Regex.Matches(golden,
            @"Operation type: GET\nNum threads: ([0-9]+)\nTotal time: ([0-9,.]+)ms for ([0-9,.]+) ops")
            .Select(match => (Conns: Number(match, 1), Seconds: Number(match, 2) / 1000, Ops: (long)Number(match, 3)))
                .ToList();
        Assert.Equal(3, cells.Count);
        PlannedPanel panel = Plan("m2-get", "full").Panels.Single();
        LoadPlan load = new WorkloadReader(panel.Options).Load()!;
        var result =
            Result(panel,
                [.. cells.Select(cell =>
                Cell("GET", (int)cell.Conns, new Repetition { Seconds = cell.Seconds, Ops = cell.Ops }))]) with
        {
            Loads = new Dictionary<string, Loaded> { ["A"] =
                new(load, new LoadOutcome(Measured(TimeSpan.FromMilliseconds(3221), 16_777_216), 16_777_216, []), []) },
        };

        string text = Assert.Single(
            PublishedForms.Of(SuiteTable.Find("m2-get")!, [result], [Targets[0]], Online(), null)).Text;

        // Nothing is prepared, so that it took no time.
        Assert.Equal(Regex.Replace(golden, "Loading time: [0-9.]+", "Loading time: 0").TrimEnd(), text.TrimEnd());
    }

    [Fact]
    public void Ryzen_perf_with_the_documents_figures_is_the_documents_table()
    {
        var rep = new Repetition { Seconds = 0.5325496, Ops = 100_000, TaskClockMs = 523.496255, Ctxt = 248,
            Migrations = 4, Faults = 74 };
        PanelResult[] results =
            [.. Plan("ryzen-perf", "full").Panels.Select(panel => Result(panel, [Cell(panel.Panel.Title, 50, rep)]))];

        string text = Assert.Single(
            PublishedForms.Of(SuiteTable.Find("ryzen-perf")!, results, [Targets[0]], Online(), null)).Text;

        Assert.Contains("""
             Performance counter stats for 'redis-benchmark -t get -n 100000':

                    523.496255      task-clock (msec)         #    0.983 CPUs utilized
                           248      context-switches          #    0.474 K/sec
                             4      cpu-migrations            #    0.008 K/sec
                            74      page-faults               #    0.141 K/sec
            """, text, StringComparison.Ordinal);
        Assert.Contains(
            "====== SET ======\n  100000 requests completed in 0.53 seconds\n  50 parallel clients\n  3 bytes "
            + "payload\n  keep alive: 1\n\n", text, StringComparison.Ordinal);
    }

    [Fact]
    public void Tairs_table_has_the_best_session_count_of_each_server()
    {
        PlannedPanel panel = Plan("tair-set", "full").Panels.Single();
        CellReport[] cells =
        [
            Cell("SET", 32, Timed(200_000, 160)), Cell("SET", 128, Timed(282_656, 450)),
            Cell("SET", 256, Timed(250_000, 1000)),
            Cell("SET", 32, new Repetition()) with { Target = "B", Reps = [], Unsupported = "SET is not known there" },
        ];
        string text = Assert.Single(
            PublishedForms.Of(SuiteTable.Find("tair-set")!, [Result(panel, cells)], Targets, Online(), null)).Text;
        string row = Assert.Single(text.Split('\n'), line => line.StartsWith("| SET", StringComparison.Ordinal));
        Assert.Equal("SET 282,656 0.45 0.45 128 n/a", Regex.Replace(row, "[| ]+", " ").Trim());
    }

    [Fact]
    public void What_a_table_calls_a_test_is_what_is_sent()
    {
        foreach (string suite in (string[])["rudis-table", "ryzen-default"])
        {
            foreach (PlannedPanel panel in Plan(suite, "smoke").Panels)
            {
                ProbeRequest request = CommandProbe.RequestsOf(new WorkloadReader(panel.Options).Workload(1))[0];
                Assert.Equal(panel.Panel.Title.Split(' ', '_')[0], request.Command);
                if (Regex.Match(panel.Panel.Title, "first ([0-9]+) elements") is { Success: true } elements)
                    Assert.Equal(Number(elements, 1) - 1,
                        double.Parse(System.Text.Encoding.ASCII.GetString(request.Bytes).Split("\r\n")[^2],
                        CultureInfo.InvariantCulture));
            }
        }

        Assert.Equal(["SET", "GET", "RPUSH", "LPOP", "HSET", "LPUSH (needed to benchmark LRANGE)",
            "LRANGE_100 (first 100 elements)", "LRANGE_300 (first 300 elements)",
            "LRANGE_500 (first 500 elements)", "LRANGE_600 (first 600 elements)"],
                Plan("rudis-table", "full").Panels.Select(panel => panel.Panel.Title));
    }

    [Fact]
    public void An_online_suite_has_rows_for_each_session_count_and_each_number_outstanding()
    {
        using var server = RedisServer.Start();
        var run = ProgramRun.Of("suite", "garnet-fig4", "--profile", "smoke", "-p", $"{server.Port}");
        Assert.True(run.ExitCode == ExitCode.Ok, run.Errors + run.Output);
        Assert.Equal([1, 4, 16, 64], Regex.Matches(run.Output, "Intra thread parallelism: ([0-9]+)")
            .Select(match => (int)Number(match, 1)));
        // The header and one row of a second, four times.
        Assert.Equal(8, Regex.Count(run.Output, @"\|online\| "));
        Assert.Contains("OpRunnerGarnetClientSessionParallel", run.Output, StringComparison.Ordinal);
    }

    [Fact]
    public void M2_all_runs_twice_and_leaves_out_what_cannot_be_set()
    {
        using var server = RedisServer.Start();
        string json = Path.Combine(Path.GetTempPath(), $"suite-{Guid.NewGuid():N}.json");
        try
        {
            var run = ProgramRun.Of("suite", "m2-all", "--profile", "smoke", "-p", $"{server.Port}", "--json", json);
            Assert.True(run.ExitCode == ExitCode.Ok, run.Errors + run.Output);
            Report report = ReportFiles.Read(json);
            CellReport[] published =
                [.. report.Cells.Where(cell => cell.Axis.Op.EndsWith("as published", StringComparison.Ordinal))];
            CellReport[] fair =
                [.. report.Cells.Where(cell => cell.Axis.Op.EndsWith("fair", StringComparison.Ordinal))];
            Assert.Equal(published.Length, fair.Length);
            Assert.Equal(report.Cells.Count, published.Length + fair.Length);
            Assert.All(published, cell => Assert.Equal(
                "as published is io-threads 32; this one runs with 1, and was not started here", cell.Unsupported));
            Assert.All(fair, cell => Assert.True(cell.Reps[0].Ops > 0));
            Assert.All(report.Cells, cell => Assert.Equal("128", cell.Axis.Value));
            Assert.NotEmpty(report.Published);
        }
        finally
        {
            File.Delete(json);
        }
    }

    private static SuitePlan Plan(string suite, string profile) =>
        new(SuiteTable.Find(suite)!, SuiteProfile.Of(profile, null), new SuiteVerb(), [new PlannedTarget("A")]);

    private static PanelResult Result(PlannedPanel panel, CellReport[] cells) =>
        new(panel, SuitePass.Only, [.. cells.Select(cell => cell.Axis).Distinct()], cells,
            new Dictionary<string, Loaded>());

    private static CellReport Cell(string op, int conns, Repetition rep) =>
        new() { Axis = new CellAxis { Op = op, Conns = conns }, Target = "A", Reps = [rep] };

    /// <summary>All operations took as long.</summary>
    private static Repetition Timed(double opsS, double us)
    {
        var histogram = new Histogram();
        histogram.Record((long)(us * 1000), 100_000);
        return new Repetition { OpsS = opsS, Ops = 100_000, Seconds = 1, Service = LatencySummary.Of(histogram) };
    }

    private static Measurement Measured(TimeSpan elapsed, long ops) =>
        new() { Elapsed = elapsed, Counters = new RunCounters() with { Ops = ops }, Service = new Histogram(),
            Kinds = [], Errors = [], LoopOccupancy = [] };

    private static OnlineRecord Online() => new(TimeProvider.System, new Interrupt());

    private static double Number(Match match, int group) =>
        double.Parse(match.Groups[group].Value, NumberStyles.Number, CultureInfo.InvariantCulture);
}

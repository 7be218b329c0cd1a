using Kv.Tests.Harness;
using RespBenchmark.CommandLine;
using RespBenchmark.Native;
using RespBenchmark.Network;
using RespBenchmark.NullServer;
using RespBenchmark.Reports;
using RespBenchmark.Suites;
using RespBenchmark.Workload;
using NullPeer = RespBenchmark.NullServer.NullServer;

namespace RespBenchmark.Tests.Suites;

public class SuiteTests
{
    private static readonly PlannedTarget[] OneTarget = [new("A")];

    [Fact]
    public void All_suites_of_the_documents_are_there()
    {
        string[] expected =
        [
            "m2-get", "m2-set", "m2-lat", "m2-lat-high", "m2-lat-write", "m2-all", "rudis-table",
            .. Enumerable.Range(1, 11).Select(figure => $"garnet-fig{figure}"), "garnet-all",
            "ryzen-default", "ryzen-set-8k", "ryzen-set-16k", "ryzen-get-2b", "ryzen-perf",
            "tair-set", "tair-get", "tair-zadd", "tair-zscore", "tair-hset", "tair-hget", "tair-lpush", "tair-lindex",
            "tair-sadd", "tair-sismember",
            "tair-evalsha", "tair-all",
        ];
        Assert.Equal(expected.Order(), SuiteTable.All.Select(suite => suite.Name).Order());
        Assert.All(SuiteTable.All, suite => Assert.NotEmpty(suite.Panels));
    }

    [Fact]
    public void Each_panel_at_each_profile_has_a_workload_and_a_load_that_can_be_made()
    {
        foreach (string profile in (string[])["full", "laptop", "smoke"])
        {
            foreach (Suite suite in SuiteTable.All)
            {
                foreach (PlannedPanel panel in new SuitePlan(suite, SuiteProfile.Of(profile, null), new SuiteVerb(),
                    OneTarget).Panels)
                {
                    var reader = new WorkloadReader(panel.Options);
                    Assert.NotEmpty(reader.Workload(panel.Panel.Depths[^1]).Kinds);
                    if (panel.Options.Load != "none") reader.Load();
                    Assert.NotEmpty(CellGrid.Read(panel.Options, null));
                }
            }
        }
    }

    [Fact]
    public void Full_is_as_published()
    {
        SuiteProfile full = SuiteProfile.Of("full", null);
        Assert.True(full.IsAsPublished);
        PlannedPanel hget = Assert.Single(
            new SuitePlan(SuiteTable.Find("tair-hget")!, full, new SuiteVerb(), OneTarget).Panels);
        Assert.Equal("HGET {key uniform 1000} {key uniform 10007}", Assert.Single(hget.Options.Commands));
        Assert.Equal("HSET {key sequence 1000} {key sequence 10007} {value 64}", hget.Options.LoadCommand);
        Assert.Equal(10_007_000, hget.Options.LoadCount);
        Assert.Equal("32,64,128,192,256", hget.Options.Sessions);
        Assert.Equal("20s", hget.Options.Duration);
        Assert.False(SuiteProfile.Of("full", 2).IsAsPublished);
        Assert.Equal("d8f2fad9f8e86a53d2a6ebd960b33c4972cacc37", GarnetOps.ShaOf(SuiteTable.TairScript));
    }

    [Theory]
    [InlineData(1)]
    [InlineData(16)]
    [InlineData(1024)]
    [InlineData(100)]
    [InlineData(1 << 20)]
    public void A_scaled_load_of_pairs_writes_every_pair_once(long scale)
    {
        TemplateNumbers numbers = SuiteProfile.Of("full", scale).NumbersOf(SuiteTable.Find("tair-hget")!.Panels[0]);
        var pairs = new HashSet<(long, long)>();
        for (long index = 0; index < numbers.Of(LoadSize.Pairs) && pairs.Count <= 1_000_000; index++)
            pairs.Add((index % numbers.Outer, index % numbers.Inner));
        Assert.Equal(Math.Min(1_000_001, numbers.Outer * numbers.Inner), pairs.Count);
    }

    [Fact]
    public void Smoke_takes_one_and_eight_sessions_a_second_and_few_keys()
    {
        SuitePlan plan = new(SuiteTable.Find("garnet-fig1")!, SuiteProfile.Of("smoke", null),
            new SuiteVerb(), OneTarget);
        Assert.All(plan.Panels, panel => Assert.Equal("1,8", panel.Options.Sessions));
        Assert.All(plan.Panels, panel => Assert.Equal("1s", panel.Options.Duration));
        Assert.Equal([1024, 250_000], plan.Panels.Select(panel => panel.Options.Keys));
        Assert.InRange(plan.Time.TotalSeconds, 4, 20);
    }

    [Fact]
    public void Memory_is_keys_times_key_value_and_what_the_server_adds()
    {
        PlannedTarget[] targets = [new("redis"), new("kv", PlannedTarget.KvOverhead), new("far", IsHere: false)];
        SuitePlan plan = new(SuiteTable.Find("garnet-fig1")!, SuiteProfile.Of("full", null), new SuiteVerb(), targets);
        Assert.Equal([256_000_000L * 106, 256_000_000L * 50, 256_000_000L * 106], plan.ServerBytes);
        Assert.Equal(plan.ClientBytes + (256_000_000L * 156), plan.BytesHere);
        SuitePlan sketches = new(SuiteTable.Find("garnet-fig6")!, SuiteProfile.Of("full", null),
            new SuiteVerb(), OneTarget);
        Assert.Equal(1_048_576L * 12 * 1024, sketches.ServerBytes[0]);
    }

    [Fact]
    public void What_does_not_fit_is_refused_with_the_nearest_scale_that_does()
    {
        Suite suite = SuiteTable.Find("garnet-fig1")!;
        SuitePlan full = new(suite, SuiteProfile.Of("full", null), new SuiteVerb(), OneTarget);
        Assert.Null(full.Refusal(64L << 30));
        string refusal = Assert.IsType<string>(full.Refusal(8L << 30));
        Assert.Contains("--scale 4 fits", refusal, StringComparison.Ordinal);
        Assert.Null(new SuitePlan(suite, SuiteProfile.Of("full", 4), new SuiteVerb(), OneTarget).Refusal(8L << 30));
        Assert.NotNull(new SuitePlan(suite, SuiteProfile.Of("full", 2), new SuiteVerb(), OneTarget).Refusal(8L << 30));
        Assert.Contains("no scale fits", full.Refusal(1 << 20), StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("BITOP_NOT", "BITOP", 4)]
    [InlineData("MPFADD", "PFADD", 3)]
    [InlineData("GETBIT", "GETBIT", 3)]
    [InlineData("ping_inline", "PING", 1)]
    [InlineData("lrange_100", "LRANGE", 4)]
    public void The_probe_sends_what_the_operation_sends(string op, string command, int words)
    {
        var request = Assert.Single(
            CommandProbe.RequestsOf(new WorkloadReader(new SuiteVerb { Op = op, Keys = 1024 }).Workload(1)));
        Assert.Equal((command, words, true), (request.Command, request.Words, request.IsWhole));
    }

    [Fact]
    public void The_probe_sends_every_part_of_a_mix()
    {
        var requests = CommandProbe.RequestsOf(
            new WorkloadReader(new SuiteVerb { Mix = "GET:99,SET:1", Keys = 1024 }).Workload(1));
        Assert.Equal(["GET", "SET"], requests.Select(request => request.Command).Order());
    }

    [Fact]
    public void A_command_is_available_if_the_server_knows_it_takes_these_arguments_and_lets_the_user()
    {
        using var server = RedisServer.Start();
        var target = new Target { Host = "127.0.0.1", Port = server.Port };
        using (var control = ControlConnection.Open(target))
        {
            Assert.False(control.Send("ACL", "SETUSER", "few", "on", ">pw", "~*", "+@all", "-sadd").IsError);
            Assert.False(control.Send("SET", "myset", "of another kind").IsError);
        }

        Assert.Null(Missing(target, "SADD myset {value 8}"));           // WRONGTYPE is of the data
        Assert.Equal("SETIFPM is not known there", Missing(target, "SETIFPM {key uniform 10} v p"));
        Assert.Equal("GET does not take 2 arguments there (arity 2)", Missing(target, "GET {key uniform 10} more"));
        Assert.Equal("ERR syntax error", Missing(target, "SET {key uniform 10} v NOSUCH"));
        Assert.Contains("NOPERM", Missing(target with { User = "few", Password = "pw" }, "SADD myset {value 8}"),
            StringComparison.Ordinal);
        Assert.Contains("scripts do not load", Missing(target, "EVALSHA {sha \"return (\"} 0"),
            StringComparison.Ordinal);
    }

    private static string? Missing(Target target, string template) =>
        CommandProbe.Missing(target, new SuiteVerb { Commands = [template], Keys = 10, Load = "none" });

    [Fact]
    public void A_smoke_run_reports_all_cells_under_the_watermark()
    {
        string json = Path.Combine(Path.GetTempPath(), $"suite-{Guid.NewGuid():N}.json");
        using var server = NullPeer.Start(new NullServerOptions());
        try
        {
            var run = ProgramRun.Of("suite", "tair-get", "--profile", "smoke", "--target", $"A=127.0.0.1:{server.Port}",
                "--json", json, "--server-pid", "off");
            Assert.True(run.ExitCode == ExitCode.Ok, run.Errors + run.Output);
            Report report = ReportFiles.Read(json);
            Assert.Equal(Report.ScaledWatermark, report.Watermark);
            Assert.Equal([1, 8], report.Cells.Select(cell => cell.Axis.Conns));
            Assert.All(report.Cells, cell => Assert.Equal("GET", cell.Axis.Op));
            Assert.All(report.Cells, cell => Assert.True(cell.Reps[0].Ops > 0));
            Assert.Contains(Report.ScaledWatermark, run.Output, StringComparison.Ordinal);
        }
        finally
        {
            File.Delete(json);
        }
    }

    [Fact]
    public void A_command_that_the_server_lacks_is_not_available_rather_than_nothing()
    {
        string json = Path.Combine(Path.GetTempPath(), $"suite-{Guid.NewGuid():N}.json");
        using var server = NullPeer.Start(new NullServerOptions { Reply = "-ERR unknown command\\r\\n" });
        try
        {
            var run = ProgramRun.Of("suite", "tair-zadd", "--profile", "smoke", "--target",
                $"A=127.0.0.1:{server.Port}", "--json", json, "--server-pid", "off");
            Assert.True(run.ExitCode == ExitCode.Ok, run.Errors + run.Output);
            Assert.All(ReportFiles.Read(json).Cells, cell => Assert.Equal("ZADD is not known there", cell.Unsupported));
            Assert.Contains("n/a", run.Output, StringComparison.Ordinal);
        }
        finally
        {
            File.Delete(json);
        }
    }

    [Fact]
    public void A_server_with_data_is_not_emptied_unasked()
    {
        using var server = NullPeer.Start(new NullServerOptions { Keys = 5 });
        var run = ProgramRun.Of("suite", "tair-set", "--profile", "smoke", "--target", $"A=127.0.0.1:{server.Port}");
        Assert.Equal(ExitCode.Usage, run.ExitCode);
        Assert.Contains("--flush allows it", run.Errors, StringComparison.Ordinal);
    }

    [Fact]
    public void The_list_and_a_dry_run_need_no_server()
    {
        var list = ProgramRun.Of("suite", "--list", "--profile", "smoke");
        Assert.Equal(ExitCode.Ok, list.ExitCode);
        Assert.All(SuiteTable.All, suite => Assert.Contains(suite.Name, list.Output, StringComparison.Ordinal));
        var dry = ProgramRun.Of("suite", "garnet-all", "--dry-run", "--port", "1");
        Assert.Equal(ExitCode.Ok, dry.ExitCode);
        Assert.Contains("plan: ", dry.Output, StringComparison.Ordinal);
        Assert.Equal(ExitCode.Usage, ProgramRun.Of("suite", "nothing-of-this-name").ExitCode);
    }
}

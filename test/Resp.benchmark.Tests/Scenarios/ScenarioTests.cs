using System.Text.Json;
using Kv.Tests.Harness;
using RespBenchmark.CommandLine;

namespace RespBenchmark.Tests.Scenarios;

/// <summary>Whole runs of scenarios against redis-server, which has all that they need.</summary>
public sealed class ScenarioTests : IDisposable
{
    private readonly string _file = Path.GetTempFileName();
    private RedisServer? _server;

    [Theory]
    [InlineData("pubsub", "--conns 2 --peers 6", 3)]
    [InlineData("pubsub", "--conns 3 --depth 4", 1)]
    [InlineData("pubsub", "--conns 6 --peers 2 --loops 2 --resp 3", 1)]
    [InlineData("blocking", "--conns 3", 1)]
    [InlineData("blocking", "--conns 5 --peers 2 --depth 3", 1)]
    [InlineData("blocking", "--conns 2 --peers 6 --resp 3", 1)]
    [InlineData("txn", "--conns 8 --keys 2", 1)]
    [InlineData("lua", "--conns 3 --depth 5 --keys 10", 1)]
    [InlineData("stream-group", "--conns 2", 1)]
    [InlineData("stream-group", "--conns 5 --peers 2 --depth 3 --resp 3", 1)]
    [InlineData("stream-group", "--conns 2 --peers 5", 1)]
    [InlineData("lock", "--conns 6 --keys 2", 1)]
    [InlineData("cache", "--conns 3 --depth 4 --keys 50 --value 1-300 --dist zipf:1.1+scan:20% --ttl 50-100", 1)]
    public void A_scenario_does_so_many_operations_loses_none_and_leaves_no_key(
        string name, string options, int operationsEach)
    {
        RedisServer server = Start();
        var run = Run(server, name, $"{options} --ops 600");
        Assert.True(run.ExitCode == ExitCode.Ok, run.Output + run.Errors);
        using var report = Report();
        JsonElement rep = Rep(report);
        Assert.Equal(600 * operationsEach, rep.GetProperty("ops").GetInt64());
        Assert.Equal((0, 0), (rep.GetProperty("lost").GetInt64(), rep.GetProperty("wrong").GetInt64()));
        Assert.Equal(600 * operationsEach, rep.GetProperty("service").GetProperty("n").GetInt64());
        JsonElement scenario = rep.GetProperty("scenario");
        Assert.Equal(name, scenario.GetProperty("name").GetString());
        Assert.All(scenario.GetProperty("latencies").EnumerateObject(),
            one => Assert.True(one.Value.GetProperty("n").GetInt64() > 0, one.Name));
        foreach (JsonProperty lost in scenario.GetProperty("figures").EnumerateObject()
            .Where(one => one.Name.StartsWith("lost", StringComparison.Ordinal)))
            Assert.Equal(0, lost.Value.GetDouble());
        using var client = server.Connect();
        Assert.Equal(0, client.Command("DBSIZE").Integer);
    }

    [Fact]
    public void Transactions_that_collide_are_counted_and_tried_again()
    {
        var run = Run(Start(), "txn", "--conns 8 --keys 1 --ops 2000");
        Assert.True(run.ExitCode == ExitCode.Ok, run.Output + run.Errors);
        Assert.Contains("retry rate 0.", run.Output);
        Assert.Contains("lost updates 0", run.Output);
        using var report = Report();
        JsonElement figures = Rep(report).GetProperty("scenario").GetProperty("figures");
        double conflicts = figures.GetProperty("conflicts").GetDouble();
        Assert.True(conflicts > 0);
        // Every attempt committed or collided.
        Assert.Equal(2000 + conflicts, figures.GetProperty("attempts_s").GetDouble() * Rep(report)
            .GetProperty("seconds").GetDouble(), 1e-3 * conflicts + 1);
        Assert.Equal(conflicts / (2000 + conflicts), figures.GetProperty("retry_rate").GetDouble(), 6);
    }

    [Fact]
    public void An_update_that_is_not_in_the_keys_afterwards_is_lost_and_ends_with_5()
    {
        RedisServer server = Start();
        using var interrupt = new Interrupt();
        var spoiler = new Thread(() =>
        {
            using var client = server.Connect();
            // The only key there is counts up.
            SpinWait.SpinUntil(() => interrupt.Requested
                || (client.Command("RANDOMKEY") is { IsNull: false } key
                    && client.Command($"GET {key.String}").Integer > 10
                    && client.Command($"SET {key.String} 0").String == "OK"));
            interrupt.Raise();
        });
        spoiler.Start();
        var run = ProgramRun.With("Resp.benchmark", Words(server, "lua", "--keys 1 --duration 1h"), interrupt);
        spoiler.Join();
        Assert.Equal(ExitCode.VerificationFailed, run.ExitCode);
        Assert.Contains("WRONG values", run.Output);
    }

    [Theory]
    [InlineData("pubsub", "publish")]
    [InlineData("blocking", "blpop")]
    [InlineData("txn", "exec")]
    [InlineData("lua", "evalsha")]
    [InlineData("stream-group", "xack")]
    [InlineData("lock", "evalsha")]
    [InlineData("cache", "get")]
    public void A_signal_ends_it_with_what_was_measured_and_takes_the_keys_away(string name, string command)
    {
        RedisServer server = Start();
        using var interrupt = new Interrupt();
        var raiser = new Thread(() =>
        {
            using var client = server.Connect();
            SpinWait.SpinUntil(() => interrupt.Requested || client.Command("INFO commandstats").String.Split('\n')
                .Any(line => line.StartsWith($"cmdstat_{command}:calls=", StringComparison.Ordinal)
                    && long.Parse(line.Split('=', ',')[1]) > 100));
            interrupt.Raise();
        });
        raiser.Start();
        var run = ProgramRun.With("Resp.benchmark", Words(server, name, "--conns 3 --keys 5 --duration 1h"), interrupt);
        raiser.Join();
        Assert.True(run.ExitCode == ExitCode.Ok, run.Output + run.Errors);
        using var report = Report();
        Assert.True(Rep(report).GetProperty("ops").GetInt64() > 0);
        Assert.Equal("Interrupted", Rep(report).GetProperty("end").GetString());
        using var after = server.Connect();
        Assert.Equal(0, after.Command("DBSIZE").Integer);
    }

    [Fact]
    public void A_server_that_lacks_the_command_is_not_measured()
    {
        var run = Run(Start("--rename-command", "XREADGROUP", "\"\""), "stream-group", "--ops 10");
        Assert.Contains("n/a  XREADGROUP is not known there", run.Output);
        Assert.Equal(ExitCode.Ok, run.ExitCode);
    }

    [Fact]
    public void Error_replies_are_counted_by_their_class()
    {
        var run = Run(Start("--maxmemory", "1"), "txn", "--conns 2 --keys 3 --ops 100");
        using var report = Report();
        JsonElement errors = Rep(report).GetProperty("errors");
        Assert.Equal((100, 100), (errors.GetProperty("OOM").GetInt64(), errors.GetProperty("EXECABORT").GetInt64()));
        Assert.Equal(0, Rep(report).GetProperty("ops").GetInt64());
        Assert.Contains(" 200 |", run.Output);
    }

    [Fact]
    public void The_first_error_reply_ends_it_where_that_was_asked_for()
    {
        var run = Run(Start("--maxmemory", "1"), "lock", "--keys 3 --duration 1h --on-error abort");
        Assert.Equal(ExitCode.RunError, run.ExitCode);
        Assert.Contains("OOM", run.Output);
    }

    [Fact]
    public void A_subscriber_whose_connection_ends_ends_the_run_and_is_named()
    {
        RedisServer server = Start();
        var killer = new Thread(() =>
        {
            using var client = server.Connect();
            SpinWait.SpinUntil(() => client.Command("CLIENT KILL TYPE pubsub").Integer > 0, TimeSpan.FromSeconds(60));
        });
        killer.Start();
        var run = Run(server, "pubsub", "--duration 1h");
        killer.Join();
        Assert.Equal(ExitCode.RunError, run.ExitCode);
        Assert.Contains("a subscriber lost its connection", run.Output);
    }

    [Fact]
    public void An_offered_rate_counts_from_when_operations_were_due()
    {
        var run = Run(Start(), "blocking", "--conns 4 --rate 2k --ops 500");
        Assert.True(run.ExitCode == ExitCode.Ok, run.Output + run.Errors);
        using var report = Report();
        Assert.Equal(500, Rep(report).GetProperty("response").GetProperty("n").GetInt64());
        Assert.Equal(500, Rep(report).GetProperty("lag").GetProperty("n").GetInt64());
    }

    [Fact]
    public void Cells_of_a_grid_have_their_figures_in_every_form()
    {
        string markdown = Path.GetTempFileName();
        var run = Run(Start(), "txn", $"--conns 1,2 --keys 1 --ops 300 --reps 2 --md {markdown}");
        string text = File.ReadAllText(markdown);
        File.Delete(markdown);
        Assert.Equal(2, run.Output.Split('\n').Count(line => line.Contains("retry rate", StringComparison.Ordinal)));
        Assert.Contains("| retry rate |", text);
        Assert.Contains("transaction p50/p99 us", text);
    }

    [Theory]
    [InlineData("nonsense", "",
        "--scenario takes pubsub, blocking, txn, lua, stream-group, lock, cache, not 'nonsense'")]
    [InlineData("txn", "--depth 2", "--scenario txn: a session does one thing at a time: not --depth")]
    [InlineData("lua", "--peers 2", "--scenario lua: it has one role")]
    [InlineData("pubsub", "--op SET", "--scenario pubsub: it says itself what is sent")]
    [InlineData("pubsub", "--value 8-16", "--scenario pubsub: --value takes bytes")]
    [InlineData("lua", "--ttl 5", "--scenario lua: --ttl and --trace are for cache")]
    [InlineData("cache", "--value 16777217", "--scenario cache: --value takes bytes to 16777216 here")]
    [InlineData("cache", "--maxmemory 1mb", "--maxmemory empties the server before each cell, and needs --flush")]
    [InlineData("cache", "--flush --maxmemory 1tb", "--maxmemory takes bytes like 64mb,1gb, not '1tb'")]
    [InlineData("cache", "--dist zipf+scan:0", "a share must be above 0")]
    [InlineData("cache", "--dist zipf+move:0", "what is added is +scan:PERCENT or +move:DURATION")]
    public void What_does_not_go_together_is_refused_by_name(string name, string options, string why)
    {
        var run = ProgramRun.Of(
            [.. $"run -p 1 --scenario {name} {options}".Split(' ', StringSplitOptions.RemoveEmptyEntries)]);
        Assert.Equal(ExitCode.Usage, run.ExitCode);
        Assert.Contains(why, run.Errors);
    }

    public void Dispose()
    {
        _server?.Dispose();
        File.Delete(_file);
    }

    private RedisServer Start(params string[] options) => _server = RedisServer.Start(options);

    private ProgramRun Run(RedisServer server, string name, string options) =>
        ProgramRun.Of(Words(server, name, options));

    private string[] Words(RedisServer server, string name, string options) =>
    [
        "run", "-p", $"{server.Port}", "--scenario", name, "--warmup", "0", "--cooldown", "0", "--progress", "off",
        "--json", _file, .. options.Split(' '),
    ];

    private JsonDocument Report() => JsonDocument.Parse(File.ReadAllText(_file));

    private static JsonElement Rep(JsonDocument report) =>
        report.RootElement.GetProperty("cells")[0].GetProperty("reps")[0];
}

using System.Text.Json;
using System.Text.RegularExpressions;
using Kv.Tests.Harness;
using RespBenchmark.CommandLine;
using RespBenchmark.NullServer;
using NullPeer = RespBenchmark.NullServer.NullServer;

namespace RespBenchmark.Tests.Native;

/// <summary>The verbs that measure, whole runs: against the server that does nothing, or redis-server where values
/// count.</summary>
public sealed class RunVerbTests : IDisposable
{
    private readonly string _folder = Directory.CreateTempSubdirectory("resp-native").FullName;
    private readonly NullPeer _null = NullPeer.Start(new NullServerOptions { Keys = 100 });

    [Fact]
    public void Lists_span_a_grid_with_a_row_and_a_report_for_each_cell()
    {
        var run = Run("run", "--conns", "1,3", "--depth", "1,8", "--ops", "2000");
        Assert.True(run.ExitCode == ExitCode.Ok, run.Errors);
        using var report = Report();
        Assert.Equal(["1x1", "1x8", "3x1", "3x8"],
            Cells(report).Select(cell => $"{Axis(cell, "conns")}x{Axis(cell, "depth")}"));
        Assert.All(Cells(report), cell =>
            Assert.Equal(2000, cell.GetProperty("reps")[0].GetProperty("ops").GetInt64()));
        Assert.Equal(4, Rows(run.Output, "closed |"));
        Assert.Contains("closed loop: latencies are service times\n", run.Output);
    }

    [Fact]
    public void A_sweep_measures_the_same_cells_in_an_order_that_its_seed_repeats()
    {
        string[] Order(string seed)
        {
            Assert.Equal(ExitCode.Ok, Run("sweep", "--conns", "1,2,3,4,5,6", "--ops", "100", "--seed", seed).ExitCode);
            using var report = Report();
            return [.. Cells(report).Select(cell => Axis(cell, "conns"))];
        }

        string[] once = Order("7");
        Assert.Equal(once, Order("7"));
        Assert.Equal(["1", "2", "3", "4", "5", "6"], once.Order());
        Assert.NotEqual(once.Order(), once);
    }

    [Fact]
    public void Automatic_sessions_double_as_long_as_that_helps_and_the_cell_says_how_many()
    {
        var run = Run("run", "--conns", "auto", "--ops", "2000", "--reps", "2");
        Assert.True(run.ExitCode == ExitCode.Ok, run.Errors);
        using var report = Report();
        JsonElement cell = Cells(report).Single();
        int[] steps = [.. Regex.Matches(run.Errors, "# ([0-9]+) sessions: ")
            .Select(match => int.Parse(match.Groups[1].Value))];
        // One climb for both repetitions: 1, 2, 4 ... and the last step is where the cell runs.
        Assert.Equal(Enumerable.Range(0, steps.Length).Select(step => 1 << step), steps);
        Assert.Equal($"{steps[^1]}", Axis(cell, "conns"));
        Assert.All(cell.GetProperty("reps").EnumerateArray(),
            rep => Assert.Equal(2000, rep.GetProperty("ops").GetInt64()));
    }

    [Fact]
    public void Repetitions_have_a_median_and_an_interval()
    {
        Assert.Equal(ExitCode.Ok, Run("run", "--ops", "500", "--reps", "3").ExitCode);
        using var report = Report();
        JsonElement cell = Cells(report).Single();
        Assert.Equal(3, cell.GetProperty("reps").GetArrayLength());
        Assert.True(cell.GetProperty("summary").GetProperty("ci95").GetDouble() >= 0);
    }

    [Fact]
    public void A_mix_sends_exactly_its_shares()
    {
        using RedisServer server = RedisServer.Start();
        var run = RunAt(server.Port, "run", "--mix", "GET:80,SET:20", "--keys", "50", "--load", "none",
            "--ops", "1000");
        Assert.True(run.ExitCode == ExitCode.Ok, run.Errors);
        using var client = server.Connect();
        string calls = client.Command("INFO commandstats").ToString();
        Assert.Contains("cmdstat_get:calls=800,", calls);
        Assert.Contains("cmdstat_set:calls=200,", calls);
    }

    [Fact]
    public void A_template_is_any_command()
    {
        using RedisServer server = RedisServer.Start();
        var run = RunAt(server.Port, "run", "--cmd", "HSET h {key uniform 10} {value 16}", "--load", "none",
            "--ops", "300");
        Assert.True(run.ExitCode == ExitCode.Ok, run.Errors);
        using var client = server.Connect();
        Assert.Contains("cmdstat_hset:calls=300,", client.Command("INFO commandstats").ToString());
    }

    [Fact]
    public void Keys_are_loaded_before_they_are_read_and_no_reply_is_nil()
    {
        using RedisServer server = RedisServer.Start();
        var run = RunAt(server.Port, "run", "--keys", "200", "--ops", "1000");
        Assert.Equal(ExitCode.Ok, run.ExitCode);
        Assert.Contains("dbsize 200\n", run.Output);
        using var report = Report();
        Assert.Equal(0, Cells(report).Single().GetProperty("reps")[0].GetProperty("nils").GetInt64());
        Assert.StartsWith("redis 7", report.RootElement.GetProperty("targets")[0].GetProperty("product").GetString());
    }

    [Fact]
    public void An_offered_rate_is_an_open_loop_with_latencies_from_the_intended_send()
    {
        var run = Run("run", "--rate", "2k", "--ops", "1000", "--conns", "4");
        Assert.True(run.ExitCode == ExitCode.Ok, run.Errors);
        Assert.Contains("open loop: latencies are from the intended send\n", run.Output);
        using var report = Report();
        JsonElement rep = Cells(report).Single().GetProperty("reps")[0];
        Assert.Equal("2000", Axis(Cells(report).Single(), "rate"));
        Assert.Equal(1000, rep.GetProperty("response").GetProperty("n").GetInt64());
        Assert.Equal(1000, rep.GetProperty("lag").GetProperty("n").GetInt64());
    }

    [Fact]
    public void An_expected_interval_corrects_a_closed_loop_and_says_so()
    {
        var run = Run("run", "--ops", "400", "--co", "expected:0.5");
        Assert.True(run.ExitCode == ExitCode.Ok, run.Errors);
        Assert.Contains(
            "closed loop: latencies are service times corrected for coordinated omission by an expected interval of "
            + "0.5 us\n", run.Output);
        using var report = Report();
        JsonElement rep = Cells(report).Single().GetProperty("reps")[0];
        Assert.Equal("expected:0.5", rep.GetProperty("co").GetString());
        Assert.Equal("expected:0.5", Axis(Cells(report).Single(), "co"));
        Assert.Equal(400, rep.GetProperty("service").GetProperty("n").GetInt64());
        // No round trip is over in half a microsecond: each held others up.
        Assert.True(rep.GetProperty("response").GetProperty("n").GetInt64() > 800);
    }

    [Fact]
    public void Without_correction_an_open_loop_shows_service_times()
    {
        var run = Run("run", "--rate", "2k", "--ops", "300", "--co", "none", "--csv", File + ".csv");
        Assert.True(run.ExitCode == ExitCode.Ok, run.Errors);
        string[] rows = System.IO.File.ReadAllLines(File + ".csv");
        using var report = Report();
        JsonElement rep = Cells(report).Single().GetProperty("reps")[0];
        string p50 = rows[1].Split(',')[Array.IndexOf(rows[0].Split(','), "p50_us")];
        Assert.Equal(rep.GetProperty("service").GetProperty("p50").GetDouble(),
            double.Parse(p50, System.Globalization.CultureInfo.InvariantCulture), 3);
        Assert.Equal(300, rep.GetProperty("response").GetProperty("n").GetInt64());
    }

    [Theory]
    [InlineData("run", "--co expected:100 --rate 1k", "must not be corrected twice")]
    [InlineData("rate", "--co expected:100", "must not be corrected twice")]
    [InlineData("run", "--co expected:0", "--co takes intended, none or expected:US")]
    [InlineData("run", "--co sometimes", "--co takes intended, none or expected:US")]
    public void Latencies_are_never_corrected_twice(string verb, string options, string why)
    {
        var run = Run(verb, options.Split(' '));
        Assert.Equal(ExitCode.Usage, run.ExitCode);
        Assert.Contains(why, run.Errors);
    }

    [Fact]
    public void A_ladder_of_rates_has_its_ends()
    {
        Assert.Equal(ExitCode.Ok, Run("rate", "--rate-sweep", "1k:3k:3", "--ops", "100").ExitCode);
        using var report = Report();
        Assert.Equal(["1000", "2000", "3000"], Cells(report).Select(cell => Axis(cell, "rate")));
    }

    [Fact]
    public void A_corrupted_value_ends_with_5()
    {
        using RedisServer server = RedisServer.Start();
        string[] data = ["--keys", "100", "--data", "verify", "--value", "64"];
        Assert.Equal(ExitCode.Ok, RunAt(server.Port, ["load", .. data]).ExitCode);
        Assert.Equal(ExitCode.Ok, RunAt(server.Port, ["verify", .. data]).ExitCode);
        using var client = server.Connect();
        Assert.Equal("OK", client.Command(
            "SET key:000000000042 damaged-damaged-damaged-damaged-damaged-damaged-damaged-damaged-").String);
        var verify = RunAt(server.Port, ["verify", .. data]);
        Assert.Equal(ExitCode.VerificationFailed, verify.ExitCode);
        Assert.Contains("100 keys read, 1 wrong, 0 missing, 0 errors", verify.Output);
        var run = RunAt(server.Port,
            ["run", .. data, "--load", "none", "--dist", "seq", "--ops", "100", "--verify", "value"]);
        Assert.Equal(ExitCode.VerificationFailed, run.ExitCode);
        Assert.Contains("1 wrong", run.Output);
        Assert.Contains("1 WRONG values\n", run.Output);
    }

    [Fact]
    public void Two_targets_are_measured_A_B_B_A_and_compared()
    {
        using NullPeer other = NullPeer.Start(new NullServerOptions());
        var run = ProgramRun.Of("run", "--target", $"A=127.0.0.1:{_null.Port}", "--target", $"B=127.0.0.1:{other.Port}",
            "--load", "none",
            "--warmup", "0", "--cooldown", "0", "--ops", "200", "--reps", "2", "--server-pid", "off", "--progress",
            "off", "--json", File);
        Assert.True(run.ExitCode == ExitCode.Ok, run.Errors);
        using var report = Report();
        Assert.Equal(["A", "B"], Cells(report).Select(cell => cell.GetProperty("target").GetString()));
        Assert.True(report.RootElement.GetProperty("comparisons").GetArrayLength() > 0);
        Assert.True(other.Answered >= 400);
    }

    [Fact]
    public void A_server_that_we_started_is_new_for_each_repetition_and_gone_afterwards()
    {
        string redis = Requires.Redis();
        int port = ServerProgram.FreePort();
        var run = ProgramRun.Of("run", "--target", $"R=127.0.0.1:{port}", "--start",
            $"R='{redis}' --port {port} --bind 127.0.0.1 --save ''",
            "--keys", "50", "--ops", "100", "--reps", "2", "--warmup", "0", "--cooldown", "0", "--progress", "off",
            "--json", File);
        Assert.True(run.ExitCode == ExitCode.Ok, run.Errors);
        Assert.Equal(2, Rows(run.Output, "dbsize 50"));
        using var report = Report();
        Assert.True(report.RootElement.GetProperty("targets")[0].GetProperty("pid").GetInt32() > 0);
        Assert.Equal(ExitCode.RunError, ProgramRun.Of("run", "-p", $"{port}", "--ops", "1").ExitCode);
    }

    [Fact]
    public void Calibration_measures_the_same_shape_against_a_null_server_of_its_own()
    {
        var run = Run("run", "--ops", "300", "--calibrate");
        Assert.True(run.ExitCode == ExitCode.Ok, run.Errors);
        Assert.Contains(" ops/s against a null server\n", run.Errors);
        using var report = Report();
        Assert.True(Cells(report).Single().GetProperty("headroom").GetDouble() > 0);
    }

    [Fact]
    public void A_signal_ends_the_run_with_the_row_of_what_was_measured()
    {
        using var interrupt = new Interrupt();
        var raiser = new Thread(() =>
        {
            // So many are answered only to the load itself.
            SpinWait.SpinUntil(() => _null.Answered > 1000 || interrupt.Requested);
            interrupt.Raise();
        });
        raiser.Start();
        var run = ProgramRun.With("Resp.benchmark",
            ["run", "-p", $"{_null.Port}", "--load", "none", "--warmup", "0", "--duration", "1h",
            "--conns", "2,4", "--server-pid", "off", "--progress", "off", "--json", File], interrupt);
        raiser.Join();
        Assert.Equal(1, Rows(run.Output, "closed |"));
        using var report = Report();
        Assert.NotEqual("completed", Cells(report).Single().GetProperty("reps")[0].GetProperty("end").GetString());
    }

    [Fact]
    public void Quiet_prints_no_table_and_writes_the_files()
    {
        Assert.Equal("", Run("run", "--ops", "100", "--quiet").Output);
        Assert.True(System.IO.File.Exists(File));
    }

    public void Dispose()
    {
        _null.Dispose();
        Directory.Delete(_folder, recursive: true);
    }

    private string File => Path.Combine(_folder, "out.json");

    private ProgramRun Run(string verb, params string[] words) =>
        RunAt(_null.Port, [verb, "--load", "none", "--server-pid", "off", .. words]);

    /// <summary>A verb without warm-up and quiet times; verbs that measure write the report.</summary>
    private ProgramRun RunAt(int port, params string[] words) => ProgramRun.Of(words[0] is "load" or "verify"
        ? [.. words, "-p", $"{port}"]
        : [.. words, "-p", $"{port}", "--warmup", "0", "--cooldown", "0", "--progress", "off", "--json", File]);

    private JsonDocument Report() => JsonDocument.Parse(System.IO.File.ReadAllText(File));

    private static IEnumerable<JsonElement> Cells(JsonDocument report) =>
        report.RootElement.GetProperty("cells").EnumerateArray();

    private static string Axis(JsonElement cell, string name) => cell.GetProperty("axis").GetProperty(name).ToString();

    private static int Rows(string output, string having) =>
        output.Split('\n').Count(line => line.Contains(having, StringComparison.Ordinal));
}

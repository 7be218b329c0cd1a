using RespBenchmark.CommandLine;
using RespBenchmark.NullServer;
using NullPeer = RespBenchmark.NullServer.NullServer;

namespace RespBenchmark.Tests.Native;

/// <summary>Help, refusals, exit codes, and the verbs that send no load.</summary>
public class VerbTests
{
    private static readonly string[] Verbs =
        ["run", "sweep", "rate", "suite", "load", "verify", "compare", "report", "doctor", "null-server"];

    [Fact]
    public void Help_lists_every_verb()
    {
        var run = ProgramRun.Of("--help");
        Assert.Equal((ExitCode.Ok, ""), (run.ExitCode, run.Errors));
        foreach (string verb in Verbs) Assert.Contains($"\n  {verb} ", run.Output);
        Assert.InRange(run.Output.Split('\n').Length, 5, 30);
    }

    [Fact]
    public void Help_of_a_verb_names_its_options_all_in_a_group_on_one_screen()
    {
        foreach (string verb in Verbs)
        {
            var run = ProgramRun.Of(verb, "--help");
            Assert.Equal((ExitCode.Ok, ""), (run.ExitCode, run.Errors));
            Assert.StartsWith($"Resp.benchmark {verb}: ", run.Output);
            Assert.InRange(run.Output.Split('\n').Length, 2, 64);
            Assert.DoesNotContain("\nMore\n", run.Output);
        }

        Assert.Contains("\nOpen loop\n", ProgramRun.Of("run", "--help").Output);
        Assert.Contains(" --tls", ProgramRun.Of("run", "--help").Output);
        Assert.Contains("--tls    ", ProgramRun.Of("doctor", "--help").Output);
    }

    [Theory]
    [InlineData("run --nonsense 1", "nonsense")]
    [InlineData("run --conns 0", "--conns")]
    [InlineData("run --depth x", "--depth")]
    [InlineData("run --mode both", "--mode")]
    [InlineData("run --op NONSENSE", "NONSENSE")]
    [InlineData("run --op GET --mix GET:1", "--mix")]
    [InlineData("run --rate fast", "--rate")]
    [InlineData("run --pct 101", "--pct")]
    [InlineData("run --verify value", "--data verify")]
    [InlineData("run --duration soon", "--duration")]
    [InlineData("run --start nobody", "--start")]
    [InlineData("run --fail-if p99", "--fail-if")]
    [InlineData("run --target 127.0.0.1:1", "--target")]
    [InlineData("run --uri http://x", "http://x")]
    [InlineData("report nowhere.json", "--html")]
    [InlineData("compare one.json", "")]
    public void What_cannot_be_read_is_named_and_ends_with_2(string line, string named)
    {
        using var server = NullPeer.Start(new NullServerOptions());
        string[] words = line.Split(' ');
        bool measures = words[0] == "run" && !line.Contains("--target", StringComparison.Ordinal)
            && !line.Contains("--uri", StringComparison.Ordinal);
        var run = ProgramRun.Of(measures
            ? [.. words, "-p", $"{server.Port}", "--load", "none", "--warmup", "0"] : words);
        Assert.True(run.ExitCode == ExitCode.Usage, $"{run.ExitCode} {run.Errors}{run.Output}");
        Assert.Contains(named, run.Errors);
    }

    [Fact]
    public void A_server_that_is_not_there_ends_with_1()
    {
        int port = Kv.Tests.Harness.ServerProgram.FreePort();
        foreach (string verb in (string[])["run", "load", "doctor", "verify"])
        {
            var run = ProgramRun.Of(verb, "-p", $"{port}");
            Assert.Equal(ExitCode.RunError, run.ExitCode);
            Assert.Contains($"127.0.0.1:{port}", run.Errors);
        }
    }

    [Fact]
    public void Error_replies_end_with_1_only_where_they_abort()
    {
        using var server = NullPeer.Start(new NullServerOptions { Fault = NullFault.Errors, FaultEvery = 10 });
        string[] words = ["run", "-p", $"{server.Port}", "--load", "none", "--warmup", "0", "--cooldown", "0", "--ops",
            "100", "--server-pid", "off"];
        Assert.Equal(ExitCode.Ok, ProgramRun.Of(words).ExitCode);
        Assert.Equal(ExitCode.RunError, ProgramRun.Of([.. words, "--on-error", "abort"]).ExitCode);
    }

    [Fact]
    public void A_gate_that_fails_ends_with_4_and_one_that_holds_with_0()
    {
        // A count is judged whoever was the bound; a rate is not when it was the host.
        using var server = NullPeer.Start(new NullServerOptions { Fault = NullFault.Errors, FaultEvery = 10 });
        string[] words = ["run", "-p", $"{server.Port}", "--load", "none", "--warmup", "0", "--cooldown", "0", "--ops",
            "100", "--server-pid", "off"];
        var failed = ProgramRun.Of([.. words, "--fail-if", "errors>5"]);
        Assert.Equal(ExitCode.GateFailed, failed.ExitCode);
        Assert.Contains("gate errors>5: FAILED", failed.Output);
        var held = ProgramRun.Of([.. words, "--fail-if", "errors>50"]);
        Assert.Equal(ExitCode.Ok, held.ExitCode);
        Assert.Contains("gate errors>50: passed", held.Output);
    }

    [Fact]
    public void Reports_are_compared_rendered_and_gated()
    {
        string folder = Directory.CreateTempSubdirectory("resp-verbs").FullName;
        using var server = NullPeer.Start(new NullServerOptions());
        string json = Path.Combine(folder, "a.json"), html = Path.Combine(folder, "a.html");
        Assert.Equal(ExitCode.Ok, ProgramRun.Of("run", "-p", $"{server.Port}", "--load", "none", "--warmup", "0",
            "--cooldown", "0", "--ops", "100",
            "--conns", "1,2,4", "--reps", "3", "--server-pid", "off", "--json", json).ExitCode);
        var same = ProgramRun.Of("compare", json, json, "--fail-if", "errors>0");
        Assert.Equal(ExitCode.Ok, same.ExitCode);
        Assert.Contains("passed", same.Output);
        Assert.Equal(ExitCode.GateFailed, ProgramRun.Of("compare", json, json, "--fail-if", "errors<1").ExitCode);
        Assert.Equal(ExitCode.Ok, ProgramRun.Of("report", json, "--html", html).ExitCode);
        Assert.Contains("127.0.0.1", File.ReadAllText(html));
        Assert.Equal(ExitCode.RunError,
            ProgramRun.Of("report", Path.Combine(folder, "none.json"), "--html", html).ExitCode);
        Directory.Delete(folder, recursive: true);
    }

    [Fact]
    public void Doctor_says_what_it_sees_and_sends_no_load()
    {
        using var server = Kv.Tests.Harness.RedisServer.Start("--io-threads", "64");
        var run = ProgramRun.Of("doctor", "-p", $"{server.Port}");
        Assert.Equal(ExitCode.Ok, run.ExitCode);
        Assert.Contains("redis 7", run.Output);
        Assert.Contains("WARN A: io-threads 64 > ", run.Output);
        using var client = server.Connect();
        Assert.DoesNotContain("cmdstat_get:", client.Command("INFO commandstats").ToString());
    }
}

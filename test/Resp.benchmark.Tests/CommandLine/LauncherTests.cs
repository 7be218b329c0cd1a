using Kv.Tests.Harness;

namespace RespBenchmark.Tests.CommandLine;

/// <summary>The scripts beside the program that have the names of other tools.</summary>
public sealed class LauncherTests
{
    [Theory]
    [InlineData("redis-benchmark", "--version", "redis-benchmark 7.0.15 (Resp.benchmark ")]
    [InlineData("valkey-benchmark", "--version", "redis-benchmark 7.0.15 (Resp.benchmark ")]
    [InlineData("resp-benchmark", "--version", "resp-benchmark 0.1.7 (Resp.benchmark ")]
    // Without the name it would be Garnet's.
    [InlineData("redis-benchmark", "--op", "Invalid option \"--op\"")]
    public void A_script_reads_its_words_as_the_tool_of_its_name(string name, string word, string output)
    {
        Requires.Linux("the scripts are for its shell");
        Assert.StartsWith(output, ChildProcess.Run(Launcher(name), [word]).Output);
    }

    [Fact]
    public void A_link_to_a_script_finds_the_program_and_words_with_blanks_stay_whole()
    {
        using RedisServer server = RedisServer.Start();
        string link = Path.Combine(Path.GetTempPath(), $"launcher-{Guid.NewGuid():N}");
        File.CreateSymbolicLink(link, Launcher("resp-benchmark"));
        var run = ChildProcess.Run(link,
            ["-p", $"{server.Port}", "-c", "2", "-n", "50", "SET {key uniform 10} {value 8}"]);
        File.Delete(link);
        Assert.Equal(0, run.ExitCode);
        Assert.StartsWith("command: SET {key uniform 10} {value 8}\nconnections: 2\n", run.Output);
        using var client = server.Connect();
        Assert.Contains("cmdstat_set:calls=50,", client.Command("INFO commandstats").String);
    }

    [Fact]
    public void A_script_hands_stdin_and_the_exit_code_through()
    {
        using RedisServer server = RedisServer.Start();
        var run = ChildProcess.Run(Launcher("redis-benchmark"),
            ["-p", $"{server.Port}", "-q", "-n", "10", "-x", "SET", "key"], "from stdin"u8.ToArray());
        Assert.Equal(0, run.ExitCode);
        using var client = server.Connect();
        Assert.Equal("from stdin", client.Command("GET key").String);
        Assert.Equal(1, ChildProcess.Run(Launcher("redis-benchmark"),
            ["-p", $"{ServerProgram.FreePort()}", "-n", "1"]).ExitCode);
    }

    private static string Launcher(string name) => Path.Combine(AppContext.BaseDirectory, name);
}

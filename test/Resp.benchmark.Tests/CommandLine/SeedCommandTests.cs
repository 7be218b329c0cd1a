using Kv.Tests.Harness;
using RespBenchmark.CommandLine;

namespace RespBenchmark.Tests.CommandLine;

public sealed class SeedCommandTests : IDisposable
{
    private readonly RedisServer _server = RedisServer.Start("--proto-max-bulk-len", "512mb");

    // Each line as printed, made small: its variables given, its counts and times cut.
    [Fact]
    public void Every_line_of_the_seeds_runs()
    {
        string sha = LoadScript();
        int lines = 0;
        foreach (var (grammar, line) in Goldens.SeedCommands())
        {
            var (program, words) = Goldens.Split(line);
            var run = ProgramRun.As(program, Small(grammar, words, sha));
            Assert.True(run.ExitCode == ExitCode.Ok, $"{line}\n{run.Output}\n{run.Errors}");
            Assert.True(run.Output.Contains(Mark(grammar, words), StringComparison.Ordinal),
                $"{line}\n{run.Output}\n{run.Errors}");
            using var client = _server.Connect();
            client.Command("FLUSHALL");
            lines++;
        }

        Assert.Equal(34, lines);
    }

    public void Dispose() => _server.Dispose();

    private static string Mark(string grammar, string[] words) => grammar switch
    {
        _ when words is ["--help"] => "Resp.benchmark in the grammar of Tair's",
        "garnet" => words.Contains("--online") ? "|online| min (us);" : "Throughput: ",
        "redis-benchmark" => words.Contains("--csv")
        ? "\"LRANGE_600 (first 600 elements)\",\"" : "throughput summary: ",
        _ => words.Contains("--load") ? "Data loaded, qps: " : "qps: ",
    };

    private string[] Small(string grammar, string[] words, string sha)
    {
        var small = new List<string>();
        for (int index = 0; index < words.Length; index++)
        {
            string option = index > 0 ? words[index - 1] : "";
            small.Add(option switch
            {
                "--host" or "-h" => "127.0.0.1",
                "--port" or "-p" => $"{_server.Port}",
                "--threads" when grammar == "garnet" => "1,2",
                "--batchsize" or "--itp" when words[index].StartsWith('$') => "1",
                // Garnet's batches of 1 MiB values, small.
                "--valuelength" => words[index] == "1048576" ? "4096" : "8",
                "--dbsize" => words[index] == "1048576" ? "4096" : "1024",
                "--keylength" => "8",
                "--runtime" or "-s" => "1",
                "-n" => grammar == "redis-benchmark" ? "200" : "2000",
                "-c" when grammar == "redis-benchmark" => "10",
                "-c" => "8",
                _ => words[index].Replace("d8f2fad9f8e86a53d2a6ebd960b33c4972cacc37", sha),
            });
        }

        if (grammar == "garnet" && !words.Contains("--runtime")) small.AddRange(["--runtime", "1"]);
        if (grammar == "redis-benchmark" && !words.Contains("-n")) small.AddRange(["-n", "200"]);
        if (grammar == "redis-benchmark") small.AddRange(["-p", $"{_server.Port}"]);
        // Automatic connections take seconds to find; a test of their own looks at them.
        if (grammar == "resp-benchmark" && !words.Contains("-c") && words is not ["--help"])
            small.AddRange(["-c", "4"]);
        return [.. small];
    }

    private string LoadScript()
    {
        using var client = _server.Connect();
        return client.Command(["SCRIPT"u8.ToArray(), "LOAD"u8.ToArray(),
            "return redis.call('SET', KEYS[1], ARGV[1])"u8.ToArray()]).String;
    }
}

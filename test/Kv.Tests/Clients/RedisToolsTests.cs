using System.Diagnostics;
using System.Globalization;
using System.Text;
using System.Text.RegularExpressions;
using Kv.Tests.Harness;

namespace Kv.Tests.Clients;

/// <summary>redis-cli in every mode of the stage, and redis-benchmark, as people run them.</summary>
public class RedisToolsTests
{
    [Fact]
    public void RedisCli_runs_single_commands_in_every_output_form()
    {
        using var borrowed = SharedServers.Kv();
        var server = borrowed.Server;
        Assert.Equal("OK\n", Cli(server, "SET", "k", "v 1"));
        Assert.Equal("v 1\n", Cli(server, "GET", "k"));
        Assert.Equal("\"v 1\"\n", Cli(server, "--csv", "GET", "k"));
        Assert.Equal("\"v 1\"\n", Cli(server, "--json", "GET", "k"));
        Assert.Contains("\"maxmemory-policy\":\"noeviction\"", Cli(server, "--json", "CONFIG", "GET", "maxmemory-p*"),
            StringComparison.Ordinal);
        Assert.Equal("v 1\n", Cli(server, "-3", "GET", "k"));
        Assert.Equal("\n", Cli(server, "-n", "3", "GET", "k"));
        Assert.Equal("PONG\nPONG\nPONG\n", Cli(server, "-r", "3", "PING"));
        Assert.Equal("OK\n",
            Output(ChildProcess.Run(Requires.Tool("redis-cli"), [.. Address(server), "-x", "SET", "in"],
            "from stdin"u8.ToArray())));
        Assert.Equal("from stdin\n", Cli(server, "GET", "in"));
        Assert.Contains("ERR unknown command", Cli(server, "NOSUCH"), StringComparison.Ordinal);
    }

    // On a terminal: the prompt says that a transaction is open.
    [Fact]
    public void RedisCli_shows_an_open_transaction_in_its_prompt()
    {
        using var borrowed = SharedServers.Kv();
        string command = $"TERM=dumb {Requires.Tool("redis-cli")} {string.Join(' ', Address(borrowed.Server))}";
        string screen = ChildProcess.Run(Requires.Tool("script"), ["-qec", command, "/dev/null"],
            "MULTI\nSET k v\nGET k\nEXEC\nMULTI\nDISCARD\nQUIT\n"u8.ToArray()).Output;
        Assert.Contains("(TX)> ", screen, StringComparison.Ordinal);
        Assert.Contains("QUEUED", screen, StringComparison.Ordinal);
        Assert.Contains("2) \"v\"", screen, StringComparison.Ordinal);
        string last = screen[screen.LastIndexOf("127.0.0.1:", StringComparison.Ordinal)..];
        Assert.DoesNotContain("(TX)", last, StringComparison.Ordinal);
    }

    [Fact]
    public void RedisCli_scan_lists_every_key_that_matches()
    {
        using var borrowed = SharedServers.Kv();
        Fill(borrowed.Server, 3000);
        string[] keys = Cli(borrowed.Server, "--scan", "--pattern", "key:1*")
            .Split('\n', StringSplitOptions.RemoveEmptyEntries);
        Assert.Equal(1111, keys.Distinct().Count());
        Assert.Equal(3000, Cli(borrowed.Server, "--scan").Split('\n', StringSplitOptions.RemoveEmptyEntries)
            .Distinct().Count());
    }

    [Fact]
    public void RedisCli_bigkeys_finds_the_biggest()
    {
        using var borrowed = SharedServers.Kv();
        Fill(borrowed.Server, 1000);
        using (var client = borrowed.Server.Connect())
            client.Command("SET"u8.ToArray(), "giant"u8.ToArray(), new byte[200_000]);
        string report = Cli(borrowed.Server, "--bigkeys");
        Assert.Contains("Biggest string found '\"giant\"' has 200000 bytes", report, StringComparison.Ordinal);
        Assert.Contains("Sampled 1001 keys in the keyspace!", report, StringComparison.Ordinal);
        using (var client = borrowed.Server.Connect())
        {
            client.Ok("HSET hash a 1 b 2 c 3");
            client.Ok("SADD set a b");
            client.Ok("RPUSH list a b c d");
            client.Ok("ZADD zset 1 a");
        }

        report = Cli(borrowed.Server, "--bigkeys");
        foreach (string line in (string[])["1 lists with 4 items", "1 hashs with 3 fields", "1 sets with 2 members",
            "1 zsets with 1 members"])
            Assert.Contains(line, report, StringComparison.Ordinal);
    }

    [Fact]
    public void RedisCli_memkeys_asks_MEMORY_USAGE_of_every_key()
    {
        using var borrowed = SharedServers.Kv();
        Fill(borrowed.Server, 100);
        using (var client = borrowed.Server.Connect())
            client.Command("SET"u8.ToArray(), "giant"u8.ToArray(), new byte[200_000]);
        Assert.Contains("Biggest string found '\"giant\"' has ", Cli(borrowed.Server, "--memkeys"),
            StringComparison.Ordinal);
    }

    [Theory, InlineData("noeviction"), InlineData("allkeys-lru"), InlineData("allkeys-lfu")]
    public void RedisCli_hotkeys_finds_what_is_used_often_whatever_the_policy(string policy)
    {
        using var kv = KvInstance.Start("--maxmemory-policy", policy);
        Fill(kv, 100);
        using (var client = kv.Connect())
        {
            client.Ok("SET often v");
            for (int i = 0; i < 5000; i++) client.Ok("GET often");
        }

        // The hottest one is the first of the summary.
        Assert.Matches("summary -+\\s+Sampled [0-9]+ keys in the keyspace!\\s+hot key found with counter: [0-9]+\\t"
            + "keyname: \"often\"", Cli(kv, "--hotkeys"));
    }

    [Fact]
    public void RedisCli_pipe_loads_raw_protocol_and_counts_the_replies()
    {
        using var borrowed = SharedServers.Kv();
        int count = TimeBudget.Count(20_000);
        var wire = new MemoryStream();
        for (int i = 0; i < count; i++) wire.Write(RespText.Encode($"SET pipe:{i} value:{i}"));
        wire.Write(RespText.Encode("NOSUCH"));
        var result = ChildProcess.Run(Requires.Tool("redis-cli"), [.. Address(borrowed.Server), "--pipe"],
            wire.ToArray());
        Assert.Contains($"errors: 1, replies: {count + 1}", result.Output + result.Errors, StringComparison.Ordinal);
        using var client = borrowed.Server.Connect();
        Assert.Equal(count, client.Ok("DBSIZE").Integer);
        Assert.Equal($"\"value:{count - 1}\"", client.Command($"GET pipe:{count - 1}").ToString());
    }

    [Fact]
    public void RedisCli_latency_and_stat_report()
    {
        using var borrowed = SharedServers.Kv();
        // Not on a terminal, --latency runs a second and prints "min max avg count".
        string[] latency = Cli(borrowed.Server, "--latency", "--raw").Split(' ');
        Assert.Equal(4, latency.Length);
        Assert.True(int.Parse(latency[3], CultureInfo.InvariantCulture) > 0);

        // It goes on for ever: until the line that is looked for is there.
        var start = new ProcessStartInfo("stdbuf",
            ["-oL", Requires.Tool("redis-cli"), .. Address(borrowed.Server), "--stat", "-i", "0.1"]) {
            RedirectStandardOutput = true };
        using Process stat = Process.Start(start)!;
        using var watchdog = new Timer(_ => stat.Kill(), null, 60_000, Timeout.Infinite);
        var lines = new List<string>();
        while (stat.StandardOutput.ReadLine() is { } line)
        {
            lines.Add(line);
            if (Regex.IsMatch(line, @"^0 +\d+\.\d+[KMG] +\d+ +0 +\d+ \(\+\d+\) +\d+")) break;
        }

        stat.Kill();
        Assert.StartsWith("------- data ------", lines[0], StringComparison.Ordinal);
        Assert.True(lines.Count > 2 && lines[^1][0] == '0', string.Join('\n', lines));
    }

    [Fact]
    public void RedisCli_interactive_reads_commands_from_its_input()
    {
        using var borrowed = SharedServers.Kv();
        var result = ChildProcess.Run(Requires.Tool("redis-cli"), Address(borrowed.Server),
            "SET a 1\nINCR a\nGET missing\n"u8.ToArray());
        Assert.Equal("OK\n2\n\n", result.Output);
    }

    [Fact]
    public void RedisBenchmark_finishes_every_test()
    {
        using var borrowed = SharedServers.Kv();
        string count = TimeBudget.Count(100_000).ToString(CultureInfo.InvariantCulture);
        var result = ChildProcess.Run(Requires.Tool("redis-benchmark"),
            [.. Address(borrowed.Server), "-q", "-t",
                "ping,set,get,incr,mset,zadd,zpopmin,lpush,rpush,lpop,rpop,sadd,hset,spop", "-P", "16", "-c", "50",
                "-r", "100000", "-n", count], timeoutMs: 240_000);
        Assert.Equal(0, result.ExitCode);
        Assert.Equal("", result.Errors);
        foreach (string test in (string[])["PING_INLINE", "PING_MBULK", "SET", "GET", "INCR", "MSET (10 keys)", "ZADD",
            "ZPOPMIN", "LPUSH", "RPUSH", "LPOP", "RPOP", "SADD", "HSET", "SPOP"])
            Assert.Matches($@"{Regex.Escape(test)}: [\d.]+ requests per second", result.Output);
        using var client = borrowed.Server.Connect();
        // 3 x 100,000 draws (SET once, INCR the counters, MSET ten a call) of 100,000 names leave almost all of them.
        Assert.InRange(client.Ok("DBSIZE").Integer, 60_000, 200_000);
    }

    [Fact]
    public void RedisBenchmark_finishes_its_ranges_of_a_list()
    {
        using var borrowed = SharedServers.Kv();
        var result = ChildProcess.Run(Requires.Tool("redis-benchmark"),
            [.. Address(borrowed.Server), "-q", "-t", "lrange", "-n", "5000"], timeoutMs: 240_000);
        Assert.Equal("", result.Errors);
        foreach (string test in (string[])["LRANGE_100 (first 100 elements)", "LRANGE_300 (first 300 elements)",
            "LRANGE_500 (first 500 elements)", "LRANGE_600 (first 600 elements)"])
            Assert.Matches($@"{Regex.Escape(test)}: [\d.]+ requests per second", result.Output);
    }

    private static void Fill(TestServer server, int count)
    {
        using var client = server.Connect();
        var wire = new StringBuilder();
        for (int i = 0; i < count; i++) wire.Append(CultureInfo.InvariantCulture, $"SET key:{i} value\r\n");
        client.Send(Encoding.ASCII.GetBytes(wire.ToString()));
        client.Skip(5L * count);
    }

    private static string Cli(TestServer server, params string[] arguments) =>
        Output(ChildProcess.Run(Requires.Tool("redis-cli"), [.. Address(server), .. arguments]));

    private static string Output(ChildResult result)
    {
        Assert.Equal("", result.Errors);
        return result.Output;
    }

    private static string[] Address(TestServer server) =>
        ["-h", server.Host, "-p", server.Port.ToString(CultureInfo.InvariantCulture)];
}

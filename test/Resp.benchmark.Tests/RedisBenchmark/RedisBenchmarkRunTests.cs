using Kv.Tests.Harness;
using RespBenchmark.CommandLine;

namespace RespBenchmark.Tests.RedisBenchmark;

public sealed class RedisBenchmarkRunTests : IDisposable
{
    private readonly RedisServer _server = RedisServer.Start();

    [Theory]
    [InlineData("redis-benchmark-7.0-q.txt", "-q -n 200 -c 5")]
    [InlineData("redis-benchmark-7.0-default.txt", "-t set,get -d 2 -n 500 -c 5")]
    [InlineData("redis-benchmark-7.0-csv.txt",
        "-t set,get,rpush,lpop,lrange,hset -n 200 -r 1000 -c 5 --threads 2 --csv")]
    [InlineData("redis-benchmark-7.0-custom.txt", "-q -n 200 -c 5 -r 100 HSET h __rand_int__ v")]
    public void What_it_prints_is_the_original_s_but_for_the_numbers(string golden, string line)
    {
        var run = Run(line);
        Assert.Equal(ExitCode.Ok, run.ExitCode);
        Assert.Equal(MaskedText.Of(Goldens.Read(golden)), MaskedText.Of(run.Output));
    }

    [Fact]
    public void The_first_line_drawn_is_that_of_a_test_that_has_not_begun() =>
        Assert.StartsWith(" \rPING_INLINE: rps=", Run("-q -n 50 -c 2 -t ping").Output);

    [Fact]
    public void Exactly_the_requests_asked_for_are_made()
    {
        var run = Run("-t incr -n 1003 -c 7 -P 16");
        Assert.Contains("  1003 requests completed in ", run.Output);
        using var client = _server.Connect();
        Assert.Equal("1003", client.Command("GET counter:__rand_int__").ToString().Trim('"'));
    }

    [Fact]
    public void Each_request_may_have_a_connection_of_its_own()
    {
        using var client = _server.Connect();
        long before = Connections(client);
        var run = Run("-t get -n 50 -c 3 -k 0");
        Assert.Contains("  keep alive: 0\n", run.Output);
        Assert.True(Connections(client) - before >= 50, run.Output);
    }

    [Fact]
    public void An_error_reply_ends_it()
    {
        var run = Run("-n 100 -c 2 -q LPUSH");
        Assert.Equal(ExitCode.RunError, run.ExitCode);
        Assert.Contains("Error from server: ERR wrong number of arguments for 'lpush' command\n", run.Errors);
        Assert.DoesNotContain("requests per second", run.Output);
    }

    [Fact]
    public void A_server_that_is_not_there_is_named()
    {
        int port = ServerProgram.FreePort();
        var run = ProgramRun.As("redis-benchmark", ["-p", $"{port}", "-q", "-t", "get"]);
        Assert.Equal(ExitCode.RunError, run.ExitCode);
        Assert.Contains($"Could not connect to Redis at 127.0.0.1:{port}: Connection refused", run.Errors);
    }

    [Fact]
    public void The_last_argument_can_come_from_stdin()
    {
        var run = ProgramRun.As("redis-benchmark",
            ["-p", $"{_server.Port}", "-n", "1", "-c", "1", "-q", "-x", "SET", "k"], "a b");
        Assert.Contains("SET k a b: ", run.Output);
        using var client = _server.Connect();
        Assert.Equal("\"a b\"", client.Command("GET k").ToString());
    }

    [Fact]
    public void A_custom_command_s_payload_is_its_bytes_on_the_wire() =>
        Assert.Contains("  45 bytes payload\n", Run("-n 10 -c 1 SET foo:__rand_int__ bar").Output);

    [Fact]
    public void The_form_of_redis_3_has_its_tests_and_titles()
    {
        var run = Run("-q -n 50 -c 2 --rb-format legacy --progress off");
        Assert.Equal("""
            PING_INLINE: # requests per second
            PING_BULK: # requests per second
            SET: # requests per second
            GET: # requests per second
            INCR: # requests per second
            LPUSH: # requests per second
            LPOP: # requests per second
            SADD: # requests per second
            SPOP: # requests per second
            LPUSH (needed to benchmark LRANGE): # requests per second
            LRANGE_# (first # elements): # requests per second
            MSET (# keys): # requests per second


            """, MaskedText.Of(run.Output));
    }

    [Fact]
    public void The_form_of_redis_8_ends_with_streams() =>
        Assert.Contains("XADD: ", Run("-q -n 20 -c 2 --rb-format 8").Output);

    [Fact]
    public void A_signal_ends_a_loop_and_what_was_measured_is_printed()
    {
        var run = ProgramRun.InterruptedAt("GET: rps=", "redis-benchmark", "-p", $"{_server.Port}", "-q", "-l", "-t",
            "get", "-n", "1000000000");
        Assert.Contains(" requests per second, p50=", run.Output);
    }

    [Fact]
    public void Idle_connections_are_held_until_a_signal()
    {
        using var interrupt = new Interrupt();
        interrupt.Raise();
        var run = ProgramRun.With("redis-benchmark", ["-p", $"{_server.Port}", "-I", "-c", "3"], interrupt);
        Assert.Equal(ExitCode.Ok, run.ExitCode);
        Assert.Contains("clients: 3\r", run.Output);
    }

    [Fact]
    public void What_cannot_be_read_is_answered_with_the_help()
    {
        var run = Run("-Z");
        Assert.Equal(ExitCode.RunError, run.ExitCode);
        Assert.StartsWith(
            "Invalid option \"-Z\" or option argument missing\n\nResp.benchmark in the grammar of redis-benchmark",
            run.Output);
        Assert.Equal("redis-benchmark 7.0.15 (Resp.benchmark 0.1.0)\n", Run("--version").Output);
    }

    public void Dispose() => _server.Dispose();

    private ProgramRun Run(string line) =>
        ProgramRun.As("redis-benchmark", ["-p", $"{_server.Port}", .. line.Split(' ')]);

    private static long Connections(RespClient client)
    {
        string info = client.Command("INFO stats").ToString();
        string[] words = info.Split("total_connections_received:");
        return long.Parse(words[1].TakeWhile(char.IsAsciiDigit).ToArray());
    }
}

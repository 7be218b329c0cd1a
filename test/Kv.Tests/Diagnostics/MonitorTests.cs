using System.Text.RegularExpressions;
using Kv.Server.Diagnostics;
using Kv.Tests.Harness;

namespace Kv.Tests.Diagnostics;

/// <summary>What MONITOR shows, and to whom: as the reference, whose lines of the same conversation are
/// compared.</summary>
public sealed partial class MonitorTests
{
    private const string Last = "the end";

    private static readonly string Large = new('y', 100_000);

    public static TheoryData<string, string[]> Conversations => new()
    {
        { "plain", ["SET k v", "get K", "INCR n", "LPUSH l a b c", "LRANGE l 0 -1", "PING", "PING x", "ECHO \"a b\""] },
        { "wrong", ["FOO bar", "GET", "SET k v", "LPUSH k v", "SET k v nonsense", "CLIENT NOTHING", "CLIENT ID x",
            "CLIENT ID", "OBJECT", "OBJECT HELP", "SELECT 99", "EXEC", "DISCARD", "UNSUBSCRIBE"] },
        { "text", ["SET \"a\\\"b\\\\c\" \"\\n\\r\\t\\a\\b\\x00\\x1f\\x7f\\xff\\xc3\\xa4 '\"", "ECHO \"\"",
            "ECHO 0123", "ECHO 12", "ECHO -7", "ECHO \"[0 lua]\""] },
        { "databases", ["SELECT 3", "SET a 1", "select 0", "MOVE a 3", "SWAPDB 0 3", "SWAPDB 0 3"] },
        { "administration", ["CONFIG GET port", "CONFIG SET timeout 0", "CONFIG RESETSTAT", "SLOWLOG LEN", "ACL WHOAMI",
            "ACL SETUSER u >secret", "ACL DELUSER u", "CLIENT LIST", "CLIENT GETNAME", "CLIENT SETNAME me",
            "CLIENT KILL ID 999999999", "LATENCY LATEST", "MODULE LIST", "INFO server", "ROLE", "LASTSAVE", "DBSIZE",
            "COMMAND COUNT", "TIME", "WAIT 0 0", "CLUSTER INFO", "READONLY", "LOLWUT", "OBJECT FREQ nothing"] },
        { "as it was sent", ["SADD s a", "SPOP s", "SET k 1 EX 100", "EXPIRE k 100", "GETEX k PX 1000",
            "INCRBYFLOAT k 0.5", "SET k 2 PX 100000 NX", "GETDEL k", "RPUSH l a b", "LMPOP 1 l LEFT",
            "BLPOP l 0", "BLPOP l 0.01", "XADD x * a b", "RESTORE r 0 nonsense", "HINCRBYFLOAT h f 0.1",
            "EXPIREAT s 1", "UNLINK k l", "XREADGROUP GROUP g c BLOCK 1 STREAMS nothing >"] },
        { "transactions", ["MULTI", "set a 1", "GET a", "LPUSH a x", "exec", "MULTI", "SET a 2", "DISCARD", "WATCH a",
            "SET a 3", "MULTI", "GET a", "EXEC", "MULTI", "FOO", "EXEC", "MULTI", "BLPOP none 0", "SELECT 2", "GET a",
            "CLIENT ID", "CONFIG GET port", "EXEC", "SELECT 0", "WATCH a", "UNWATCH"] },
        { "scripts", ["SET s 1", "eval \"redis.call('SET', 's', ARGV[1]) return redis.call('get', 's')\" 0 2",
            "EVAL \"return redis.pcall('LPUSH', KEYS[1], 'x')\" 1 s", "EVAL \"return 1\" 0", "EVAL \"nonsense(\" 0",
            "EVAL \"return redis.call('nothing')\" 0", "EVALSHA ffffffffffffffffffffffffffffffffffffffff 0",
            "EVAL \"return 1\" nothing", "EVAL \"redis.call('SELECT', 4) return redis.call('GET', 'x')\" 0", "GET s",
            "EVAL_RO \"return redis.call('SET', 's', 1)\" 0", "MULTI",
            "EVAL \"return redis.call('GET', 's')\" 0", "EXEC",
            // Begins anew, without what it has changed, when it comes to a key that it has not named.
            "EVAL \"redis.call('GET', KEYS[1]) redis.call('GET', 'a') return redis.call('INCR', 'other')\" 1 s",
            "EVAL \"redis.call('GET', KEYS[1]) redis.call('GET', 'a') return redis.call('INCR', 'other')\" 1 s"] },
        { "functions", [
            "FUNCTION LOAD REPLACE \"#!lua name=mon\\nredis.register_function('f', function(k, a) return "
            + "redis.call('SET', k[1], a[1]) end)\"", "fcall f 1 k v", "FCALL f 0", "FCALL nothing 0",
            "FCALL_RO f 1 k v", "FUNCTION DELETE mon", "SCRIPT LOAD \"return 1\"", "SCRIPT EXISTS x"] },
        { "secrets", ["AUTH secret", "AUTH user secret", "HELLO 2 AUTH default secret SETNAME n", "HELLO 2 SETNAME n",
            "HELLO 2 AUTH user secret", "CONFIG SET requirepass \"\" timeout 0", "CONFIG SET masterauth secret",
            "CONFIG SET masterauth \"\"", "MIGRATE 127.0.0.1 1 k 0 100 COPY AUTH secret",
            "MIGRATE 127.0.0.1 1 k 0 100 COPY AUTH2 user secret"] },
        { "subscriptions", ["PUBLISH c m", "SUBSCRIBE c", "UNSUBSCRIBE c", "PUBSUB CHANNELS", "PSUBSCRIBE p*",
            "PUNSUBSCRIBE p*", "SPUBLISH c m"] },
        { "large", [$"SET k {Large}", "STRLEN k", $"APPEND k {Large}"] },
        { "connection", ["CLIENT REPLY ON", "RESET", "HELLO", "CLIENT NO-EVICT ON", "CLIENT TRACKINGINFO", "RESET"] },
    };

    [Theory, MemberData(nameof(Conversations))]
    public void The_lines_are_those_of_the_reference(string name, string[] lines)
    {
        Assert.NotEmpty(name);
        using var redis = SharedServers.Redis();
        string[] expected = LinesOf(redis.Server, lines);
        Assert.NotEmpty(expected);
        foreach (string transport in new[] { "epoll", "pipelines" })
        {
            // Memory that is given back is overwritten at once: a line made of it would show.
            using var kv = KvProcess.StartWith("MALLOC_PERTURB_", "165", "--transport", transport);
            Assert.Equal(expected, LinesOf(kv, lines));
            Assert.Equal(expected, LinesOf(kv, lines, isPipelined: true));
        }
    }

    [Fact]
    public void A_line_has_the_time_the_database_and_the_client()
    {
        using var kv = KvInstance.Start();
        using var watcher = Watch(kv);
        using var client = kv.Connect();
        long before = DateTimeOffset.UtcNow.ToUnixTimeSeconds();
        client.Ok("SELECT 7");
        var match = Regex.Match(watcher.Read().ToString(), @"^\+(\d+)\.\d{6} \[7 ([^\]]+)\] ""SELECT"" ""7""$");
        Assert.True(match.Success);
        Assert.InRange(long.Parse(match.Groups[1].Value), before, before + 60);
        Assert.Equal(client.Socket.LocalEndPoint!.ToString(), match.Groups[2].Value);
    }

    [Fact]
    public void Clients_of_a_unix_socket_have_its_path()
    {
        string path = Path.Combine(Path.GetTempPath(), $"kv-monitor-{Guid.NewGuid():N}.sock");
        using var kv = KvInstance.Start("--unixsocket", path);
        using var watcher = Watch(kv);
        using var client = new RespClient(new System.Net.Sockets.UnixDomainSocketEndPoint(path));
        client.Ok("ECHO a");
        Assert.EndsWith($" [0 unix:{path}] \"ECHO\" \"a\"", watcher.Read().ToString(), StringComparison.Ordinal);
    }

    [Fact]
    public void Passwords_are_hidden_also_where_the_command_is_wrong()
    {
        using var kv = KvInstance.Start();
        string[] lines = LinesOf(kv, ["AUTH a secret b", "HELLO 2 SETNAME n AUTH secret",
            "MIGRATE 127.0.0.1 1 k 0 100 AUTH2 secret secret", "CONFIG SET requirepass secret nothing secret",
            "ACL SETUSER u >secret", "ACL SETUSER u >secret nonsense", "MULTI", "AUTH secret", "EXEC",
            "COMMAND GETKEYS MIGRATE h 1 k 0 10 AUTH secret", "COMMAND GETKEYS AUTH secret",
            "COMMAND GETKEYSANDFLAGS MIGRATE h 1 \"\" 0 10 AUTH2 secret secret KEYS k"]);
        Assert.Contains("[0 client] \"COMMAND\" \"GETKEYS\" \"MIGRATE\" \"h\" \"1\" \"k\" \"0\" \"10\" \"AUTH\" "
            + "\"(redacted)\"", lines);
        Assert.Contains("[0 client] \"AUTH\" \"(redacted)\" \"(redacted)\" \"(redacted)\"", lines);
        Assert.DoesNotContain(lines, line => line.Contains("secret", StringComparison.Ordinal));
    }

    [Theory, MemberData(nameof(Network.Transports.Both), MemberType = typeof(Network.Transports))]
    public void All_who_watch_see_each_client_s_commands_in_their_order_in_one_order_and_none_is_missing(
        string transport)
    {
        const int clients = 6, each = 1500;
        using var kv = KvInstance.Start("--transport", transport, "--worker-threads", "3");
        using var first = Watch(kv);
        using var second = Watch(kv);
        var senders = Enumerable.Range(0, clients).Select(_ => kv.Connect()).ToArray();
        Parallel.For(0, clients, i =>
        {
            for (int at = 0; at < each; at += 100)
            {
                senders[i].Send([.. Enumerable.Range(at, 100).SelectMany(n => RespText.Encode($"SET key:{i} {n}"))]);
                for (int n = 0; n < 100; n++) senders[i].Read();
            }
        });
        var next = new int[clients];
        for (int i = 0; i < clients * each; i++)
        {
            string line = first.Read().ToString();
            Assert.Equal(line, second.Read().ToString());
            var match = Regex.Match(line, @"""key:(\d+)"" ""(\d+)""$");
            Assert.Equal(next[int.Parse(match.Groups[1].Value)]++, int.Parse(match.Groups[2].Value));
        }

        Assert.Equal(Enumerable.Repeat(each, clients), next);
        foreach (var sender in senders) sender.Dispose();
    }

    [Fact]
    public void The_commands_of_a_long_EXEC_come_before_it()
    {
        string[] commands = [.. Enumerable.Range(0, 6000).Select(i => $"SET k{i} v"), "KEYS *", "RPUSH l 1"];
        using var kv = KvInstance.Start();
        Assert.Equal(["MULTI", .. commands, "EXEC"],
            LinesOf(kv, ["MULTI", .. commands, "EXEC"]).Select(line => line.Replace("[0 client] ", "")
                .Replace("\"", "")));
    }

    [Fact]
    public void A_command_in_steps_is_one_line()
    {
        string keys = string.Join(' ', Enumerable.Range(0, 5000));
        using var kv = KvInstance.Start();
        Assert.Equal(["MSET", "KEYS", "DEL", "SUNION", "RPUSH", "LRANGE"],
            LinesOf(kv, [$"MSET {string.Join(' ', Enumerable.Range(0, 9000).Select(i => $"{i} v"))}", "KEYS *",
                $"DEL {keys}", $"SUNION {keys.Replace(' ', 'x')} {keys}",
                $"RPUSH list {keys}", "LRANGE list 0 -1"]).Select(line => line.Split('"')[1]));
    }

    [Fact]
    public void Of_arguments_of_more_than_a_megabyte_the_rest_is_counted()
    {
        using var kv = KvInstance.Start();
        string line = LinesOf(kv, [$"SET key \"x\"*{3 << 20}", "PING"])[0];
        Assert.EndsWith("xxx\"... (2097167 more bytes)", line, StringComparison.Ordinal);
        Assert.InRange(line.Length, MonitorLine.ArgumentBytesMax, MonitorLine.ArgumentBytesMax + 200);
    }

    [Theory, MemberData(nameof(Network.Transports.Both), MemberType = typeof(Network.Transports))]
    public void Who_does_not_read_is_closed_at_the_limit_of_messages_and_nobody_else_notices(string transport)
    {
        using var kv = KvInstance.Start("--transport", transport, "--client-output-buffer-limit", "pubsub 4mb 0 0");
        using var reading = Watch(kv);
        using var silent = Watch(kv);
        using var client = kv.Connect();
        int sent = 0;
        Eventually.Holds(() =>
        {
            client.Ok($"SET k{sent} \"x\"*100000");
            Assert.Contains($"\"k{sent++}\"", reading.Read().ToString(), StringComparison.Ordinal);
            return Watchers(client, reading) == 1;
        }, () => $"after {sent} lines of 100 KB it is there still");
        Assert.Equal(1, int.Parse(client.Info("client_output_buffer_limit_disconnections")));
    }

    [Theory, MemberData(nameof(Network.Transports.Both), MemberType = typeof(Network.Transports))]
    public void When_nobody_watches_any_more_commands_run_as_before(string transport)
    {
        using var kv = KvInstance.Start("--transport", transport);
        var before = kv.Server.Timing.Detail;
        using var resetting = Watch(kv);
        using var quitting = Watch(kv);
        var leaving = Watch(kv);
        using var client = kv.Connect();
        Assert.Equal(TimingDetail.Everything, kv.Server.Timing.Detail);
        client.Ok("CONFIG SET slowlog-log-slower-than 12345");
        Assert.Equal(TimingDetail.Everything, kv.Server.Timing.Detail);
        resetting.Ok("RESET");
        quitting.Ok("QUIT");
        Assert.True(kv.Server.Timing.ShowsAll);
        leaving.Dispose();
        Eventually.Holds(() => !kv.Server.Timing.ShowsAll, () => "somebody is thought to watch");
        Assert.Equal(TimingDetail.Unbounded, kv.Server.Timing.Detail);
        Assert.NotEqual(TimingDetail.Everything, before);
        client.Ok("PING");
        Assert.False(resetting.HasInput);
        Eventually.Holds(() => kv.Server.PubSub.MessageBytes == 0, () => "lines of messages are left");
    }

    [Fact]
    public void Who_may_no_longer_watch_is_closed()
    {
        using var kv = KvInstance.Start();
        using var admin = kv.Connect();
        admin.Ok("ACL SETUSER u on nopass allkeys allchannels +@all");
        using var watcher = kv.Connect();
        watcher.Ok("AUTH u x");
        watcher.Ok("MONITOR");
        admin.Ok("ACL SETUSER u -get");
        admin.Ok("PING");
        Assert.EndsWith("\"PING\"", watcher.Read().ToString(), StringComparison.Ordinal);
        admin.Ok("ACL SETUSER u -monitor");
        Eventually.Holds(() => !kv.Server.Timing.ShowsAll, () => "it watches still");
        Assert.True(watcher.IsClosedByServer());
    }

    private static RespClient Watch(TestServer server)
    {
        var client = server.Connect();
        client.Ok("MONITOR");
        return client;
    }

    /// <summary>How many clients watch. CLIENT LIST is not shown to them.</summary>
    private static int Watchers(RespClient client, RespClient reading)
    {
        Assert.False(reading.HasInput);
        return client.Ok("CLIENT LIST").String.Split('\n')
            .Count(line => line.Contains(" flags=O ", StringComparison.Ordinal));
    }

    private static string[] LinesOf(TestServer server, string[] lines, bool isPipelined = false)
    {
        using var client = server.Connect();
        client.Ok("FLUSHALL");
        using var watcher = Watch(server);
        if (isPipelined) client.Send([.. lines.SelectMany(line => RespText.Encode(line))]);
        foreach (string line in lines)
        {
            if (!isPipelined) client.Send(line);
            client.Read();
        }

        client.Send($"ECHO \"{Last}\"");
        var shown = new List<string>();
        // Ends: at the line of the last command, or in time.
        for (string line = watcher.Read().ToString(); !line.Contains($"\"{Last}\"", StringComparison.Ordinal);
            line = watcher.Read().ToString())
            shown.Add(Head().Replace(line, match =>
                $"[{match.Groups[1].Value} {(match.Groups[2].Value == "lua" ? "lua" : "client")}]"));
        return [.. shown];
    }

    [GeneratedRegex(@"^\+\d+\.\d{6} \[(\d+) (lua|[\d.]+:\d+)\]")]
    private static partial Regex Head();
}

using System.Diagnostics;
using Kv.Tests.Harness;

namespace Kv.Tests.Diagnostics;

/// <summary>Which commands the slow log has, and what it shows of them: as the reference, whose log of the same
/// conversation is compared entry by entry.</summary>
public sealed class SlowCommandTests
{
    private static readonly string Long = new('x', 1000);

    public static TheoryData<string, string[]> Conversations => new()
    {
        { "plain", ["CLIENT SETNAME bob", "SET k v", "get K", "CLIENT SETNAME", "INCR n", "LPUSH l a b c",
            "LRANGE l 0 -1"] },
        { "wrong", ["FOO bar", "GET", "SET k v", "LPUSH k v", "CLIENT NOTHING", "CONFIG SET timeout x"] },
        { "long", [$"SET k {Long[..128]}", $"SET k {Long[..129]}", $"SET {Long} {Long}",
            $"DEL {string.Join(' ', Enumerable.Range(0, 31))}", $"DEL {string.Join(' ', Enumerable.Range(0, 32))}",
            $"DEL {string.Join(' ', Enumerable.Range(0, 100))}"] },
        { "large", [$"SET k {new string('y', 100_000)}", "STRLEN k", $"APPEND k {new string('z', 100_000)}"] },
        { "exec", ["CLIENT SETNAME tx", "MULTI", "SET a 1", "GET a", "KEYS *", "EXEC", "MULTI", "SET a 2", "DISCARD",
            "WATCH a", "SET a 3", "MULTI", "GET a", "EXEC", "MULTI", "FOO", "EXEC"] },
        // What is shared is copied in steps.
        { "exec in steps", [$"SETRANGE text 30000000 {Long}", "COPY text shared", "MULTI",
            $"APPEND text {Long}{Long}", $"GETBIT text 7",
            $"SADD big {string.Join(' ', Enumerable.Range(0, 20_000))}", "EXEC"] },
        { "script", ["SET s 1", "EVAL \"redis.call('SET', 's', ARGV[1]) return redis.call('GET', 's')\" 0 2",
            "EVAL \"return redis.pcall('LPUSH', KEYS[1], 'x')\" 1 s", "EVAL \"return 1\" 0", "EVAL \"nonsense(\" 0",
            "MULTI", "EVAL \"return redis.call('GET', 's')\" 0", "EXEC"] },
        { "secrets", ["AUTH secret", "AUTH user secret", "HELLO 2 AUTH default secret SETNAME n", "HELLO 2 SETNAME n",
            "CONFIG SET requirepass \"\" timeout 0", "CONFIG SET MASTERAUTH secret", "CONFIG SET masterauth \"\"",
            "CONFIG GET requirepass", "ACL SETUSER u on >secret", "ACL GETUSER u", "ACL DELUSER u"] },
    };

    [Theory, MemberData(nameof(Conversations))]
    public void The_log_is_that_of_the_reference(string name, string[] lines)
    {
        Assert.NotEmpty(name);
        using var redis = SharedServers.Redis();
        var expected = EntriesOf(redis.Server, lines);
        foreach (string transport in new[] { "epoll", "pipelines" })
        {
            // Memory that is given back is overwritten at once: an entry made of it would show.
            using var kv = KvProcess.StartWith("MALLOC_PERTURB_", "165", "--transport", transport);
            Assert.Equal(expected, EntriesOf(kv, lines));
            Assert.Equal(expected, EntriesOf(kv, lines, isPipelined: true));
        }
    }

    [Fact]
    public void Secrets_are_hidden_also_where_the_command_is_wrong()
    {
        using var kv = KvInstance.Start();
        string[] entries = EntriesOf(kv, ["AUTH a secret b", "HELLO 2 SETNAME n AUTH secret",
            "MIGRATE 127.0.0.1 1 k 0 100 COPY AUTH secret", "MIGRATE 127.0.0.1 1 k 0 100 AUTH2 secret secret",
            "CONFIG SET requirepass my secret", "CONFIG SET timeout masterauth secret",
            "CONFIG SET masteruser secret", "CONFIG SET requirepass secret nothing secret"]);
        Assert.All(entries[..^1], entry => Assert.DoesNotContain("secret", entry, StringComparison.Ordinal));
        Assert.Equal(8, entries.Length);
    }

    // The reference shows these.
    [Fact]
    public void Secrets_are_hidden_also_where_a_name_is_misspelt_and_in_calls_that_are_arguments()
    {
        using var kv = KvInstance.Start();
        string[] lines = ["CONFIG SET REQUIREPAS secret", "CONFIG SET timeout 0 REQUIREPAS secret",
            "CONFIG SET requirepas my secret", "CONFIG SET timeout 0 requirepas my secret",
            "ACL DRYRUN default AUTH secret", "ACL DRYRUN default auth default secret",
            "ACL DRYRUN default auht secret", "ACL DRYRUN default HELLO 3 AUTH default secret",
            "ACL DRYRUN default CONFIG SET requirepass secret", "ACL DRYRUN default CONFIG STE requirepass secret",
            "ACL DRYRUN default ACL SETUSER u >secret", "ACL DRYRUN default ACL DRYRUN default AUTH secret",
            "ACL DRYRUN default COMMAND GETKEYS AUTH secret", "COMMAND GETKEYS AUTH secret", "COMMAND GETKEYS ACL",
            "COMMAND GETKEYSANDFLAGS MIGRATE h 1 k 0 10 AUTH2 secret secret"];
        string[] entries = EntriesOf(kv, lines);
        Assert.Equal(lines.Length, entries.Length);
        Assert.All(entries, entry => Assert.DoesNotContain("secret", entry, StringComparison.Ordinal));
        Assert.Equal("COMMAND GETKEYS SET k v", EntriesOf(kv, ["COMMAND GETKEYS SET k v"])[0].Split(" | ")[0]);
        Assert.Equal("CONFIG SET timeout 1 nothing (redacted)",
            EntriesOf(kv, ["CONFIG SET timeout 1 nothing 2"])[0].Split(" | ")[0]);
    }

    [Fact]
    public void Each_of_many_in_a_pipeline_is_there_with_its_own_arguments()
    {
        string[] lines = [.. Enumerable.Range(0, 1000).Select(i => i % 7 == 0 ? $"SET k{i} v" : $"GET k{i}")];
        using var kv = KvInstance.Start();
        Assert.Equal(lines, EntriesOf(kv, lines, isPipelined: true).Select(entry => entry.Split(" | ")[0]));
    }

    // By default most quick commands are not timed one by one.
    [Fact]
    public void A_slow_script_is_there_however_quick_those_before_it_were()
    {
        const string quick = "EVAL \"return 1\" 0",
            slow = "EVAL \"redis.call('SET', 'x', 1) local n = 0 for i = 1, 3000000 do n = n + i end return n\" 0";
        using var kv = KvInstance.Start();
        using var client = kv.Connect();
        for (int i = 0; i < 40; i++) client.Ok(quick);
        client.Ok("CONFIG SET slowlog-log-slower-than 5000 slowlog-max-len 1000");
        client.Ok("SLOWLOG RESET");
        for (int round = 0; round < 5; round++)
        {
            client.Ok(slow);
            for (int i = 0; i < 20; i++) client.Ok(quick);
        }

        Assert.Equal(5, Entries(client).Count(entry => entry.Contains("3000000", StringComparison.Ordinal)));
    }

    [Fact]
    public void A_long_command_in_steps_is_one_entry()
    {
        using var kv = KvInstance.Start();
        string[] entries = EntriesOf(kv,
            [$"MSET {string.Join(' ', Enumerable.Range(0, 9000).Select(i => $"{i} v"))}", "KEYS *",
            $"DEL {string.Join(' ', Enumerable.Range(0, 5000))}",
            $"MGET {string.Join(' ', Enumerable.Range(0, 5000))}",
            $"RPUSH list {string.Join(' ', Enumerable.Range(0, 9000))}", "LRANGE list 0 -1", "SORT list"]);
        Assert.Equal(["MSET", "KEYS", "DEL", "MGET", "RPUSH", "LRANGE", "SORT"],
            entries.Select(entry => entry.Split(' ')[0]));
        Assert.Contains("... (4970 more arguments)", entries[2], StringComparison.Ordinal);
    }

    [Fact]
    public void Commands_of_a_long_EXEC_are_entries_of_their_own()
    {
        string[] commands = [.. Enumerable.Range(0, 6000).Select(i => $"SET k{i} v"), "KEYS *", "RPUSH l 1"];
        using var kv = KvInstance.Start();
        Assert.Equal(["MULTI", .. commands], EntriesOf(kv, ["CLIENT SETNAME tx", "MULTI", .. commands, "EXEC"])[1..]
            .Select(entry => entry.Replace(" | tx 127.0.0.1", "", StringComparison.Ordinal)));
    }

    [Fact]
    public void A_client_that_waited_is_there_with_what_it_ran_and_only_if_it_was_served()
    {
        using var redis = SharedServers.Redis();
        using var kv = KvInstance.Start();
        foreach (TestServer server in new[] { redis.Server, kv })
        {
            using var waiting = server.Connect();
            using var other = server.Connect();
            Begin(other);
            long sent = Stopwatch.GetTimestamp();
            waiting.Send("BLPOP list 0");
            Eventually.Holds(() => other.Info("blocked_clients") == "1", () => "nobody waits");
            long waits = Stopwatch.GetTimestamp();
            Thread.Sleep(50);
            long served = Stopwatch.GetTimestamp();
            other.Ok("RPUSH list a");
            waiting.Read();
            long done = Stopwatch.GetTimestamp();
            waiting.Command("BLPOP none 0.05");
            var entries = End(other, out var all);
            Assert.Contains("BLPOP list 0 |  127.0.0.1", entries);
            Assert.DoesNotContain(entries, entry => entry.StartsWith("BLPOP none", StringComparison.Ordinal));
            var pop = all.Single(entry => entry.Items![3].Items![0].String == "BLPOP");
            // What it took: from when it was sent until it waited, and from when it was served until it was done.
            Assert.InRange(pop.Items![2].Integer, 0,
                (Stopwatch.GetElapsedTime(sent, waits) + Stopwatch.GetElapsedTime(served, done)).TotalMicroseconds);
        }
    }

    [Fact]
    public void What_the_log_and_those_who_wait_keep_is_charged()
    {
        using var kv = KvInstance.Start();
        using var client = kv.Connect();
        client.Ok("CONFIG SET slowlog-log-slower-than -1");
        long before = kv.Server.Store.UsedBytes;
        client.Ok("CONFIG SET slowlog-log-slower-than 0 slowlog-max-len 1000");
        for (int i = 0; i < 500; i++) client.Ok($"ECHO {Long}");
        Assert.True(kv.Server.Store.UsedBytes - before > 500 * 200, "the entries are not charged");
        client.Ok("CONFIG SET slowlog-log-slower-than 1000000000");
        client.Ok("SLOWLOG RESET");
        Assert.InRange(kv.Server.Store.UsedBytes - before, -20_000, 20_000);
    }

    [Fact]
    public void What_a_client_that_waits_keeps_is_charged_and_given_back_when_it_goes()
    {
        var (waitingOff, leftOff) = BytesOfWaiting(threshold: -1);
        var (waiting, left) = BytesOfWaiting(threshold: 0);
        Assert.InRange(waiting - waitingOff, 100, 1000);
        Assert.Equal(leftOff, left);
    }

    private static (long Waiting, long Left) BytesOfWaiting(long threshold)
    {
        using var rig = new Commands.WindowRig($"CONFIG SET slowlog-log-slower-than {threshold} slowlog-max-len 0",
            "BLPOP a b 0");
        long before = rig.UsedBytes;
        rig.Run();
        Assert.True(rig.IsInSteps, "it does not wait");
        long waiting = rig.UsedBytes - before;
        rig.End();
        return (waiting, rig.UsedBytes - before);
    }

    private static string[] EntriesOf(TestServer server, string[] lines, bool isPipelined = false)
    {
        using var client = server.Connect();
        Begin(client);
        if (isPipelined) client.Send([.. lines.SelectMany(line => RespText.Encode(line))]);
        foreach (string line in lines)
        {
            if (!isPipelined) client.Send(line);
            client.Read();
        }

        return End(client, out _);
    }

    private static void Begin(RespClient client)
    {
        client.Ok("FLUSHALL");
        client.Ok("CONFIG SET slowlog-log-slower-than 0 slowlog-max-len 100000");
        client.Ok("SLOWLOG RESET");
    }

    // Without those that begin and end, and INFO.
    private static string[] End(RespClient client, out IReadOnlyList<Reply> entries)
    {
        client.Ok("CONFIG SET slowlog-log-slower-than 1000000000");
        entries = client.Ok("SLOWLOG GET -1").Items!;
        string[] shown = Entries(client);
        client.Ok("CONFIG SET slowlog-log-slower-than 10000 slowlog-max-len 128");
        return [.. shown.Where(entry => !entry.StartsWith("SLOWLOG", StringComparison.Ordinal)
            && !entry.StartsWith("INFO", StringComparison.Ordinal))];
    }

    /// <summary>"arguments | name address", the oldest first.</summary>
    private static string[] Entries(RespClient client) =>
        [.. client.Ok("SLOWLOG GET -1").Items!.Reverse().Select(entry =>
        {
            var items = entry.Items!;
            Assert.Equal(6, items.Count);
            return $"{string.Join(' ', items[3].Items!.Select(word => word.String))} | {items[5].String} "
                + items[4].String.Split(':')[0];
        })];
}

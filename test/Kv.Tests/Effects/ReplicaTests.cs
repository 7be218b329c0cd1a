using System.Globalization;
using Kv.Tests.Harness;
using Kv.Tests.Network;

namespace Kv.Tests.Effects;

/// <summary>Replicas where something is unusual: the data is loaded anew, or has what they do not know; they are
/// silent; messages.</summary>
public sealed class ReplicaTests : IDisposable
{
    private readonly string _directory = Directory.CreateTempSubdirectory("kv-replicas-").FullName;

    public void Dispose() => Directory.Delete(_directory, recursive: true);

    [Fact]
    public void A_replica_stays_equal_while_the_data_is_loaded_anew()
    {
        using var kv = KvInstance.StartOnDisk(_directory, "--appendonly", "yes", "--appendfsync", "everysec",
            "--enable-debug-command", "yes");
        using var client = kv.Connect();
        client.Say("INCR a\nINCR a\nRPUSH l a b c\nHSET h f 1\nSELECT 2\nSADD s a b\nSELECT 0\nSET e 1 EX 10000");
        using var replica = Follower(kv);
        client.Say("INCR a\nXADD x 1-1 f v\nFUNCTION LOAD \"#!lua name=l\\nredis.register_function('f', "
            + "function() return 1 end)\"");
        client.Ok("DEBUG LOADAOF");
        Assert.Equal("3", client.Ok("GET a").String);
        client.Say("INCR a\nRPUSH l d\nSADD other 1");
        FeedState.AssertFollows(kv, replica, "LOADAOF");
        client.Ok("DEBUG RELOAD");
        client.Say("INCR a\nRPUSH l e");
        FeedState.AssertFollows(kv, replica, "RELOAD");
        client.Say("MULTI\nINCR a\nDEBUG LOADAOF\nINCR a\nEXEC");
        FeedState.AssertFollows(kv, replica, "LOADAOF in EXEC");
        Assert.Equal("7", client.Ok("GET a").String);
        Assert.Equal("1", client.Info("connected_slaves"));
        using var theirs = replica.Connect();
        Assert.Single(theirs.Ok("FUNCTION LIST").Items!);
        Assert.DoesNotContain("CRITICAL", replica.Log, StringComparison.Ordinal);
        // And the file has each of it once.
        client.Ok("DEBUG LOADAOF");
        Assert.Equal("7", client.Ok("GET a").String);
    }

    [Fact]
    public void A_replica_loses_what_had_expired_before_the_data_was_loaded_anew()
    {
        using var kv = KvInstance.StartOnDisk(_directory, "--appendonly", "yes", "--enable-debug-command", "yes");
        using var client = kv.Connect();
        client.Say("DEBUG SET-ACTIVE-EXPIRE 0\nSET short 1 PX 1\nSET long 1");
        using var replica = Follower(kv);
        client.Ok("DEBUG LOADAOF");
        client.Say("DEBUG SET-ACTIVE-EXPIRE 1");
        using var theirs = replica.Connect();
        Eventually.Holds(() => theirs.Ok("DBSIZE").Integer == 1, () => theirs.Ok("DBSIZE").ToString());
        FeedState.AssertFollows(kv, replica, "LOADAOF");
    }

    [Fact]
    public void A_replica_of_version_7_0_gets_hashes_without_the_times_of_their_fields()
    {
        using var kv = KvInstance.Start("--enable-debug-command", "yes");
        using var client = kv.Connect();
        client.Say("HSET small a 1 b 2\nHEXPIRE small 1000 FIELDS 1 a\nHSET plain a 1\nDEBUG SET-ACTIVE-EXPIRE 0");
        client.Ok("HSET large " + string.Join(' ', Enumerable.Range(0, 2000).Select(i => $"f{i} v{i}")));
        client.Ok("HPEXPIRE large 1 FIELDS 2 f0 f1");
        client.Ok("HEXPIRE large 1000 FIELDS 1 f2");
        using var replica = Follower(kv);
        using var theirs = replica.Connect();
        Assert.Equal(2, theirs.Ok("HLEN small").Integer);
        Assert.Equal("v2", theirs.Ok("HGET large f2").String);
        // A field whose time comes is deleted there, too.
        client.Ok("DEBUG SET-ACTIVE-EXPIRE 1");
        client.Ok("HPEXPIRE small 1 FIELDS 1 b");
        Eventually.Holds(() => theirs.Ok("HLEN small").Integer == 1 && theirs.Ok("HLEN large").Integer == 1998,
            () => $"{theirs.Ok("HLEN small")} {theirs.Ok("HLEN large")}");
        // Here they go on to expire.
        Assert.Equal(1, client.Ok("HTTL small FIELDS 1 a").Items![0].Integer > 0 ? 1 : 0);
    }

    [Fact]
    public void A_tool_and_a_replica_that_knows_of_them_get_the_times_of_fields()
    {
        using var kv = KvInstance.Start();
        using var client = kv.Connect();
        client.Say("HSET h a 1\nHEXPIRE h 1000 FIELDS 1 a");
        Assert.Equal("REDIS0012", HeadOf(kv, "SYNC"));
        Assert.Equal("REDIS0010", HeadOf(kv, "PSYNC ? -1"));
        Assert.Equal("REDIS0012", HeadOf(kv, "REPLCONF VERSION 7.4.1", "PSYNC ? -1"));
        Assert.Equal("REDIS0010", HeadOf(kv, "REPLCONF VERSION 7.2.5", "PSYNC ? -1"));
        Assert.Equal("REDIS0012", HeadOf(kv, "REPLCONF rdb-only 1", "PSYNC ? -1"));
        client.Ok("DEL h");
        Assert.Equal("REDIS0010", HeadOf(kv, "SYNC"));
    }

    [Fact]
    public void A_replica_that_is_silent_is_disconnected()
    {
        using var kv = KvInstance.Start("--repl-timeout", "1");
        using var client = kv.Connect();
        using var silent = kv.Connect();
        using var tool = kv.Connect();
        Sync(silent, "PSYNC ? -1");
        Sync(tool, "SYNC");
        Assert.Equal("2", client.Info("connected_slaves"));
        Eventually.Holds(() => client.Info("connected_slaves") == "1", () => client.Ok("INFO replication").String);
        while (!silent.IsClosedByServer()) silent.Skip(1);
        // Who asked with SYNC never says how far it is.
        client.Ok("CONFIG SET repl-timeout 100");
        using var another = kv.Connect();
        Sync(another, "PSYNC ? -1");
        Assert.Equal("2", client.Info("connected_slaves"));
    }

    [Fact]
    public void A_replica_that_does_not_read_its_snapshot_is_disconnected()
    {
        using var kv = KvInstance.Start("--repl-timeout", "1", "--rdbcompression", "no", "--enable-debug-command",
            "yes");
        using var client = kv.Connect();
        client.Ok("DEBUG POPULATE 80000 k 1000");
        using var lazy = kv.Connect();
        lazy.Socket.ReceiveBufferSize = 4096;
        lazy.Send("SYNC");
        Eventually.Holds(() => client.Info("connected_slaves") == "1", () => client.Ok("INFO replication").String);
        Eventually.Holds(() => client.Info("connected_slaves") == "0", () => client.Ok("INFO replication").String);
    }

    [Fact]
    public void A_replica_that_does_not_read_the_stream_is_closed_at_its_limit()
    {
        using var kv = KvInstance.Start("--client-output-buffer-limit", "replica 1mb 0 0", "--repl-backlog-size",
            "16kb");
        using var client = kv.Connect();
        using var lazy = kv.Connect();
        Sync(lazy, "PSYNC ? -1");
        long before = Held();
        string value = new('x', 10_000);
        Eventually.Holds(() =>
        {
            for (int i = 0; i < 100; i++) client.Ok($"SET a {value}");
            return client.Info("connected_slaves") == "0";
        }, () => client.Ok("INFO replication").String);
        Assert.NotEqual("0", client.Info("client_output_buffer_limit_disconnections"));
        Eventually.Holds(() => Held() < before + 500_000, () => client.Ok("INFO memory").String);

        // The feed keeps some memory for what is written next.
        long Held() => long.Parse(client.Info("used_memory"), CultureInfo.InvariantCulture)
            - long.Parse(client.Info("kv_mem_feed"), CultureInfo.InvariantCulture);
    }

    [Fact]
    public void What_several_replicas_have_not_read_is_held_once()
    {
        const int Replicas = 4, Writes = 2_000, ValueBytes = 10_000;
        using var kv = KvInstance.Start("--repl-backlog-size", "16kb");
        using var client = kv.Connect();
        var lazy = Enumerable.Range(0, Replicas).Select(_ => kv.Connect()).ToArray();
        foreach (var one in lazy)
        {
            one.Socket.ReceiveBufferSize = 64 * 1024;
            Sync(one, "SYNC");
        }

        string value = new('x', ValueBytes);
        for (int i = 0; i < Writes; i++) client.Ok($"SET a {value}");
        long written = (long)Writes * ValueBytes;
        // Some of it is on the way, in the buffers of the system.
        long held = FeedBytes();
        Assert.InRange(held, written / 2, 2 * written);
        Assert.InRange(long.Parse(client.Info("mem_clients_slaves"), CultureInfo.InvariantCulture), written / 2, held);
        // They get all of it, in order, and nothing stays.
        client.Ok("SET a last");
        foreach (var one in lazy)
        {
            // Ends: with what was written, or the client's time to wait.
            while (one.Read().Items![^1].String is var word && word != "last")
                Assert.True(word.Length < 10 || word == value, word);
        }

        Eventually.Holds(() => FeedBytes() < 4 << 20, () => client.Ok("INFO memory").String);
        foreach (var one in lazy) one.Dispose();

        long FeedBytes() => long.Parse(client.Info("kv_mem_feed"), CultureInfo.InvariantCulture);
    }

    // It has the end of its snapshot when all of that is to be sent.
    [Theory, MemberData(nameof(Transports.Both), MemberType = typeof(Transports))]
    public void What_was_written_since_its_snapshot_is_not_copied_for_a_replica(string transport)
    {
        const int Writes = 2_000, ValueBytes = 10_000;
        using var kv = KvInstance.Start("--transport", transport);
        using var client = kv.Connect();
        // More than the buffers of the system take.
        string big = new('x', 16 << 20);
        client.Ok("CONFIG SET rdbcompression no");
        client.Ok($"SET big {big}");
        using var replica = kv.Connect();
        replica.Socket.ReceiveBufferSize = 64 * 1024;
        replica.Send("SYNC");
        Eventually.Holds(() => client.Info("rdb_bgsave_in_progress") == "0" && FeedBytes() > 0, () => "no snapshot");
        string value = new('y', ValueBytes);
        for (int i = 0; i < Writes; i++) client.Ok($"SET a {value}");
        long written = (long)Writes * ValueBytes;
        Assert.InRange(FeedBytes(), written, written * 3 / 2);
        replica.ReadSnapshot();
        Eventually.Holds(() => client.Info("slave0").Contains("state=online", StringComparison.Ordinal),
            () => client.Info("slave0"));
        replica.Read();
        Assert.InRange(FeedBytes(), written / 2, written * 3 / 2);

        long FeedBytes() => long.Parse(client.Info("kv_mem_feed"), CultureInfo.InvariantCulture);
    }

    [Fact]
    public void What_is_published_reaches_subscribers_of_a_replica_in_its_place()
    {
        using var kv = KvInstance.StartOnDisk(_directory, "--appendonly", "yes", "--appendfsync", "everysec",
            "--enable-debug-command", "yes");
        using var client = kv.Connect();
        using var replica = Follower(kv);
        using var subscriber = replica.Connect();
        subscriber.Say("SUBSCRIBE c d");
        subscriber.Read();
        using var sharded = replica.Connect();
        sharded.Ok("SSUBSCRIBE s");
        client.Say("SET a 1\nPUBLISH c one\nSPUBLISH s two\nMULTI\nPUBLISH c three\nPUBLISH d four\nEXEC");
        client.Say("MULTI\nINCR a\nPUBLISH c five\nINCR a\nEXEC\nEVAL \"redis.call('PUBLISH', 'c', 'six')\" 0");
        Assert.Equal(["c one", "c three", "d four", "c five", "c six"], Enumerable.Range(0, 5).Select(_ =>
        {
            var message = subscriber.Read().Items!;
            return $"{message[1].String} {message[2].String}";
        }));
        Assert.Equal("two", sharded.Read().Items![2].String);
        // A subscriber that is told of a write finds it.
        using var theirs = replica.Connect();
        for (int i = 0; i < 200; i++)
        {
            client.Say($"SET seen {i}\nPUBLISH c {i}");
            Assert.Equal($"{i}", subscriber.Read().Items![2].String);
            Assert.Equal($"{i}", theirs.Ok("GET seen").String);
        }

        FeedState.AssertFollows(kv, replica, "");
        client.Ok("DEBUG LOADAOF");
        string files = string.Concat(Directory.GetFiles(Path.Combine(_directory, "appendonlydir"), "*.aof")
            .Select(file => Reply.Latin(File.ReadAllBytes(file))));
        Assert.DoesNotContain("PUBLISH", files, StringComparison.OrdinalIgnoreCase);
        Assert.Contains("seen", files, StringComparison.Ordinal);
        Assert.Equal("3", client.Ok("GET a").String);
    }

    private static RedisServer Follower(KvInstance kv)
    {
        var replica = RedisServer.Start("--replicaof", $"127.0.0.1 {kv.Port}");
        FeedState.AwaitOnline(replica);
        return replica;
    }

    /// <summary>Has a client become a replica that has its snapshot.</summary>
    private static void Sync(RespClient client, string command)
    {
        client.Send(command);
        Assert.Equal("REDIS", Reply.Latin(client.ReadSnapshot().AsSpan(0, 5)));
    }

    private static string HeadOf(KvInstance kv, params string[] commands)
    {
        using var client = kv.Connect();
        foreach (string command in commands[..^1]) client.Ok(command);
        client.Send(commands[^1]);
        return Reply.Latin(client.ReadSnapshot().AsSpan(0, 9));
    }
}

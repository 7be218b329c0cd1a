using System.Diagnostics;
using Kv.Tests.Harness;
using Kv.Tests.Persistence;

namespace Kv.Tests.Effects;

/// <summary>Replicas get their snapshot while clients go on.</summary>
public sealed class FullSyncTests : IDisposable
{
    private const int Writers = 4, Keys = 200_000;

    private readonly string _directory = Directory.CreateTempSubdirectory("kv-sync-").FullName;

    public void Dispose() => Directory.Delete(_directory, recursive: true);

    [Theory]
    [InlineData("epoll")]
    [InlineData("pipelines")]
    public async Task Replicas_that_come_while_clients_write_all_types_end_with_their_data(string transport)
    {
        using var kv = KvInstance.Start("--enable-debug-command", "yes", "--dir", _directory, "--transport", transport);
        using (var client = kv.Connect()) client.Ok($"DEBUG POPULATE {Keys} p 30");
        var writers = Task.WhenAll(Enumerable.Range(0, Writers).Select(client => Task.Factory.StartNew(
            () => FeedStressTests.Work(kv, Seed.NewRandom(Seed.Value, client), flushes: false),
            TaskCreationOptions.LongRunning)));
        using var first = RedisServer.Start("--replicaof", $"127.0.0.1 {kv.Port}");
        using var second = RedisServer.Start("--replicaof", $"127.0.0.1 {kv.Port}");
        FeedState.AwaitOnline(first);
        FeedState.AwaitOnline(second);
        await writers;
        FeedState.AssertFollows(kv, first, Seed.Hint);
        FeedState.AssertFollows(kv, second, Seed.Hint);
        Assert.Empty(Directory.GetFileSystemEntries(_directory));
    }

    [Fact]
    public async Task Sums_of_transfers_hold_in_what_redis_cli_fetches()
    {
        const int accounts = 20_000;
        using var kv = KvInstance.Start("--dir", _directory);
        using (var client = kv.Connect())
        {
            for (int i = 0; i < accounts; i++) client.Send($"SET account:{i} 100");
            for (int i = 0; i < accounts; i++) client.Read();
        }

        bool isOver = false;
        var movers = Task.WhenAll(Enumerable.Range(0, Writers).Select(number => Task.Factory.StartNew(() =>
        {
            using var mover = kv.Connect();
            var random = new Random(number);
            while (!Volatile.Read(ref isOver)) Move(mover, random, accounts, byScript: number % 2 == 0);
        }, TaskCreationOptions.LongRunning)));
        try
        {
            for (int round = 0; round < 4; round++)
            {
                Fetch(kv, $"{round}.rdb");
                using var next = KvInstance.StartOnDisk(_directory, "--dbfilename", $"{round}.rdb");
                using var reader = next.Connect();
                Assert.Equal(accounts * 100L, Enumerable.Range(0, accounts).Chunk(1000)
                    .SelectMany(some => reader.Ok("MGET " + string.Join(' ', some.Select(i => $"account:{i}"))).Items!)
                    .Sum(item => long.Parse(item.String)));
            }
        }
        finally
        {
            Volatile.Write(ref isOver, true);
        }

        await movers;
    }

    private static void Move(RespClient mover, Random random, int accounts, bool byScript)
    {
        string from = $"account:{random.Next(accounts)}", to = $"account:{random.Next(accounts)}";
        int sum = random.Next(10);
        if (byScript)
        {
            mover.Ok("EVAL \"redis.call('DECRBY', KEYS[1], ARGV[1]); redis.call('INCRBY', KEYS[2], ARGV[1])\" 2 "
                + $"{from} {to} {sum}");
            return;
        }

        mover.Send("MULTI");
        mover.Send($"DECRBY {from} {sum}");
        mover.Send($"INCRBY {to} {sum}");
        mover.Send("EXEC");
        for (int i = 0; i < 4; i++) mover.Read();
    }

    private void Fetch(KvInstance kv, string name)
    {
        using var cli = Process.Start(new ProcessStartInfo("redis-cli",
            ["-p", $"{kv.Port}", "--rdb", Path.Combine(_directory, name)]) { RedirectStandardError = true })!;
        string error = cli.StandardError.ReadToEnd();
        Assert.True(cli.WaitForExit(60_000), "it ends");
        Assert.Equal((0, ""), (cli.ExitCode, cli.ExitCode == 0 ? "" : error));
    }

    [Fact]
    public void A_replica_that_leaves_in_the_middle_of_its_snapshot_leaves_nothing()
    {
        using var kv = KvInstance.Start("--enable-debug-command", "yes", "--dir", _directory, "--rdbcompression", "no");
        using var client = kv.Connect();
        client.Ok("DEBUG POPULATE 20 p 1000000");
        using (var gone = kv.Connect())
        {
            gone.Send("PSYNC ? -1");
            Assert.StartsWith("FULLRESYNC", gone.Read().String, StringComparison.Ordinal);
            Assert.StartsWith("state=", State(client), StringComparison.Ordinal);
            Skip(gone, 100_000);
            gone.Reset();
        }

        Eventually.Holds(() => client.Info("connected_slaves") == "0", () => State(client));
        Assert.Empty(Directory.GetFileSystemEntries(_directory));
        Eventually.Holds(() => client.Info("rdb_bgsave_in_progress") == "0", () => "it goes on");
        client.Ok("SET a 1");
        using var replica = RedisServer.Start("--replicaof", $"127.0.0.1 {kv.Port}", "--proto-max-bulk-len", "10mb");
        FeedState.AwaitOnline(replica);
        FeedState.AssertFollows(kv, replica, "");
    }

    [Fact]
    public void A_replica_that_does_not_read_its_snapshot_is_closed_when_too_much_has_come_since()
    {
        using var kv = KvInstance.Start("--enable-debug-command", "yes", "--dir", _directory, "--rdbcompression", "no",
            "--client-output-buffer-limit", "replica 4mb 0 0", "--repl-backlog-size", "100000");
        using var client = kv.Connect();
        client.Ok("DEBUG POPULATE 30 p 1000000");
        using var replica = kv.Connect();
        replica.Send("PSYNC ? -1");
        Assert.StartsWith("FULLRESYNC", replica.Read().String, StringComparison.Ordinal);
        Eventually.Holds(() => client.Info("rdb_bgsave_in_progress") == "0", () => "it goes on");
        string value = new('v', 10_000);
        for (int i = 0; i < 800; i++) client.Ok($"SET k{i % 10} {value}");
        Eventually.Holds(() => client.Info("connected_slaves") == "0", () => State(client));
    }

    [Theory]
    [InlineData("replica 1mb 0 0")]
    [InlineData("replica 20000 0 0")]
    public void A_snapshot_larger_than_the_limit_gets_through(string limit)
    {
        using var kv = KvInstance.Start("--dir", _directory, "--client-output-buffer-limit", limit);
        using var client = kv.Connect();
        client.Ok("CONFIG SET rdbcompression no");
        // More than the system's buffers take.
        client.Ok($"SET a {new string('v', 32 << 20)}");
        using var replica = kv.Connect();
        replica.Send("SYNC");
        Skip(replica, 32 << 20);
        Eventually.Holds(() => State(client).Contains("state=online", StringComparison.Ordinal), () => State(client));
    }

    [Fact]
    public void A_replica_that_does_not_read_the_stream_is_closed_at_the_limit()
    {
        using var kv = KvInstance.Start("--dir", _directory, "--client-output-buffer-limit", "replica 1mb 0 0");
        using var client = kv.Connect();
        client.Ok("SET a 1");
        using var replica = kv.Connect();
        replica.Send("SYNC");
        Eventually.Holds(() => State(client).Contains("state=online", StringComparison.Ordinal), () => State(client));
        string value = new('v', 100_000);
        Eventually.Holds(() =>
        {
            client.Ok($"SET a {value}");
            return client.Info("connected_slaves") == "0";
        }, () => State(client));
    }

    private static void Skip(RespClient client, int bytes)
    {
        var buffer = new byte[bytes];
        // Ends: so much is on its way, or the connection ends.
        for (int read = 0, count; read < bytes; read += count)
        {
            count = client.Socket.Receive(buffer.AsSpan(read));
            Assert.NotEqual(0, count);
        }
    }

    private static string State(RespClient client)
    {
        string all = client.Ok("INFO replication").String;
        int at = all.IndexOf("state=", StringComparison.Ordinal);
        return at < 0 ? all : all[at..];
    }
}

using Kv.Storage;
using Kv.Tests.Harness;

namespace Kv.Tests.Effects;

/// <summary>Snapshots for replicas that are held up at their end: what goes on meanwhile.</summary>
/// <remarks>Alone: points are the process', and other servers in it write snapshots, too.</remarks>
[Collection(Alone.Name)]
public sealed class SharedSyncTests : IDisposable
{
    private readonly string _directory = Directory.CreateTempSubdirectory("kv-sync-").FullName;
    private readonly SemaphoreSlim _mayEnd = new(0);

    public void Dispose()
    {
        Fault.AtEveryPoint = null;
        _mayEnd.Release(100);
        Directory.Delete(_directory, recursive: true);
    }

    [Fact]
    public void Clients_write_and_replicas_join_while_it_is_written()
    {
        using var log = new CapturedLog();
        using var kv = KvInstance.Start(log, "--dir", _directory, "--enable-debug-command", "yes");
        using var client = kv.Connect();
        client.Ok("SET a 1");
        HoldUp();
        using var first = RedisServer.Start("--replicaof", $"127.0.0.1 {kv.Port}");
        Eventually.Holds(() => client.Info("rdb_bgsave_in_progress") == "1", () => "none is written");
        client.Ok("SET a 2");
        Assert.Equal(3, client.Ok("INCR a").Integer);
        using var second = RedisServer.Start("--replicaof", $"127.0.0.1 {kv.Port}");
        Eventually.Holds(() => client.Info("connected_slaves") == "2", () => client.Ok("INFO replication").String);
        client.Ok("INCR a");
        Assert.Contains("already in progress", client.Command("BGSAVE").String, StringComparison.Ordinal);
        Assert.Contains("state=wait_bgsave", client.Info("slave1"), StringComparison.Ordinal);
        LetGo();
        FeedState.AwaitOnline(first);
        FeedState.AwaitOnline(second);
        client.Ok("INCR a");
        FeedState.AssertFollows(kv, first, "");
        FeedState.AssertFollows(kv, second, "");
        Assert.Single(log.Lines, line => line.Contains(" beside clients: ", StringComparison.Ordinal));
    }

    [Fact]
    public void A_replica_waits_while_another_snapshot_is_written()
    {
        using var kv = KvInstance.Start("--dir", _directory, "--enable-debug-command", "yes");
        using var client = kv.Connect();
        client.Ok("SET a 1");
        HoldUp();
        client.Ok("BGSAVE");
        using var replica = RedisServer.Start("--replicaof", $"127.0.0.1 {kv.Port}");
        Eventually.Holds(() => client.Info("connected_slaves") == "1", () => client.Ok("INFO replication").String);
        client.Ok("INCR a");
        LetGo();
        FeedState.AwaitOnline(replica);
        client.Ok("INCR a");
        FeedState.AssertFollows(kv, replica, "");
    }

    [Fact]
    public void A_replica_that_leaves_ends_what_is_written_for_it()
    {
        using var kv = KvInstance.Start("--dir", _directory, "--enable-debug-command", "yes");
        using var client = kv.Connect();
        client.Ok("DEBUG POPULATE 100000 p 300");
        using var mayWrite = new SemaphoreSlim(0);
        Fault.AtEveryPoint = name =>
        {
            if (name == "rdb.write") mayWrite.Wait();
        };
        try
        {
            using (var replica = kv.Connect())
            {
                replica.Send("SYNC");
                mayWrite.Release();
                Eventually.Holds(() => client.Info("rdb_bgsave_in_progress") == "1", () => "none is written");
            }

            Eventually.Holds(() => client.Info("connected_slaves") == "0", () => client.Ok("INFO replication").String);
        }
        finally
        {
            Fault.AtEveryPoint = null;
            mayWrite.Release(10_000);
        }

        Eventually.Holds(() => client.Info("rdb_bgsave_in_progress") == "0", () => "it goes on");
        Eventually.Holds(() => Directory.GetFileSystemEntries(_directory).Length == 0,
            () => string.Join(' ', Directory.GetFileSystemEntries(_directory)));
        Assert.Equal("0", client.Info("rdb_saves"));
    }

    [Theory]
    [InlineData("rdb.write")]
    [InlineData("rdb.rename")]
    public void A_snapshot_that_fails_ends_the_replicas_connection_and_no_more(string point)
    {
        using var kv = KvInstance.Start("--dir", _directory, "--save", "3600 1", "--enable-debug-command", "yes");
        using var client = kv.Connect();
        client.Ok("SET a 1");
        using var replica = kv.Connect();
        using (var armed = Fault.Arm(point))
        {
            replica.Send("SYNC");
            Assert.Contains("ERR a snapshot could not be written", replica.Read().String, StringComparison.Ordinal);
            Assert.True(armed.Fired);
        }

        Assert.True(replica.IsClosedByServer());
        Eventually.Holds(() => client.Info("connected_slaves") == "0", () => client.Ok("INFO replication").String);
        Assert.Equal("ok", client.Info("rdb_last_bgsave_status"));
        Assert.Empty(Directory.GetFileSystemEntries(_directory));
        client.Ok("SET a 2");
        using var real = RedisServer.Start("--replicaof", $"127.0.0.1 {kv.Port}");
        FeedState.AwaitOnline(real);
        FeedState.AssertFollows(kv, real, "");
    }

    /// <summary>Snapshots are held up when they are written, but for their name.</summary>
    private void HoldUp() => Fault.AtEveryPoint = name =>
    {
        if (name == "rdb.rename") _mayEnd.Wait();
    };

    private void LetGo()
    {
        Fault.AtEveryPoint = null;
        _mayEnd.Release(10);
    }
}

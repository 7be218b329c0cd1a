using System.Diagnostics;
using System.Net;
using Kv.Tests.Harness;

namespace Kv.Tests.Effects;

/// <summary>A real redis-server follows Kv; its tools read its data.</summary>
public class ReplicationTests
{
    [Fact]
    public void A_replica_gets_what_was_there_and_what_follows()
    {
        using var kv = KvInstance.Start("--enable-debug-command", "yes");
        using var client = kv.Connect();
        for (int i = 1; i < 2000; i++) client.Ok($"SET k{i} {new string('x', i)}");
        client.Say("RPUSH l a b c\nSELECT 3\nSADD s a b c\nXADD x 1-1 f v\nXGROUP CREATE x g 0");
        using var replica = Follower(kv);
        client.Ok("SET other 1 EX 1000");
        client.Ok("SELECT 0");
        client.Ok("LPOP l");
        FeedState.AssertFollows(kv, replica, "");
        Assert.Equal("1", client.Info("connected_slaves"));
        Assert.Contains("state=online", client.Info("slave0"), StringComparison.Ordinal);
        Assert.Equal("master", client.Ok("ROLE").Items![0].String);
        Assert.Single(client.Ok("ROLE").Items![2].Items!);
    }

    [Fact]
    public void A_replica_that_comes_back_gets_the_rest_only()
    {
        using var kv = KvInstance.Start("--enable-debug-command", "yes");
        using var client = kv.Connect();
        using var replica = Follower(kv);
        client.Ok("SET a 1");
        FeedState.AssertFollows(kv, replica, "");
        client.Ok("CLIENT KILL TYPE replica");
        client.Ok("SET b 2");
        FeedState.AssertFollows(kv, replica, "");
        using var theirs = replica.Connect();
        FeedState.AwaitOnline(replica);
        Assert.DoesNotContain("Full resync", replica.Log[replica.Log.IndexOf("Connection with master lost",
            StringComparison.Ordinal)..], StringComparison.Ordinal);
        Assert.Equal(("1", "1", "0"), (client.Info("sync_full"), client.Info("sync_partial_ok"),
            client.Info("sync_partial_err")));
        client.Ok("CONFIG RESETSTAT");
        Assert.Equal("0", client.Info("sync_full"));
    }

    [Fact]
    public void A_replica_that_was_closed_for_one_large_command_gets_a_snapshot()
    {
        using var kv = KvInstance.Start("--enable-debug-command", "yes", "--client-output-buffer-limit",
            "replica 4mb 0 0");
        using var client = kv.Connect();
        using var replica = Follower(kv);
        client.Ok("SET a 1");
        FeedState.AssertFollows(kv, replica, "");
        client.Ok($"SET large {new string('x', 20_000_000)}");
        client.Ok("SET b 1");
        using var theirs = replica.Connect();
        Eventually.Holds(() => theirs.Command("EXISTS b") is { IsError: false, Integer: 1 }, () => replica.Log);
        FeedState.AssertFollows(kv, replica, "");
        Assert.NotEqual("1", client.Info("sync_full"));
    }

    [Fact]
    public void Wait_counts_the_replicas_that_have_what_was_written()
    {
        using var kv = KvInstance.Start("--enable-debug-command", "yes");
        using var client = kv.Connect();
        using var replica = Follower(kv);
        client.Ok("SET a 1");
        Assert.Equal(1, client.Ok("WAIT 1 60000").Integer);
        Assert.Equal(1, client.Ok("WAIT 2 10").Integer);
        Assert.Equal(1, client.Ok("WAIT 0 0").Integer);
        using var theirs = replica.Connect();
        Assert.Equal("1", theirs.Ok("GET a").String);
    }

    [Fact]
    public void Redis_cli_fetches_a_snapshot()
    {
        using var kv = KvInstance.Start();
        using var client = kv.Connect();
        client.Say("SET a 1\nRPUSH l a b");
        string path = Path.Combine(Path.GetTempPath(), $"kv-{Guid.NewGuid():N}.rdb");
        try
        {
            using var cli = Process.Start(new ProcessStartInfo("redis-cli",
                ["-p", $"{((IPEndPoint)kv.EndPoint).Port}", "--rdb", path]) { RedirectStandardError = true })!;
            string error = cli.StandardError.ReadToEnd();
            Assert.True(cli.WaitForExit(60_000), "it ends");
            Assert.Equal((0, ""), (cli.ExitCode, cli.ExitCode == 0 ? "" : error));
            Assert.Equal("REDIS", Reply.Latin(File.ReadAllBytes(path).AsSpan(0, 5)));
        }
        finally
        {
            File.Delete(path);
        }
    }

    private static RedisServer Follower(KvInstance kv)
    {
        var replica = RedisServer.Start("--replicaof", $"127.0.0.1 {((IPEndPoint)kv.EndPoint).Port}");
        FeedState.AwaitOnline(replica);
        return replica;
    }
}

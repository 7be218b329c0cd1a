using Kv.Tests.Harness;

namespace Kv.Tests.Effects;

/// <summary>Libraries of functions are in the feed: a replica has the same.</summary>
public sealed class FunctionFeedTests
{
    private static string Library(string name, int answer) =>
        $"#!lua name={name}\nredis.register_function{{function_name='{name}_f', "
        + $"callback=function() return {answer} end, flags={{'no-writes'}}}}";

    [Fact]
    public void What_is_loaded_deleted_flushed_and_restored_is_so_in_a_replica()
    {
        using var kv = KvInstance.Start("--enable-debug-command", "yes");
        using var redis = RedisServer.Start();
        using var sink = new ReferenceSink(redis);
        kv.Server.Feed.Attach(sink);
        using var client = kv.Connect();
        using var theirs = redis.Connect();
        void Same(string what)
        {
            FeedState.AssertEqual(kv, redis, sink, what);
            Eventually.Holds(() => Listed(client) == Listed(theirs),
                () => $"{what}: {Listed(client)}\nthere {Listed(theirs)}\n{Reply.Latin(sink.Sent)}");
        }

        Run(client, "FUNCTION", "LOAD", Library("a", 1));
        Run(client, "FUNCTION", "LOAD", Library("b", 1));
        Same("LOAD");
        Run(client, "FUNCTION", "LOAD", "REPLACE", Library("a", 2));
        Same("LOAD REPLACE");
        Assert.Equal(2, theirs.Ok("FCALL a_f 0").Integer);
        byte[] both = client.Ok("FUNCTION DUMP").Text!;
        client.Ok("FUNCTION DELETE b");
        Same("DELETE");
        Run(client, "FUNCTION", "LOAD", Library("c", 3));
        client.Command([.. RespText.Split("FUNCTION RESTORE"), both, RespText.Bytes("FLUSH")]);
        Same("RESTORE FLUSH");
        Assert.Equal(2, client.Ok("FUNCTION LIST").Items!.Count);
        Run(client, "FUNCTION", "LOAD", "REPLACE", Library("a", 4));
        Assert.True(client.Command([.. RespText.Split("FUNCTION RESTORE"), both]).IsError);
        Same("RESTORE that is refused");
        client.Command([.. RespText.Split("FUNCTION RESTORE"), both, RespText.Bytes("REPLACE")]);
        Same("RESTORE REPLACE");
        client.Ok("FUNCTION FLUSH");
        Same("FLUSH");
        client.Command([.. RespText.Split("FUNCTION RESTORE"), both, RespText.Bytes("APPEND")]);
        Same("RESTORE APPEND");
        client.Say("MULTI\nSET k 1\nFUNCTION DELETE a\nINCR k\nFUNCTION FLUSH\nEXEC");
        Same("EXEC");
        Assert.Empty(theirs.Ok("FUNCTION LIST").Items!);
    }

    [Fact]
    public void Wait_waits_for_them()
    {
        using var kv = KvInstance.Start();
        using var replica = RedisServer.Start("--replicaof", $"127.0.0.1 {kv.Port}");
        FeedState.AwaitOnline(replica);
        using var client = kv.Connect();
        using var theirs = replica.Connect();
        for (int i = 0; i < 20; i++)
        {
            Run(client, "FUNCTION", "LOAD", "REPLACE", Library("a", i));
            Assert.Equal(1, client.Ok("WAIT 1 60000").Integer);
            Assert.Equal(i, theirs.Ok("FCALL a_f 0").Integer);
        }
    }

    private static void Run(RespClient client, params string[] words)
    {
        var reply = client.Command([.. words.Select(RespText.Bytes)]);
        Assert.False(reply.IsError, reply.String);
    }

    private static string Listed(RespClient client) => string.Join('\n', client.Ok("FUNCTION LIST WITHCODE").Items!
        .Select(library => library.Items![^1].String).Order(StringComparer.Ordinal));
}

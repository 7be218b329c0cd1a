using Kv.Tests.Harness;

namespace Kv.Tests.Effects;

/// <summary>Fields of hashes that expire are deleted in the feed: redis-server 7.0 follows, which does not know
/// that fields can expire.</summary>
public sealed class FieldFeedTests
{
    private const int ManyFields = 2000;

    public static TheoryData<string, bool> Commands()
    {
        string[] lines =
        [
            "HSET h a 9", "HSETNX h a 9", "HINCRBY h a 5", "HINCRBYFLOAT h a 1.5", "HDEL h a", "HDEL h a b", "HLEN h",
            "HRANDFIELD h", "HRANDFIELD h -3", "HEXPIRE h 1000 FIELDS 2 a b", "HPERSIST h FIELDS 1 a", "HSETNX h b 9",
            "HINCRBY h c 1", "HEXPIRE h 0 FIELDS 2 b c", "DEL h", "RENAME h g", "COPY h g",
            "EVAL \"return redis.call('HLEN', KEYS[1])\" 1 h",
        ];
        var all = new TheoryData<string, bool>();
        foreach (string line in lines)
        {
            all.Add(line, false);
            all.Add(line, true);
        }

        return all;
    }

    [Theory, MemberData(nameof(Commands))]
    public void What_meets_fields_that_have_expired_deletes_them(string line, bool isLarge)
    {
        using var kv = KvInstance.Start("--enable-debug-command", "yes");
        using var redis = RedisServer.Start();
        using var sink = new ReferenceSink(redis);
        using var client = kv.Connect();
        client.Ok("DEBUG SET-ACTIVE-EXPIRE 0");
        kv.Server.Feed.Attach(sink);
        client.Ok("HSET h a 1 b 2 c x");
        if (isLarge)
            client.Ok("HSET h " + string.Join(' ', Enumerable.Range(0, ManyFields).Select(i => $"f{i} v{i}")));
        client.Ok("HPEXPIRE h 1 FIELDS 1 a");
        AwaitExpired(client, "a");
        client.Command(line);
        // Where the command has looked at one field only, the others are still there.
        client.Command("HLEN h");
        Compare(kv, redis, sink);
    }

    [Fact]
    public void What_the_store_removes_by_itself_is_deleted_too()
    {
        using var kv = KvInstance.Start("--enable-debug-command", "yes");
        using var redis = RedisServer.Start();
        using var sink = new ReferenceSink(redis);
        kv.Server.Feed.Attach(sink);
        using var client = kv.Connect();
        client.Ok("SELECT 3");
        string fields = string.Join(' ', Enumerable.Range(0, ManyFields).Select(i => $"f{i}"));
        client.Ok("HSET large last 1 " + fields.Replace(" ", " v ", StringComparison.Ordinal) + " v");
        client.Ok($"HPEXPIRE large 1 FIELDS {ManyFields} {fields}");
        client.Ok("HSET gone a 1 b 2");
        client.Ok("HPEXPIRE gone 1 FIELDS 2 a b");
        client.Ok("HSET small a 1 b 2");
        client.Ok("HPEXPIRE small 1 FIELDS 1 b");
        using var theirs = redis.Connect();
        theirs.Ok("SELECT 3");
        Eventually.Holds(() => theirs.Ok("HLEN large").Integer == 1 && theirs.Ok("HLEN small").Integer == 1
            && theirs.Ok("EXISTS gone").Integer == 0, () => theirs.Ok("HLEN large").String);
        Compare(kv, redis, sink);
    }

    [Fact]
    public void In_transactions_they_are_deleted_in_their_place()
    {
        using var kv = KvInstance.Start("--enable-debug-command", "yes");
        using var redis = RedisServer.Start();
        using var sink = new ReferenceSink(redis);
        using var client = kv.Connect();
        client.Ok("DEBUG SET-ACTIVE-EXPIRE 0");
        kv.Server.Feed.Attach(sink);
        client.Ok("HSET h a 1 b 2");
        client.Ok("HPEXPIRE h 1 FIELDS 1 a");
        AwaitExpired(client, "a");
        client.Say("MULTI\nSET before 1\nHINCRBY h a 5\nHSETNX h a 7\nHLEN h\nSET after 1\nEXEC");
        Compare(kv, redis, sink);
        using var theirs = redis.Connect();
        Assert.Equal("5", theirs.Ok("HGET h a").String);
        Assert.Contains("MULTI", Reply.Latin(sink.Sent), StringComparison.Ordinal);
    }

    private static void AwaitExpired(RespClient client, string field) => Eventually.Holds(
        () => client.Ok($"HPTTL h FIELDS 1 {field}").Items![0].Integer == -2, () => $"{field} is there");

    /// <summary>The reference does not know the commands of expiries, and does all else.</summary>
    private static void Compare(KvInstance kv, RedisServer redis, ReferenceSink sink)
    {
        FeedState.AssertFollows(kv, redis, Reply.Latin(sink.Sent)[^Math.Min(500, sink.Sent.Length)..]);
        foreach (string error in sink.Errors.Split('\n'))
            if (error != "") Assert.Contains("unknown command 'HPEXPIREAT'", error, StringComparison.Ordinal);
    }
}

using Kv.Storage;
using Kv.Tests.Harness;

namespace Kv.Tests.Effects;

/// <summary>What .NET callers change without commands is in the feed, too: as the value that the key has
/// then.</summary>
public class EmbeddedFeedTests
{
    [Fact]
    public void Changes_of_callers_are_the_values_that_they_leave()
    {
        using var kv = KvInstance.Start("--enable-debug-command", "yes");
        using var redis = RedisServer.Start();
        using var sink = new ReferenceSink(redis);
        kv.Server.Feed.Attach(sink);
        using (var guard = kv.Server.Store.Enter())
        {
            var session = guard.Session;
            session.Select(2);
            session.Set(session.Key("a"u8), "1"u8);
            session.Set(session.Key("a"u8), "2"u8);     // where it is
            session.Set(session.Key("gone"u8), "1"u8);
            session.Delete(session.Key("gone"u8));
            session.Set(session.Key("long"u8), new byte[100_000]);
        }

        FeedState.AssertEqual(kv, redis, sink, "");
        using var theirs = redis.Connect();
        theirs.Ok("SELECT 2");
        Assert.Equal("2", theirs.Ok("GET a").String);
        Assert.Equal(2, theirs.Ok("DBSIZE").Integer);
    }
}

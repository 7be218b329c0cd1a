using Kv.Storage;
using Kv.Tests.Harness;

namespace Kv.Tests.Effects;

/// <summary>What stops all others for the feed lets them go on, also when it fails.</summary>
[Collection(Alone.Name)]
public sealed class FlushFaultTests
{
    [Theory]
    [InlineData("flush.publish", "FLUSHALL")]
    [InlineData("flush.publish", "FLUSHDB")]
    [InlineData("swap.publish", "SWAPDB 0 1")]
    public void Others_go_on_when_a_flush_or_swap_fails(string point, string command)
    {
        using var kv = KvInstance.Start("--enable-debug-command", "yes", "--worker-threads", "2");
        using var redis = RedisServer.Start();
        using var sink = new ReferenceSink(redis);
        using (var guard = kv.Server.Store.Enter())
        {
            Eventually.Holds(guard.Session.Presence.TryPauseNow, () => "others go on");
            kv.Server.Feed.Attach(sink);
            guard.Session.EndPause();
        }

        using RespClient client = kv.Connect(), other = kv.Connect();
        client.Ok("SET it 5");
        using (var armed = Fault.Arm(point))
        {
            Assert.True(client.Command(command).IsError);
            Assert.True(armed.Fired);
        }

        other.Ok("INCR it");
        Assert.Equal("6", client.Ok("GET it").String);
        client.Ok(command);
        other.Ok("SET more 1");
        FeedState.AssertEqual(kv, redis, sink, "");
    }
}

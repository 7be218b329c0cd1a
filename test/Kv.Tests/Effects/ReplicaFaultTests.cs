using Kv.Storage;
using Kv.Tests.Harness;

namespace Kv.Tests.Effects;

/// <summary>The stream of replicas loses something.</summary>
/// <remarks>Alone: points are the process'.</remarks>
[Collection(Alone.Name)]
public sealed class ReplicaFaultTests
{
    public static readonly string[] Points = ["replica.write"];

    [Fact]
    public void A_stream_that_has_lost_something_is_begun_anew()
    {
        using var kv = KvInstance.Start("--enable-debug-command", "yes");
        using var client = kv.Connect();
        client.Say("INCR a");
        using var replica = RedisServer.Start("--replicaof", $"127.0.0.1 {kv.Port}");
        FeedState.AwaitOnline(replica);
        using (Fault.Arm(Points[0]))
        {
            client.Say("INCR a");
            Eventually.Holds(() => client.Info("sync_full") == "2", () => kv.Server.Replicas.FullSyncs.ToString());
        }

        client.Say("INCR a");
        FeedState.AssertFollows(kv, replica, "after a gap");
        Assert.Equal("3", client.Ok("GET a").String);
    }
}

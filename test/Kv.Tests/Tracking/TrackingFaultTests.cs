using Kv.Storage;
using Kv.Tests.Harness;

namespace Kv.Tests.Tracking;

/// <summary>When something goes wrong no client keeps an old copy unknowingly.</summary>
/// <remarks>Alone: points are the process'.</remarks>
[Collection(Alone.Name)]
public sealed class TrackingFaultTests
{
    [Theory, MemberData(nameof(Network.Transports.Both), MemberType = typeof(Network.Transports))]
    public void Who_misses_a_message_is_closed(string transport)
    {
        using var kv = KvInstance.Start("--transport", transport, "--worker-threads", "1");
        using var writer = kv.Connect();
        foreach (bool isOwn in (bool[])[true, false])
        {
            using var client = kv.Connect(resp: 3);
            client.Ok("CLIENT TRACKING ON");
            client.Ok("GET k");
            using (var armed = Fault.Arm("message.write"))
            {
                (isOwn ? client : writer).Send("SET k v");
                if (!isOwn) Assert.Equal("+OK", writer.Read().ToString());
                // Ends: it is closed, behind the reply or an error in its place.
                while (client.TryRead() != null)
                {
                }

                Assert.True(armed.Fired);
            }
        }

        Eventually.Holds(() => writer.Info("tracking_clients") == "0", () => "they track keys still");
    }

    [Fact]
    public void A_command_that_fails_uses_up_what_CACHING_said()
    {
        using var kv = KvInstance.Start();
        using var client = kv.Connect(resp: 3);
        using var writer = kv.Connect();
        client.Ok("CLIENT TRACKING ON OPTOUT");
        client.Ok("CLIENT CACHING NO");
        using (var armed = Fault.Arm("command.run"))
        {
            Assert.True(client.Command("GET k").IsError);
            Assert.True(armed.Fired);
        }

        client.Ok("GET k");
        writer.Ok("SET k v");
        Assert.Equal(">[\"invalidate\" [\"k\"]]", client.Read().ToString());
    }
}

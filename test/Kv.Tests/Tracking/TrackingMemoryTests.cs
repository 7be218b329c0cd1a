using Kv.Server.PubSub;
using Kv.Tests.Harness;

namespace Kv.Tests.Tracking;

/// <summary>What tracking keeps for clients, and gives back when they leave.</summary>
public sealed class TrackingMemoryTests
{
    // Whoever changes a key finds its readers by their numbers, and may push to one that ends meanwhile.
    [Fact]
    public void A_session_that_has_ended_keeps_no_message()
    {
        using var kv = KvInstance.Start("--worker-threads", "1");
        using var other = kv.Connect();
        var client = kv.Connect(resp: 3);
        Assert.True(kv.Server.Connections.TryGet(client.Ok("CLIENT ID").Integer, out var session));
        client.Dispose();
        Eventually.Holds(() => !kv.Server.Connections.TryGet(session!.Id, out _), () => "it is there still");
        other.Ok("PING");       // the worker that has ended it has come by since
        long charged = 0;
        session!.Push(SharedMessage.InvalidationOfAll(bytes => Interlocked.Add(ref charged, bytes)));
        Assert.Equal(0, charged);
    }

    [Fact]
    public void A_key_that_never_changes_does_not_gather_those_who_have_left()
    {
        using var kv = KvInstance.Start();
        using var staying = Tracking(kv);
        using var control = kv.Connect();
        staying.Ok("GET k");
        for (int i = 0; i < 100; i++)
        {
            using (var client = Tracking(kv)) client.Ok("GET k");
            Eventually.Holds(() => control.Info("tracking_clients") == "1", () => "clients that left track keys still");
        }

        Assert.InRange(long.Parse(control.Info("tracking_total_items")), 1, 4);
        control.Ok("SET k v");
        Assert.Equal(">[\"invalidate\" [\"k\"]]", staying.Read().ToString());
    }

    [Fact]
    public void Many_readers_of_a_key_are_told_once_each_whatever_their_order()
    {
        using var kv = KvInstance.Start();
        var clients = Enumerable.Range(0, 40).Select(_ => Tracking(kv)).ToArray();
        using var control = kv.Connect();
        var random = Seed.NewRandom();
        for (int round = 0; round < 3; round++)
        {
            random.Shuffle(clients);
            foreach (var client in clients) client.Ok("MGET k k");
            Assert.Equal($"{clients.Length}", control.Info("tracking_total_items"));
            control.Ok("SET k v");
            foreach (var client in clients) Assert.Equal(">[\"invalidate\" [\"k\"]]", client.Read().ToString());
        }

        foreach (var client in clients)
        {
            Assert.Equal("+PONG", client.Ok("PING").ToString());
            client.Dispose();
        }
    }

    [Theory, InlineData(900), InlineData(3000)]
    public void One_read_of_many_keys_does_not_pass_the_limit(int count)
    {
        using var kv = KvInstance.Start("--tracking-table-max-keys", "100");
        using var client = Tracking(kv);
        using var control = kv.Connect();
        for (int round = 0; round < 3; round++)
        {
            client.Send($"MGET {string.Join(' ', Enumerable.Range(0, count).Select(i => $"k{round}:{i}"))}");
            // Ends: with the reply.
            while (client.Read().Type == '>')
            {
            }

            Assert.InRange(long.Parse(control.Info("tracking_total_keys")), 0, 100);
        }
    }

    private static RespClient Tracking(TestServer server)
    {
        var client = server.Connect(resp: 3);
        client.Ok("CLIENT TRACKING ON");
        return client;
    }
}

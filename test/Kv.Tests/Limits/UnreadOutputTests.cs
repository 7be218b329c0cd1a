using Kv.Tests.Harness;

namespace Kv.Tests.Limits;

/// <summary>client-output-buffer-limit sees all that a client has not read, on either transport, and counts who goes
/// for it.</summary>
public class UnreadOutputTests
{
    [Theory, MemberData(nameof(Network.Transports.Both), MemberType = typeof(Network.Transports))]
    public void A_reply_that_is_not_read_counts_however_large_it_is(string transport)
    {
        using var kv = KvInstance.Start("--transport", transport, "--client-output-buffer-limit", "normal 1mb 0 0");
        using RespClient other = kv.Connect(), client = kv.Connect();
        client.Ok("PING");      // else it may not be there yet when clients are counted
        // One reply of 32 MB: more than the kernel takes for a client that does not read.
        other.Ok($"SET part {new string('x', 60_000)}");
        client.Send($"MGET{string.Concat(Enumerable.Repeat(" part", 550))}");
        Eventually.Holds(() => kv.Server.Clients == 1, () => $"{kv.Server.Clients} clients are there, not 1");
        Assert.Equal("1", other.Info("client_output_buffer_limit_disconnections"));
    }

    [Theory, MemberData(nameof(Network.Transports.Both), MemberType = typeof(Network.Transports))]
    public void A_subscriber_that_does_not_read_goes_soon_behind_its_limit(string transport)
    {
        using var kv = KvInstance.Start("--transport", transport, "--client-output-buffer-limit", "pubsub 2mb 0 0");
        using RespClient publisher = kv.Connect(), subscriber = kv.Connect();
        var session = kv.SessionOf(subscriber);
        subscriber.Command("SUBSCRIBE news");
        string message = new('x', 60_000);
        int published = 0;
        // Ends: when the subscriber is gone. What the kernel takes for it is some megabytes, too.
        while (publisher.Command($"PUBLISH news {message}").Integer == 1)
        {
            Assert.True(++published < 500, "30 MB are unread, and the subscriber is still there");
            KvInstance.AwaitTaken(session);
        }

        Eventually.Holds(() => kv.Server.Clients == 1, () => $"{kv.Server.Clients} clients are there, not 1");
        Assert.Equal("1", publisher.Info("client_output_buffer_limit_disconnections"));
    }

    // A header of 10 bytes between two values took 64 KB: readers of large values emptied a cache.
    [Theory, MemberData(nameof(Network.Transports.Both), MemberType = typeof(Network.Transports))]
    public void Values_that_are_not_read_are_charged_once_however_many_wait(string transport)
    {
        using var kv = KvInstance.Start("--transport", transport, "--client-output-pause", "1073741824");
        using RespClient other = kv.Connect(), reader = kv.Connect();
        other.Ok($"SET value {new string('x', 100_000)}");
        var session = kv.SessionOf(reader);
        long before = kv.Server.Store.UsedBytes;
        reader.Send([.. Enumerable.Repeat(RespText.Encode("GET value"), 200).SelectMany(each => each)]);
        Eventually.Holds(() => session.OutputBytes > 8_000_000, () => $"only {session.OutputBytes} bytes wait");
        Eventually.Holds(() => kv.Server.Store.UsedBytes < before + 1_000_000,
            () => $"{kv.Server.Store.UsedBytes - before} bytes more are charged");
        for (int i = 0; i < 200; i++) Assert.Equal(100_000, reader.Read().String.Length);
    }

    [Theory, MemberData(nameof(Network.Transports.Both), MemberType = typeof(Network.Transports))]
    public void What_is_unread_is_in_the_account_until_it_is_read_or_the_client_goes(string transport)
    {
        using var kv = KvInstance.Start("--transport", transport, "--client-output-pause", "1073741824");
        using RespClient other = kv.Connect(), reader = kv.Connect();
        other.Ok($"SET part {new string('x', 60_000)}");
        long before = kv.Server.Store.UsedBytes;
        string request = $"MGET{string.Concat(Enumerable.Repeat(" part", 550))}";
        reader.Send(request);
        using (var leaver = kv.Connect())
        {
            leaver.Send(request);
            // 66 MB, of which the kernel may have taken up to a third.
            Eventually.Holds(() => kv.Server.Store.UsedBytes > before + 40_000_000,
                () => $"{kv.Server.Store.UsedBytes - before} bytes more are charged");
        }

        Assert.Equal(550, reader.Read().Items!.Count);
        Eventually.Holds(() => kv.Server.Store.UsedBytes < before + 1_000_000,
            () => $"{kv.Server.Store.UsedBytes - before} bytes more are charged");
    }

    // Tables of 4 x (n + 1)^2 bytes: 6,000 take 144 MB, so three of them fit into 512 MB and four do not.
    [Theory, MemberData(nameof(Network.Transports.Both), MemberType = typeof(Network.Transports))]
    public void All_LCS_that_run_share_one_bound(string transport)
    {
        using var kv = KvInstance.Start("--transport", transport, "--worker-threads", "1");
        using var other = kv.Connect();
        other.Ok($"SET a {new string('a', 6000)}");
        other.Ok($"SET b {new string('b', 6000)}");
        var clients = Enumerable.Range(0, 6).Select(_ => kv.Connect()).ToList();
        Assert.True(kv.Server.LcsTables.TryTake(300_000_000, 512 * 1024 * 1024));
        foreach (var client in clients) client.Send("LCS a b LEN");
        var replies = clients.Select(client => client.Read().ToString()).ToList();
        Assert.Contains(":0", replies);
        Assert.All(replies, reply =>
            Assert.True(reply == ":0"
            || reply.StartsWith("-ERR Insufficient memory, transient memory for LCS of all clients",
            StringComparison.Ordinal), reply));

        kv.Server.LcsTables.Give(300_000_000);
        Assert.Equal(0, kv.Server.LcsTables.Taken);
        Assert.True(kv.Server.LcsTables.TryTake((512 * 1024 * 1024) - (4 * 6001 * 6001), 512 * 1024 * 1024));
        Assert.Equal(0, other.Command("LCS a b LEN").Integer);
        Assert.True(kv.Server.LcsTables.TryTake(1, 512 * 1024 * 1024));
        Assert.True(other.Command("LCS a b LEN").IsError);
        Assert.Equal(0, other.Command("LCS part none LEN").Integer);
        other.Ok($"SET small {new string('c', 300)}");
        Assert.Equal(300, other.Command("LCS small small LEN").Integer);
        clients.ForEach(client => client.Dispose());
    }

    // A client that leaves in the middle gives its part back.
    [Theory, MemberData(nameof(Network.Transports.Both), MemberType = typeof(Network.Transports))]
    public void Who_leaves_an_LCS_takes_nothing_along(string transport)
    {
        using var kv = KvInstance.Start("--transport", transport, "--worker-threads", "1");
        using var other = kv.Connect();
        other.Ok($"SET a {new string('a', 4000)}");
        using (var client = kv.Connect())
        {
            client.Send("LCS a a LEN");
            client.Reset();
        }

        kv.AwaitClients(1);
        Eventually.Holds(() => kv.Server.LcsTables.Taken == 0, () => $"{kv.Server.LcsTables.Taken} bytes are taken");
        Assert.Equal(4000, other.Command("LCS a a LEN").Integer);
    }
}

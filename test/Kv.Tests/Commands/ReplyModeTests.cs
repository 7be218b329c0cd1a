using Kv.Tests.Harness;

namespace Kv.Tests.Commands;

/// <summary>CLIENT REPLY OFF and SKIP drop whole replies, also of commands that answer in several steps, and no
/// message.</summary>
public sealed class ReplyModeTests
{
    /// <summary>So many that KEYS, a range of them and FLUSHALL take several steps.</summary>
    private const int Keys = 12_000;

    [Theory, InlineData("epoll"), InlineData("pipelines")]
    public void A_reply_made_in_steps_is_dropped_whole(string transport)
    {
        if (transport == "epoll") Requires.Linux("epoll");
        using var kv = KvInstance.Start("--transport", transport);
        using var client = kv.Connect();
        client.Send([.. Enumerable.Range(0, Keys).SelectMany(i => RespText.Encode($"SET key:{i} v"))]);
        for (int i = 0; i < Keys; i++) client.Read();
        string mget = "MGET " + string.Join(' ', Enumerable.Range(0, Keys).Select(i => $"key:{i}"));

        foreach (string slow in (string[])["KEYS *", mget, "SCAN 0 COUNT 100000"])
        {
            Pipeline(client, "CLIENT REPLY SKIP", slow, "ECHO a", "CLIENT REPLY OFF", slow, "PING", slow,
                "CLIENT REPLY ON", "ECHO b");
            Assert.Equal("\"a\"", client.Read().ToString());
            Assert.Equal("+OK", client.Read().ToString());
            Assert.Equal("\"b\"", client.Read().ToString());
        }

        Assert.Equal(Keys, client.Ok("KEYS *").Items!.Count);
    }

    [Fact]
    public void The_error_of_a_long_command_is_skipped_as_any_reply()
    {
        using var borrowed = SharedServers.Kv();
        using var client = borrowed.Server.Connect();
        Pipeline(client, "CLIENT REPLY SKIP", "NOSUCH", "CLIENT REPLY SKIP", "GET", "CLIENT REPLY SKIP",
            "SET a 1 EX", "ECHO a");
        Assert.Equal("\"a\"", client.Read().ToString());
    }

    // Redis tells a subscriber of its subscriptions and messages whatever it said of replies: they are none.
    [Theory, InlineData(2), InlineData(3)]
    public void Messages_and_what_a_subscriber_is_told_are_no_replies(int resp)
    {
        foreach (var borrow in (Func<SharedServers.Borrowed>[])[SharedServers.Kv, SharedServers.Redis])
        {
            using (var borrowed = borrow())
            {
                using var client = borrowed.Server.Connect(resp);
                Pipeline(client, "CLIENT REPLY OFF", "SUBSCRIBE c", "PING");
                Assert.Equal(resp == 3 ? ">[\"subscribe\" \"c\" :1]" : "[\"subscribe\" \"c\" :1]",
                    client.Read().ToString());
                using var publisher = borrowed.Server.Connect();
                Assert.Equal(":1", publisher.Command("PUBLISH c hello").ToString());
                Assert.Equal("\"hello\"", client.Read().Items![2].ToString());
                client.Send("UNSUBSCRIBE c");
                Assert.Equal(":0", client.Read().Items![2].ToString());
                Pipeline(client, "PING", "CLIENT REPLY ON");
                Assert.Equal("+OK", client.Read().ToString());
            }
        }
    }

    // A subscription kept the SKIP for whatever came behind it: the client waited for a reply that never came.
    [Theory, InlineData(2), InlineData(3)]
    public void SKIP_is_for_the_next_command_whatever_that_is(int resp)
    {
        foreach (var borrow in (Func<SharedServers.Borrowed>[])[SharedServers.Kv, SharedServers.Redis])
        {
            using (var borrowed = borrow())
            {
                using var client = borrowed.Server.Connect(resp);
                Pipeline(client, "CLIENT REPLY SKIP", "SUBSCRIBE c", "PING", "UNSUBSCRIBE c", "CLIENT REPLY SKIP",
                    "CLIENT REPLY SKIP", "ECHO a", "ECHO b");
                Assert.Equal("c", client.Read().Items![1].String);
                client.Read();      // PING
                Assert.Equal("c", client.Read().Items![1].String);
                Assert.Equal("\"b\"", client.Read().ToString());
            }
        }
    }

    private static void Pipeline(RespClient client, params string[] lines) =>
        client.Send([.. lines.SelectMany(line => RespText.Encode(line))]);
}

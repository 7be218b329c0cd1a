using System.Globalization;
using Kv.Tests.Harness;

namespace Kv.Tests.PubSub;

/// <summary>Publish and subscribe between connections, over every worker of a server.</summary>
public class PubSubServerTests
{
    // The limit by default; of what is on its way the kernel has some megabytes, too.
    [Theory, MemberData(nameof(Network.Transports.Both), MemberType = typeof(Network.Transports))]
    public void Known_B03_a_frozen_subscriber_of_many_is_closed_at_32_MB_and_the_rest_go_on(string transport)
    {
        const int Rest = 300, PieceBytes = 60_000, PiecesMax = 100_000_000 / PieceBytes;
        using var server = KvInstance.Start("--worker-threads", "2", "--transport", transport);
        using RespClient frozen = server.Connect(), publisher = server.Connect();
        var rest = Enumerable.Range(0, Rest).Select(_ => server.Connect()).ToList();
        try
        {
            var session = server.SessionOf(frozen);
            frozen.Ok("SUBSCRIBE all large");
            foreach (var reader in rest) reader.Ok("SUBSCRIBE all");
            byte[] piece = new byte[PieceBytes];
            int pieces = 0, numbers = 0;
            // Ends: when the subscriber is gone.
            while (publisher.Command("PUBLISH"u8.ToArray(), "large"u8.ToArray(), piece).Integer == 1)
            {
                Assert.True(++pieces < PiecesMax, $"{pieces} x 60 KB are unread, and it is still there");
                KvInstance.AwaitTaken(session);
                if (pieces % 50 == 0)
                    Assert.InRange(publisher.Ok($"PUBLISH all {++numbers}").Integer, Rest, Rest + 1);
            }

            Assert.Equal(Rest, publisher.Ok($"PUBLISH all {++numbers}").Integer);
            foreach (var reader in rest)
                for (int number = 1; number <= numbers; number++)
                    Assert.Equal($"{number}", reader.Read().Items![2].String);
            Assert.Equal("1", publisher.Info("client_output_buffer_limit_disconnections"));
            AwaitFigure(publisher, "kv_mem_messages", "0");
            AwaitFigure(publisher, "connected_clients", $"{Rest + 1}");
        }
        finally
        {
            rest.ForEach(reader => reader.Dispose());
        }
    }

    [Fact]
    public void Known_B03_a_subscriber_that_does_not_read_is_closed_and_nobody_else_notices()
    {
        const int Messages = 4000;
        using var server = KvInstance.Start("--worker-threads", "2", "--client-output-buffer-limit", "pubsub 1mb 0 0");
        using RespClient frozen = server.Connect(), reader = server.Connect(), publisher = server.Connect();
        frozen.Socket.ReceiveBufferSize = 4096;
        var session = server.SessionOf(frozen);
        Assert.Equal(1, frozen.Ok("SUBSCRIBE ch").Items![2].Integer);
        Assert.Equal(1, reader.Ok("SUBSCRIBE ch").Items![2].Integer);

        byte[] payload = new byte[10_000];
        long receivers = 2;
        for (int i = 0; i < Messages; i++)
        {
            receivers = publisher.Command("PUBLISH"u8.ToArray(), "ch"u8.ToArray(), payload).Integer;
            Assert.Equal(payload.Length, reader.Read().Items![2].Text!.Length);
            KvInstance.AwaitTaken(session);
        }

        Assert.Equal(1, receivers);
        Assert.Equal("1", publisher.Info("client_output_buffer_limit_disconnections"));
        AwaitFigure(publisher, "kv_mem_messages", "0");
    }

    [Theory, MemberData(nameof(Network.Transports.Both), MemberType = typeof(Network.Transports))]
    public void A_message_that_many_have_not_read_is_held_once_and_all_of_them_get_it(string transport)
    {
        const int Subscribers = 20, Messages = 300, MessageBytes = 60_000;
        using var server = KvInstance.Start("--worker-threads", "2", "--transport", transport,
            "--client-output-buffer-limit", "pubsub 0 0 0");
        using var publisher = server.Connect();
        var frozen = Enumerable.Range(0, Subscribers).Select(_ => server.Connect()).ToList();
        try
        {
            foreach (var one in frozen)
            {
                one.Socket.ReceiveBufferSize = 64 * 1024;
                one.Ok("SUBSCRIBE ch");
            }

            string text = new('x', MessageBytes);
            for (int i = 0; i < Messages; i++) Assert.Equal(Subscribers, publisher.Ok($"PUBLISH ch {text}{i}").Integer);
            long held = long.Parse(publisher.Info("used_memory"), CultureInfo.InvariantCulture);
            // Beside the 18 MB each has a little in buffers of its own.
            Assert.InRange(held, Messages * MessageBytes / 2, 3L * Messages * MessageBytes);
            // Two leave in the middle, after a last command or without one: they get the rest all the same.
            frozen[0].Send("QUIT");
            frozen[1].Socket.Shutdown(System.Net.Sockets.SocketShutdown.Send);
            foreach (var one in frozen)
                for (int i = 0; i < Messages; i++) Assert.EndsWith($"x{i}", one.Read().Items![2].String);
            Assert.Equal("+OK", frozen[0].Read().ToString());
            Assert.True(frozen[0].IsClosedByServer());
            Assert.True(frozen[1].IsClosedByServer());
            Assert.Equal("pong", frozen[2].Command("PING").Items![0].String);
            AwaitFigure(publisher, "kv_mem_messages", "0");
        }
        finally
        {
            frozen.ForEach(one => one.Dispose());
        }
    }

    // Through sockets: subscribers come, go and vanish while others publish; the counts return to 0.
    [Fact]
    public async Task Known_B04_counts_return_to_zero_after_subscribers_came_and_vanished()
    {
        using var server = KvInstance.Start("--worker-threads", "2");
        using RespClient steady = server.Connect(), publisher = server.Connect();
        steady.Ok("SUBSCRIBE ch");
        var comers = Enumerable.Range(0, 3).Select(thread => Task.Run(() =>
        {
            var random = Seed.NewRandom(thread);
            for (int i = 0; i < 40; i++)
            {
                using var comer = server.Connect(resp: 2 + random.Next(2));
                comer.Send($"SUBSCRIBE ch other{random.Next(5)}");
                comer.Send("PSUBSCRIBE c*");
                for (int read = random.Next(4); read > 0; read--) comer.Read();
                if (random.Next(2) == 0) comer.Reset();
            }
        })).ToArray();

        const int Messages = 2000;
        for (int i = 0; i < Messages; i++) Assert.True(publisher.Ok($"PUBLISH ch {i}").Integer >= 1);
        for (int i = 0; i < Messages; i++) Assert.Equal($"{i}", steady.Read().Items![2].String);
        await Task.WhenAll(comers);

        steady.Ok("UNSUBSCRIBE");
        server.AwaitClients(2);
        // What a client was subscribed to ends after it is no longer counted.
        foreach (string figure in (string[])["pubsub_channels", "pubsub_patterns", "pubsub_clients", "kv_mem_messages"])
            AwaitFigure(publisher, figure, "0");
        Assert.Equal(0, publisher.Ok("PUBSUB NUMSUB ch").Items![1].Integer);
    }

    // On one RESP3 connection: its own replies and messages from elsewhere, none inside another.
    [Fact]
    public async Task Known_B05_pushes_never_split_a_reply()
    {
        const int Gets = 10_000, Messages = 2000;
        using var server = KvInstance.Start("--worker-threads", "2");
        using RespClient client = server.Connect(resp: 3), publisher = server.Connect();
        client.Ok("SET k 0123456789");
        client.Ok("SUBSCRIBE ch");
        var publishing = Task.Run(() =>
        {
            for (int i = 0; i < Messages; i++) publisher.Ok($"PUBLISH ch {i}");
        });
        var sending = Task.Run(() =>
        {
            byte[] get = RespText.Encode("MGET k k k");
            for (int i = 0; i < Gets; i++) client.Send(get);
        });

        int replies = 0, messages = 0;
        while (replies < Gets || messages < Messages)
        {
            var reply = client.Read();
            if (reply.Type == '>') Assert.Equal(Invariant(messages++), reply.Items![2].String);
            else
            {
                Assert.Equal("[\"0123456789\" \"0123456789\" \"0123456789\"]", reply.ToString());
                replies++;
            }
        }
        await Task.WhenAll(publishing, sending);
    }

    // A reply that is written over several turns, with messages arriving in between.
    [Fact]
    public async Task Pushes_never_split_a_reply_that_takes_several_turns()
    {
        const int Keys = 30_000, Rounds = 5;
        using var server = KvInstance.Start("--worker-threads", "2");
        using RespClient client = server.Connect(resp: 3), publisher = server.Connect();
        string name = new('k', 100);
        for (int i = 0; i < Keys; i++) client.Send($"SET {name}{i} v");
        for (int i = 0; i < Keys; i++) client.Read();
        client.Ok("SUBSCRIBE ch");
        using var stop = new CancellationTokenSource();
        var publishing = Task.Run(() =>
        {
            int sent = 0;
            while (!stop.IsCancellationRequested) publisher.Ok($"PUBLISH ch {sent++}");
            return sent;
        });

        int messages = 0;
        for (int round = 0; round < Rounds; round++)
        {
            client.Send("KEYS *");
            Reply reply;
            while ((reply = client.Read()).Type == '>') Assert.Equal(Invariant(messages++), reply.Items![2].String);
            Assert.Equal(Keys, reply.Items!.Count);
            Assert.All(reply.Items, key => Assert.Equal('$', key.Type));
        }
        await stop.CancelAsync();
        int all = await publishing;
        while (messages < all) Assert.Equal(Invariant(messages++), client.Read().Items![2].String);
    }

    // What a RESP2 client reads after its last confirmation is the reply to its next command, never a message.
    [Fact]
    public async Task After_the_confirmation_of_UNSUBSCRIBE_comes_no_message()
    {
        using var server = KvInstance.Start("--worker-threads", "2");
        using RespClient client = server.Connect(), publisher = server.Connect();
        using var stop = new CancellationTokenSource();
        var publishing = Task.Run(() =>
        {
            while (!stop.IsCancellationRequested) publisher.Ok("PUBLISH ch x");
        });
        for (int round = 0; round < 300; round++)
        {
            client.Ok("SUBSCRIBE ch");
            client.Send("UNSUBSCRIBE");
            client.Send("GET missing");
            Reply reply;
            do reply = client.Read();
            while (reply.Items![0].String == "message");
            Assert.Equal("[\"unsubscribe\" \"ch\" :0]", reply.ToString());
            Assert.True(client.Read().IsNull);
        }
        await stop.CancelAsync();
        await publishing;
    }

    [Fact]
    public void Messages_published_from_one_connection_arrive_in_order_on_every_worker()
    {
        const int Subscribers = 8, Messages = 500;
        using var server = KvInstance.Start("--worker-threads", "2");
        using var publisher = server.Connect();
        var subscribers = Enumerable.Range(0, Subscribers).Select(i => server.Connect(resp: 2 + i % 2)).ToArray();
        foreach (var subscriber in subscribers) subscriber.Ok("SUBSCRIBE ch");
        for (int i = 0; i < Messages; i++) Assert.Equal(Subscribers, publisher.Ok($"PUBLISH ch {i}").Integer);
        foreach (var subscriber in subscribers)
        {
            for (int i = 0; i < Messages; i++) Assert.Equal(Invariant(i), subscriber.Read().Items![2].String);
            subscriber.Dispose();
        }
    }

    [Fact]
    public void Shard_channels_are_confirmed_and_counted_by_themselves()
    {
        using var server = KvInstance.Start();
        Transcript.Check(server, """
            > SSUBSCRIBE a b
            < >["ssubscribe" "a" :1]
            < >["ssubscribe" "b" :2]
            > SUBSCRIBE a
            < >["subscribe" "a" :1]
            b> SPUBLISH a hello
            b< :1
            < >["smessage" "a" "hello"]
            b> PUBSUB SHARDCHANNELS
            b< ?["a" "b"]
            b> PUBSUB SHARDNUMSUB a c
            b< ["a" :1 "c" :0]
            > SUNSUBSCRIBE
            < >["sunsubscribe" <string> :1]
            < >["sunsubscribe" <string> :0]
            > SUNSUBSCRIBE
            < >["sunsubscribe" nil :0]
            > UNSUBSCRIBE
            < >["unsubscribe" "a" :0]
            """);
    }

    [Fact]
    public void Known_B01_a_message_of_its_own_publisher_is_delivered_once()
    {
        using var server = KvInstance.Start();
        Transcript.Run(server, """
            > SUBSCRIBE ch
            < >["subscribe" "ch" :1]
            > PUBLISH ch alone
            < :1
            < >["message" "ch" "alone"]
            > EVAL "return redis.call('PUBLISH', 'ch', 'of a script')" 0
            < :1
            < >["message" "ch" "of a script"]
            > MULTI
            < +OK
            > PUBLISH ch queued
            < +QUEUED
            > EXEC
            < [:1]
            < >["message" "ch" "queued"]
            > PING
            < +PONG
            """, resp: 3);
    }

    [Fact]
    public void Known_B02_and_B05_a_subscriber_of_RESP2_may_do_little_and_gets_PING_as_a_message()
    {
        using var server = KvInstance.Start();
        using var client = server.Connect();
        Assert.Equal("[\"unsubscribe\" $-1 :0]", client.Ok("UNSUBSCRIBE").ToString());
        client.Ok("SUBSCRIBE ch");
        Assert.StartsWith("ERR Can't execute 'get': only (P|S)SUBSCRIBE", client.Command("GET k").String,
            StringComparison.Ordinal);
        Assert.Equal("[\"pong\" \"\"]", client.Ok("PING").ToString());
        Assert.Equal("[\"pong\" \"hello\"]", client.Ok("PING hello").ToString());
        Assert.Equal("[\"unsubscribe\" \"ch\" :0]", client.Ok("UNSUBSCRIBE").ToString());
        Assert.True(client.Ok("GET k").IsNull);
    }

    [Fact]
    public void Past_the_limit_of_subscriptions_nothing_is_subscribed()
    {
        using var server = KvInstance.Start("--subscription-limit", "3");
        Transcript.Run(server, """
            > SUBSCRIBE a b
            < >["subscribe" "a" :1]
            < >["subscribe" "b" :2]
            > PSUBSCRIBE c d
            < -ERR too many subscriptions
            > SUBSCRIBE a b c
            < >["subscribe" "a" :2]
            < >["subscribe" "b" :2]
            < >["subscribe" "c" :3]
            > SSUBSCRIBE d
            < -ERR too many subscriptions
            b> PUBSUB CHANNELS
            b< ?["a" "b" "c"]
            b> PUBSUB NUMPAT
            b< :0
            """, resp: 3);
    }

    [Fact]
    public void A_server_without_publish_and_subscribe_says_so()
    {
        using var server = KvInstance.Start("--no-pubsub", "yes");
        using var client = server.Connect();
        foreach (string command in (string[])["SUBSCRIBE a", "PSUBSCRIBE a", "PUBLISH a b", "PUBSUB CHANNELS",
            "UNSUBSCRIBE"])
            Assert.StartsWith("-ERR publish/subscribe is switched off", client.Command(command).ToString(),
                StringComparison.Ordinal);
    }

    private static void AwaitFigure(RespClient client, string field, string value) =>
        Eventually.Holds(() => client.Info(field) == value, () => $"{field} is {client.Info(field)}, not {value}");

    private static string Invariant(int number) => number.ToString(CultureInfo.InvariantCulture);
}

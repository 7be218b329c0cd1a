using System.Net.Sockets;
using Kv.Tests.Harness;

namespace Kv.Tests.Network;

/// <summary>Whole conversations over real sockets, on both transports: what arrives how must not matter.</summary>
public sealed class ConversationTests
{
    // What comes in behind a QUIT is thrown away: not into what others of the same turn have sent.
    [Theory, MemberData(nameof(Transports.Both), MemberType = typeof(Transports))]
    public void What_a_client_says_after_its_last_word_is_nobody_elses(string transport)
    {
        using var server = KvInstance.Start("--transport", transport, "--worker-threads", "1");
        using var run = new Commands.ClientRun(server, TimeBudget.OfSeconds(1));
        for (int i = 0; i < 3; i++)
        {
            run.Add((client, random) =>
            {
                string word = random.Next().ToString();
                Assert.Equal(word, client.Command($"ECHO {word}").String);
            });
        }

        for (int i = 0; i < 3; i++)
        {
            run.AddOutside(_ =>
            {
                using var client = server.Connect();
                client.Ok("QUIT");
                try
                {
                    for (int word = 0; word < 20; word++) client.Send("SET injected 1");
                }
                catch (SocketException)
                {
                    // The server has closed the socket, as it may.
                }
            });
        }

        run.Finish();
        using var last = server.Connect();
        Assert.Equal(":0", last.Ok("EXISTS injected").ToString());
    }

    [Theory, MemberData(nameof(Transports.Both), MemberType = typeof(Transports))]
    public void A_pipeline_gets_the_same_replies_wherever_it_is_cut(string transport)
    {
        using var server = KvInstance.Start("--transport", transport, "--worker-threads", "1");
        byte[] input = [.. RespText.Encode("SET a 1"), .. "PING\r\nset b \"two words\"\r\n"u8,
            .. RespText.Encode("GET b"),
            .. RespText.Encode("nosuch x"), .. RespText.Encode("GET"), .. RespText.Encode("SELECT 1"),
            .. RespText.Encode("GET a"),
            .. RespText.Encode("SELECT 0"), .. RespText.Encode("APPEND a 23"), .. "\r\n*0\r\n"u8,
            .. RespText.Encode("GET a"), .. RespText.Encode("DEL a b")];
        string[] expected = ["+OK", "+PONG", "+OK", "two words",
            "-ERR unknown command 'nosuch', with args beginning with: 'x' ",
            "-ERR wrong number of arguments for 'get' command", "+OK", "nil", "+OK", ":3", "123", ":2"];
        using var client = server.Connect();
        for (int cut = 0; cut <= input.Length; cut++)
        {
            client.Send(input.AsSpan(0, cut));
            client.Send(input.AsSpan(cut));
            foreach (string reply in expected) Assert.Equal((cut, reply), (cut, Text(client.Read())));
        }
    }

    [Theory, MemberData(nameof(Transports.Both), MemberType = typeof(Transports))]
    public void Large_values_come_back_as_they_were_sent_however_their_bytes_arrive(string transport)
    {
        using var server = KvInstance.Start("--transport", transport, "--worker-threads", "1");
        var random = Seed.NewRandom();
        using var client = server.Connect();
        foreach (int length in (int[])[65_535, 65_536, 65_537, 70_000, 131_072, 1_000_000, 3_000_000])
        {
            byte[] value = new byte[length];
            random.NextBytes(value);
            byte[] input = [.. RespText.Encode([.. "SET"u8.ToArray().Yield(), "k"u8.ToArray(), value]),
                .. RespText.Encode("GET k"), .. RespText.Encode("STRLEN k"), .. RespText.Encode("GET k")];
            for (int at = 0; at < input.Length;)
            {
                int piece = Math.Min(input.Length - at,
                    random.Next(3) == 0 ? random.Next(1, 100) : random.Next(1, 300_000));
                client.Send(input.AsSpan(at, piece));
                at += piece;
            }

            Assert.Equal("+OK", Text(client.Read()));
            Assert.True(value.AsSpan().SequenceEqual(client.Read().Text), $"{length} bytes, {Seed.Hint}");
            Assert.Equal($":{length}", Text(client.Read()));
            Assert.True(value.AsSpan().SequenceEqual(client.Read().Text), $"{length} bytes, {Seed.Hint}");
        }
    }

    [Theory, MemberData(nameof(Transports.Both), MemberType = typeof(Transports))]
    public void A_client_may_send_a_million_commands_before_it_reads(string transport)
    {
        using var server = KvInstance.Start("--transport", transport, "--worker-threads", "1");
        using var client = server.Connect();
        string value = new('v', 100);
        client.Ok($"SET k {value}");
        byte[] get = RespText.Encode("GET k");
        byte[] batch = new byte[get.Length * 10_000];
        for (int i = 0; i < 10_000; i++) get.CopyTo(batch, i * get.Length);
        for (int i = 0; i < 100; i++) client.Send(batch);
        client.Skip(999_999L * (6 + 100 + 2));
        Assert.Equal(value, client.Read().String);
        Assert.Equal("+PONG", Text(client.Command("PING")));
    }

    [Theory, MemberData(nameof(Transports.Both), MemberType = typeof(Transports))]
    public void A_client_that_does_not_read_is_not_run_any_further_until_it_does(string transport)
    {
        using var server = KvInstance.Start("--transport", transport, "--worker-threads", "1",
            "--client-output-pause", "1mb");
        using var client = server.Connect();
        string value = new('v', 10_000);
        client.Ok($"SET k {value}");
        const int Gets = 20_000;        // 200 MB of replies, 400 KB of commands
        byte[] get = RespText.Encode("GET k");
        byte[] all = [.. Enumerable.Repeat(get, Gets).SelectMany(bytes => bytes), .. RespText.Encode("SET done yes")];
        client.Send(all);
        var session = Assert.Single(server.Server.Connections.Snapshot());
        Eventually.Holds(() => session.OutputPaused && session.OutputBytes > 0,
            () => $"{session.OutputBytes} bytes wait, but the client is not paused");
        using (var other = server.Connect())
        {
            Assert.True(other.Command("GET done").IsNull, "the pipeline was run to its end though nobody reads");
            // 1 MB, and what one turn's input of 64 KB may still answer between two looks at it.
            Assert.InRange(session.OutputBytes, 0, 3 << 20);
        }

        client.Skip((long)Gets * (8 + 10_000 + 2));
        Assert.Equal("+OK", Text(client.Read()));
    }

    [Theory, MemberData(nameof(Transports.Both), MemberType = typeof(Transports))]
    public void A_client_that_leaves_more_unread_than_the_limit_is_closed(string transport)
    {
        using var server = KvInstance.Start("--transport", transport, "--worker-threads", "1",
            "--client-output-buffer-limit", "normal 2mb 0 0");
        using var client = server.Connect();
        client.Ok($"SET k {new string('v', 50_000)}");
        byte[] get = RespText.Encode("GET k");
        client.Send([.. Enumerable.Repeat(get, 2_000).SelectMany(bytes => bytes)]);
        Eventually.Holds(() => server.Server.Clients == 0, () => "the client is still connected");
        using var other = server.Connect();
        Assert.Equal("+PONG", Text(other.Command("PING")));
    }

    [Theory, MemberData(nameof(Transports.Both), MemberType = typeof(Transports))]
    public void Commands_before_the_end_of_input_are_answered(string transport)
    {
        using var server = KvInstance.Start("--transport", transport);
        using var client = server.Connect();
        client.Send([.. Enumerable.Repeat(RespText.Encode("PING"), 10_000).SelectMany(bytes => bytes)]);
        client.Socket.Shutdown(System.Net.Sockets.SocketShutdown.Send);
        for (int i = 0; i < 10_000; i++) Assert.Equal("+PONG", Text(client.Read()));
        Assert.True(client.IsClosedByServer());
    }

    [Theory, MemberData(nameof(Transports.Both), MemberType = typeof(Transports))]
    public void Clients_that_disappear_in_the_middle_of_anything_leave_nothing_behind(string transport)
    {
        using var server = KvInstance.Start("--transport", transport, "--worker-threads", "2");
        var random = Seed.NewRandom();
        byte[] input = [.. RespText.Encode([.. "SET"u8.ToArray().Yield(), "k"u8.ToArray(), new byte[200_000]]),
            .. RespText.Encode("GET k"), .. RespText.Encode("SUBSCRIBE c")];
        using var steady = server.Connect();
        steady.Ok("SET k 1");
        for (int i = 0; i < 300; i++)
        {
            var client = server.Connect();
            client.Send(input.AsSpan(0, random.Next(input.Length + 1)));
            if (random.Next(2) == 0) client.Reset();
            else client.Dispose();
            Assert.Equal("+PONG", Text(steady.Command("PING")));
        }

        server.AwaitClients(1);
        steady.Ok("FLUSHALL");
        Eventually.Holds(() => server.Server.Store.Stats.BlockBytes == 0,
            () => $"{server.Server.Store.Stats.BlockBytes} bytes of blocks are left; {Seed.Hint}");
    }

    [Theory, MemberData(nameof(Transports.Both), MemberType = typeof(Transports))]
    public void A_killed_client_is_gone_while_it_sleeps_and_while_it_works(string transport)
    {
        using var server = KvInstance.Start("--transport", transport, "--worker-threads", "2");
        using var killer = server.Connect();
        for (int i = 0; i < 50; i++)
        {
            using var victim = server.Connect();
            long id = victim.Command("CLIENT ID").Integer;
            if (i % 2 == 1)
                victim.Send([.. Enumerable.Repeat(RespText.Encode("PING"), 5_000).SelectMany(bytes => bytes)]);
            Assert.Equal(":1", Text(killer.Command($"CLIENT KILL ID {id}")));
            Eventually.Holds(() => server.Server.Clients == 1, () => "the victim lives");
        }
    }

    [Theory, MemberData(nameof(Transports.Both), MemberType = typeof(Transports))]
    public void A_sleeping_worker_is_woken_for_every_message(string transport)
    {
        using var server = KvInstance.Start("--transport", transport, "--worker-threads", "2", "--worker-spin-us", "0");
        using var subscriber = server.Connect();
        using var publisher = server.Connect();
        subscriber.Command("SUBSCRIBE c");
        for (int i = 0; i < 5_000; i++)
        {
            Assert.Equal(":1", Text(publisher.Command($"PUBLISH c {i}")));
            Assert.Equal(i.ToString(System.Globalization.CultureInfo.InvariantCulture),
                subscriber.Read().Items![2].String);
        }
    }

    private static string Text(Reply reply) =>
        reply.IsNull ? "nil" : reply.Type == '$' ? reply.String : reply.Type + reply.String;
}

internal static class Words
{
    public static IEnumerable<byte[]> Yield(this byte[] word) => [word];
}

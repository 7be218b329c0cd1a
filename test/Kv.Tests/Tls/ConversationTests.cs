using System.Net.Security;
using System.Net.Sockets;
using Kv.Tests.Harness;

namespace Kv.Tests.Tls;

/// <summary>Conversations over TLS are those in clear: large values, pipelines, messages, waits, ends.</summary>
public sealed class ConversationTests : IDisposable
{
    private readonly TlsServer _server = new("--tls-auth-clients", "no");

    public void Dispose() => _server.Dispose();

    // Records of TLS hold 16 KB, and two of them are sent at once: values of many and of a part of one, in writes cut
    // anywhere; and replies that end with the second record, and a byte after it.
    [Theory, InlineData(1), InlineData(16_000), InlineData(16_384), InlineData(32_758), InlineData(32_759),
        InlineData(65_536), InlineData(65_537),
        InlineData(1_000_003), InlineData(16 << 20)]
    public void Values_of_any_size_go_both_ways_however_they_are_cut(int bytes)
    {
        var random = Seed.NewRandom();
        byte[] value = new byte[bytes];
        random.NextBytes(value);
        using var client = _server.ConnectUnknown();
        byte[] request = RespText.Encode(["SET"u8.ToArray(), "k"u8.ToArray(), value]);
        int longest = Math.Max(bytes / 50, 3);
        for (int at = 0; at < request.Length;)
        {
            int count = Math.Min(request.Length - at, random.Next(1, longest));
            client.Send(request.AsSpan(at, count));
            at += count;
        }

        Assert.Equal("+OK", client.Read().ToString());
        Assert.Equal(bytes, client.Ok("STRLEN k").Integer);
        var seen = client.Command("GET"u8.ToArray(), "k"u8.ToArray());
        Assert.True(value.AsSpan().SequenceEqual(seen.Text));
        using var plain = _server.Kv.Connect();
        Assert.True(value.AsSpan().SequenceEqual(plain.Command("GET"u8.ToArray(), "k"u8.ToArray()).Text));
    }

    [Fact]
    public async Task Large_values_of_a_pipeline_are_answered_in_order_while_the_client_still_sends()
    {
        const int Count = 40, Bytes = 200_000;
        using var client = _server.ConnectUnknown();
        byte[] value = new byte[Bytes];
        var sending = Task.Run(() =>
        {
            for (int i = 0; i < Count; i++)
            {
                client.Send(RespText.Encode(["SET"u8.ToArray(), RespText.Bytes($"k{i}"), value]));
                client.Send(RespText.Bytes($"GET k{i}\r\nPING\r\n"));
            }
        });
        for (int i = 0; i < Count; i++)
        {
            Assert.Equal("+OK", client.Read().ToString());
            Assert.Equal(Bytes, client.Read().Text!.Length);
            Assert.Equal("+PONG", client.Read().ToString());
        }

        await sending;
    }

    // The socket is full in the middle of a run's replies, and of a record.
    [Fact]
    public async Task Replies_wait_in_order_for_a_client_that_reads_late()
    {
        const int Count = 20_000;
        using var client = _server.ConnectUnknown();
        string padding = new('v', 1000);
        var sending = Task.Run(() =>
        {
            for (int i = 0; i < Count; i += 100)
                client.Send(RespText.Bytes(string.Concat(Enumerable.Range(i, 100)
                    .Select(number => $"ECHO {number}{padding}\r\n"))));
        });
        await sending;
        using var plain = _server.Kv.Connect();
        Eventually.Holds(() => plain.Ok("CLIENT LIST").String.Split(" omem=").Skip(1)
            .Any(rest => long.Parse(rest.Split(' ')[0]) > 1 << 20), () => "the server keeps nothing for it");
        for (int i = 0; i < Count; i++) Assert.Equal($"\"{i}{padding}\"", client.Read().ToString());
    }

    [Fact]
    public void A_thousand_clients_pipeline_at_once()
    {
        const int Clients = 1000, Commands = 50;
        var clients = new RespClient[Clients];
        try
        {
            Parallel.For(0, Clients, new ParallelOptions { MaxDegreeOfParallelism = 16 },
                i => clients[i] = _server.ConnectUnknown());
            Assert.Equal($"{Clients}", _server.Info("kv_tls_clients"));
            byte[] pipeline = [.. Enumerable.Repeat(RespText.Encode("INCR n"), Commands).SelectMany(bytes => bytes)];
            foreach (var client in clients) client.Send(pipeline);
            foreach (var client in clients)
                for (int i = 0; i < Commands; i++) Assert.Equal(':', client.Read().Type);
            Assert.Equal($"\"{Clients * Commands}\"", clients[0].Command("GET n").ToString());
        }
        finally
        {
            foreach (var client in clients) client?.Dispose();
        }

        _server.AwaitInfo("kv_tls_clients", "0");
        Assert.Equal("0", _server.Info("kv_tls_failed_handshakes"));
    }

    [Fact]
    public void Messages_and_served_waits_come_by_themselves()
    {
        using RespClient subscriber = _server.ConnectUnknown(), waiting = _server.ConnectUnknown();
        using var plain = _server.Kv.Connect();
        subscriber.Ok("SUBSCRIBE c");
        _server.Kv.Block(waiting, "BLPOP list 0");
        Assert.Equal(1, plain.Ok("PUBLISH c hello").Integer);
        Assert.Equal("[\"message\" \"c\" \"hello\"]", subscriber.Read().ToString());
        plain.Ok("RPUSH list v");
        Assert.Equal("[\"list\" \"v\"]", waiting.Read().ToString());
        subscriber.Send("PING");
        Assert.Equal("[\"pong\" \"\"]", subscriber.Read().ToString());
    }

    [Fact]
    public void A_client_that_is_killed_or_leaves_while_it_waits_takes_nothing()
    {
        using RespClient killed = _server.ConnectUnknown(), leaving = _server.ConnectUnknown();
        using var plain = _server.Kv.Connect();
        _server.Kv.Block(killed, "BLPOP list 0");
        _server.Kv.Block(leaving, "BLPOP list 0");
        Assert.Equal(1, plain.Ok($"CLIENT KILL ADDR {killed.Socket.LocalEndPoint}").Integer);
        leaving.Dispose();
        Assert.True(killed.IsClosedByServer());
        _server.Kv.AwaitBlocked(0);
        Assert.Equal(1, plain.Ok("RPUSH list v").Integer);
        Assert.Equal(1, plain.Ok("LLEN list").Integer);
        _server.AwaitInfo("kv_tls_clients", "0");
    }

    // Its side is closed by TLS or by TCP: replies come all the same, then the server's own goodbye.
    [Theory, InlineData(true), InlineData(false)]
    public async Task A_client_that_ends_its_side_gets_all_replies_and_an_orderly_end(bool byTls)
    {
        using var client = _server.ConnectUnknown();
        var stream = (SslStream)client.Stream!;
        for (int i = 0; i < 1000; i++) client.Send(RespText.Bytes($"SET k{i} {new string('v', 500)}\r\nGET k{i}\r\n"));
        if (byTls) await stream.ShutdownAsync();
        client.Socket.Shutdown(SocketShutdown.Send);
        for (int i = 0; i < 1000; i++)
        {
            Assert.Equal("+OK", client.Read().ToString());
            Assert.Equal(500, client.Read().Text!.Length);
        }

        Assert.True(client.IsClosedByServer());
        _server.AwaitInfo("kv_tls_clients", "0");
    }

    // A connection that is cut off has no goodbye: SslStream does not tell the two ends apart, the record does.
    [Fact]
    public void The_end_after_QUIT_is_announced()
    {
        using var raw = new RespClient(_server.EndPoint, stream => new RecordCounter(stream));
        var counter = (RecordCounter)raw.Stream!;
        using var tls = new SslStream(counter, leaveInnerStreamOpen: true, (_, _, _, _) => true);
        tls.AuthenticateAsClient(new SslClientAuthenticationOptions
        {
            TargetHost = "localhost", EnabledSslProtocols = System.Security.Authentication.SslProtocols.Tls12,
        });
        tls.Write("QUIT\r\n"u8);
        byte[] reply = new byte[16];
        Assert.Equal("+OK\r\n".Length, tls.Read(reply));
        Assert.Equal(0, tls.Read(reply));
        Assert.Equal(0x15, counter.LastType);        // an alert: close_notify
    }

    [Fact]
    public void A_client_that_does_not_read_is_closed_at_its_limit_and_others_are_served()
    {
        using var plain = _server.Kv.Connect();
        plain.Ok("CONFIG SET client-output-buffer-limit \"normal 4mb 0 0\"");
        plain.Command("SET"u8.ToArray(), "k"u8.ToArray(), new byte[1 << 20]);
        using RespClient unread = _server.ConnectUnknown(), other = _server.ConnectUnknown();
        // What the server no longer reads at the end may not be taken from the client.
        Record.Exception(() => unread.Send(RespText.Bytes(string.Concat(Enumerable.Repeat("GET k\r\n", 64)))));
        _server.AwaitInfo("client_output_buffer_limit_disconnections", "1");
        other.Ok("PING");
        _server.AwaitInfo("kv_tls_clients", "1");
    }

    [Fact]
    public async Task What_was_received_is_run_and_answered_when_the_server_stops()
    {
        using var client = _server.ConnectUnknown();
        client.Ok("PING");
        for (int i = 0; i < 2000; i++) client.Send("INCR n");
        // Read to the end: each command that was run is answered.
        await _server.Kv.Server.StopAsync(TestContext.Current.CancellationToken);
        long last = 0;
        while (client.TryRead() is { } reply) Assert.Equal(++last, reply.Integer);
        Assert.True(_server.Kv.Server.EndedInOrder);
    }

    [Fact]
    public void Pages_of_HTTP_are_served_over_TLS()
    {
        using var client = _server.ConnectUnknown();
        client.Send("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"u8);
        using var reader = new StreamReader(client.Stream!);
        string page = reader.ReadToEnd();
        Assert.StartsWith("HTTP/1.1 200 OK\r\n", page, StringComparison.Ordinal);
        Assert.Contains("\nkv_tls_clients 1\n", page, StringComparison.Ordinal);
    }
}

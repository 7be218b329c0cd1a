using System.Net;
using System.Net.Sockets;
using Kv.Server;
using Kv.Server.Configuration;
using Kv.Server.Network;
using Kv.Tests.Harness;
using Kv.Tests.Reports;

namespace Kv.Tests.Http;

/// <summary>metrics-port: a port that speaks nothing but HTTP.</summary>
public class HttpPortTests
{
    [Fact]
    public void The_pages_are_served_with_a_password_too_and_to_no_client()
    {
        using var server = new MetricsServer("--requirepass", "secret");
        var page = PrometheusPage.Parse(HttpTalk.Get(server.EndPoint, "/metrics").Body);
        Assert.Equal(0, page["redis_connected_clients"]);
        Assert.Equal(0, page["redis_connections_received_total"]);
        Assert.Equal("ok\n", HttpTalk.Get(server.EndPoint, "/healthz").Body);
        Assert.Equal("ready\n", HttpTalk.Get(server.EndPoint, "/readyz").Body);
        Assert.Equal("", HttpTalk.Get(server.EndPoint, "/metrics", "HEAD").Body);
        Assert.Equal("HTTP/1.1 404 Not Found", HttpTalk.Get(server.EndPoint, "/other").StatusLine);
        Assert.Equal("HTTP/1.1 405 Method Not Allowed", HttpTalk.Get(server.EndPoint, "/metrics", "POST").StatusLine);
    }

    [Theory]
    [InlineData("PING\r\n\r\n")]
    [InlineData("*1\r\n$4\r\nPING\r\n\r\n")]
    [InlineData("GET /metrics HTTP/2\r\n\r\n")]
    [InlineData("get /metrics HTTP/1.1\r\n\r\n")]
    [InlineData("GET  HTTP/1.1\r\n\r\n")]
    [InlineData("GET http://a/metrics HTTP/1.1\r\n\r\n")]
    [InlineData("\r\n\r\n")]
    public void What_is_no_request_is_refused(string bytes)
    {
        using var server = new MetricsServer();
        Assert.Equal("HTTP/1.1 400 Bad Request", HttpTalk.Say(server.EndPoint, bytes).StatusLine);
    }

    [Fact]
    public void A_request_is_answered_when_it_is_whole_wherever_it_is_cut()
    {
        using var server = new MetricsServer();
        const string request = "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n";
        for (int cut = 1; cut < request.Length; cut++)
        {
            using var client = new RespClient(server.EndPoint);
            client.Send(RespText.Bytes(request[..cut]));
            Assert.False(client.HasInput);
            client.Send(RespText.Bytes(request[cut..] + "GET /healthz HTTP/1.1\r\n\r\n"));
            var reply = HttpTalk.ReadToEnd(client.Socket);
            Assert.Equal("ok\n", reply.Body);
        }
    }

    [Fact]
    public void A_head_of_any_length_takes_no_more_memory_than_the_limit()
    {
        using var server = new MetricsServer();
        string head = $"GET /healthz HTTP/1.1\r\nX: {new string('x', HttpPort.HeadBytesMax)}";
        Assert.StartsWith("HTTP/1.1 431 ", HttpTalk.Say(server.EndPoint, head[..HttpPort.HeadBytesMax]).StatusLine,
            StringComparison.Ordinal);
    }

    [Fact]
    public void Who_says_nothing_is_closed_after_a_while()
    {
        using var server = new MetricsServer();
        using var silent = new RespClient(server.EndPoint);
        using var slow = new RespClient(server.EndPoint);
        slow.Send("GET /met"u8);
        Assert.True(silent.IsClosedByServer());
        Assert.True(slow.IsClosedByServer());
    }

    // Whoever watches asks this port as soon as the other one answers.
    [Fact]
    public async Task It_listens_when_the_port_of_clients_does()
    {
        for (int i = 0; i < 5; i++)
        {
            int port = ServerProgram.FreePort(), metrics = ServerProgram.FreePort();
            var options = new ServerOptions { Port = port, MetricsPort = metrics };
            var starting = Task.Run(() => KvServer.StartAsync(options));
            // Ends: the server starts, or says why it does not.
            while (!Listens(port) && !starting.IsFaulted) await Task.Yield();
            Assert.True(Listens(metrics));
            await using var server = await starting;
        }

        static bool Listens(int port)
        {
            try
            {
                using var client = new TcpClient();
                client.Connect(IPAddress.Loopback, port);
                return true;
            }
            catch (SocketException)
            {
                return false;
            }
        }
    }

    // Nobody's time is over here.
    [Fact]
    public async Task However_many_say_nothing_whoever_asks_is_served_and_the_oldest_give_way()
    {
        using var kv = KvInstance.Start("--requirepass", "secret");
        kv.Server.Options.MetricsPort = ServerProgram.FreePort();
        using var http = new HttpPort(kv.Server) { RequestMs = 3_600_000 };
        http.Open();
        http.Serve();
        var port = new IPEndPoint(IPAddress.Loopback, kv.Server.Options.MetricsPort);
        // Half a request, none, and those who wait because of what they said.
        for (int i = 0; i < 3; i++)
            HttpTalk.Say(port, "GET / HTTP/1.1\r\nAuthorization: Basic OndYb25n\r\n\r\n");
        var silent = new List<RespClient>();
        for (int i = 0; i < 5 * HttpPort.ConnectionsMax; i++)
        {
            silent.Add(new RespClient(port));
            if (i % 3 == 0) silent[i].Send("GET /met"u8);
            if (i % 3 == 2) silent[i].Send("GET / HTTP/1.1\r\nAuthorization: Basic OndYb25n\r\n\r\n"u8);
            if (i % 20 == 0) Assert.Equal("ok\n", HttpTalk.Get(port, "/healthz").Body);
        }

        Assert.Equal("ok\n", HttpTalk.Get(port, "/healthz").Body);
        Assert.True(silent[0].IsClosedByServer());
        // The youngest wait on.
        Assert.False(silent[^1].HasInput);
        await http.StopAsync();
        silent.ForEach(client => HttpTalk.ReadToEnd(client.Socket));
        silent.ForEach(client => client.Dispose());
    }

    // Nobody's time is over here either.
    [Fact]
    public async Task However_many_do_not_read_their_reply_whoever_asks_is_served()
    {
        using var kv = KvInstance.Start();
        kv.Server.Options.MetricsPort = ServerProgram.FreePort();
        using var http = new HttpPort(kv.Server) { RequestMs = 3_600_000, LingerMs = 3_600_000 };
        http.Open();
        http.Serve();
        var port = new IPEndPoint(IPAddress.Loopback, kv.Server.Options.MetricsPort);
        var slow = new List<RespClient>();
        for (int i = 0; i < 5 * HttpPort.ConnectionsMax; i++)
        {
            slow.Add(new RespClient(port));
            slow[i].Send("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"u8);
            if (i % 20 == 0) Assert.Equal("ok\n", HttpTalk.Get(port, "/healthz").Body);
        }

        Assert.Equal("ok\n", HttpTalk.Get(port, "/healthz").Body);
        await http.StopAsync();
        slow.ForEach(client => client.Dispose());
    }

    [Fact]
    public async Task Until_its_end_a_server_that_stops_says_so()
    {
        using var server = new MetricsServer();
        await server.Kv.Server.StopAsync();
        var ready = HttpTalk.Get(server.EndPoint, "/readyz");
        Assert.Equal(("HTTP/1.1 503 Service Unavailable", "stopping\n"), (ready.StatusLine, ready.Body));
        Assert.Equal("ok\n", HttpTalk.Get(server.EndPoint, "/healthz").Body);
        Assert.Equal(1, PrometheusPage.Parse(HttpTalk.Get(server.EndPoint, "/metrics").Body)["redis_up"]);
    }

    [Fact]
    public void A_server_ends_while_it_is_asked()
    {
        var server = new MetricsServer();
        using var silent = new RespClient(server.EndPoint);
        HttpTalk.Get(server.EndPoint, "/healthz");     // the silent one is accepted by now
        using var asking = new RespClient(server.EndPoint);
        asking.Send("GET /metrics HTTP/1.1\r\n\r\n"u8);
        server.Dispose();
        Assert.True(silent.IsClosedByServer());
    }

    [Fact]
    public async Task A_port_that_is_taken_stops_the_start()
    {
        using var server = new MetricsServer();
        var options = KvInstance.OptionsOf(["--port", "0", "--bind", "127.0.0.1", "--metrics-port",
            server.EndPoint.ToString()!.Split(':')[1]]);
        var exception = await Assert.ThrowsAsync<ListenException>(() => KvServer.StartAsync(options));
        Assert.True(exception.AddressInUse);
    }

    /// <summary>Clients get no descriptor that it needs.</summary>
    [Theory, MemberData(nameof(HttpOnPortTests.Both), MemberType = typeof(HttpOnPortTests))]
    public void It_is_served_when_clients_have_all_the_sockets_that_there_are_for_them(string transport)
    {
        Requires.Linux("ulimit");
        int port = ServerProgram.FreePort();
        using var kv = LimitedKv.Start("ulimit -n 256", "--transport", transport, "--worker-threads", "2",
            "--metrics-port", port.ToString());
        var clients = Enumerable.Range(0, 256).Select(_ => new RespClient(kv.EndPoint)).ToList();
        Eventually.Holds(() => kv.OpenFiles > 160, () => $"{kv.OpenFiles} are open");
        // With those that have just left they are as many as have a place: nobody loses one.
        var together = new ParallelOptions { MaxDegreeOfParallelism = HttpPort.ConnectionsMax / 2 };
        Parallel.For(0, 2 * HttpPort.ConnectionsMax, together, i =>
        {
            var reply = HttpTalk.Get(new IPEndPoint(IPAddress.Loopback, port), "/metrics");
            if (reply.StatusLine == "HTTP/1.1 200 OK")
                Assert.InRange(PrometheusPage.Parse(reply.Body)["redis_connected_clients"], 50, 256);
        });
        clients.ForEach(client => client.Dispose());
        Assert.DoesNotContain("xception", kv.Log, StringComparison.Ordinal);
        Assert.False(kv.Process.HasExited, kv.Log);
    }
}

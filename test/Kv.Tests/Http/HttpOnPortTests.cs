using System.Net;
using System.Net.Sockets;
using System.Text;
using Kv.Tests.Harness;
using Kv.Tests.Network;
using Kv.Tests.Reports;

namespace Kv.Tests.Http;

/// <summary>HTTP on the port of clients: the first line of a connection, and nothing else.</summary>
public class HttpOnPortTests
{
    private const string Arity = "-ERR wrong number of arguments for 'get' command\r\n";

    public static TheoryData<string> Both => Transports.Both;

    [Theory, MemberData(nameof(Both))]
    public void The_pages_are_served(string transport)
    {
        using var kv = KvInstance.Start("--transport", transport);
        var metrics = HttpTalk.Get(kv.EndPoint, "/metrics");
        Assert.Equal("HTTP/1.1 200 OK", metrics.StatusLine);
        Assert.Equal("text/plain; version=0.0.4; charset=utf-8", metrics.Header("Content-Type"));
        Assert.Equal(1, PrometheusPage.Parse(metrics.Body)["redis_up"]);
        Assert.Equal(("HTTP/1.1 200 OK", "ok\n"), Shown(HttpTalk.Get(kv.EndPoint, "/healthz")));
        Assert.Equal(("HTTP/1.1 200 OK", "ready\n"), Shown(HttpTalk.Get(kv.EndPoint, "/readyz?verbose")));
        Assert.Equal("HTTP/1.1 404 Not Found", HttpTalk.Get(kv.EndPoint, "/other").StatusLine);
        Assert.Equal("HTTP/1.1 404 Not Found", HttpTalk.Get(kv.EndPoint, "/" + new string('a', 5000)).StatusLine);
        var put = HttpTalk.Get(kv.EndPoint, "/metrics", "PUT");
        Assert.Equal(("HTTP/1.1 405 Method Not Allowed", "GET, HEAD"), (put.StatusLine, put.Header("Allow")));
        using var client = kv.Connect();
        Assert.Equal("1", client.Info("connected_clients"));
        Assert.Equal("0", client.Info("total_error_replies"));

        static (string, string) Shown(HttpTalk reply) => (reply.StatusLine, reply.Body);
    }

    [Theory, MemberData(nameof(Both))]
    public void A_page_may_be_longer_than_a_turn_sends(string transport)
    {
        using var kv = KvInstance.Start("--transport", transport, "--databases", "2000");
        using var client = kv.Connect();
        for (int i = 0; i < 2000; i++)
        {
            client.Ok($"SELECT {i}");
            client.Ok("SET k v");
        }

        var page = HttpTalk.Get(kv.EndPoint, "/metrics");
        Assert.InRange(page.Body.Length, 256 << 10, 8 << 20);
        Assert.Equal(1, PrometheusPage.Parse(page.Body)["redis_db_keys{db=\"db1999\"}"]);
        Assert.Equal("0", client.Info("total_error_replies"));
    }

    [Theory, MemberData(nameof(Both))]
    public void A_request_may_come_in_any_parts(string transport)
    {
        using var kv = KvInstance.Start("--transport", transport);
        string[] bytes = [.. "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n".Select(letter => letter.ToString())];
        Assert.EndsWith("\r\n\r\nok\n", HttpTalk.Say(kv.EndPoint, bytes).Raw, StringComparison.Ordinal);
        Assert.StartsWith("HTTP/1.1 200", HttpTalk.Say(kv.EndPoint, "GET /metrics HTTP/1.0\n\n").Raw,
            StringComparison.Ordinal);
    }

    [Theory, MemberData(nameof(Both))]
    public void Who_closes_the_own_side_gets_the_page_all_the_same(string transport)
    {
        using var kv = KvInstance.Start("--transport", transport);
        using var client = new RespClient(kv.EndPoint);
        client.Send("GET /metrics HTTP/1.1\r\n\r\n"u8);
        client.Socket.Shutdown(SocketShutdown.Send);
        Assert.Equal(1, PrometheusPage.Parse(HttpTalk.ReadToEnd(client.Socket).Body)["redis_up"]);
    }

    [Theory, MemberData(nameof(Both))]
    public void Head_gets_no_body(string transport)
    {
        using var kv = KvInstance.Start("--transport", transport);
        foreach (var (path, status) in ((string, string)[])[("/metrics", "200 OK"), ("/healthz", "200 OK"),
            ("/readyz", "200 OK"), ("/none", "404 Not Found")])
        {
            var head = HttpTalk.Get(kv.EndPoint, path, "HEAD");
            Assert.Equal($"HTTP/1.1 {status}", head.StatusLine);
            Assert.Equal("", head.Body);
        }

        Assert.Equal("3", HttpTalk.Get(kv.EndPoint, "/healthz", "HEAD").Header("Content-Length"));
    }

    [Theory, MemberData(nameof(Both))]
    public void Nothing_after_the_first_line_is_run(string transport)
    {
        using var kv = KvInstance.Start("--transport", transport);
        using var client = kv.Connect();
        foreach (string path in (string[])["/healthz", "/metrics"])
        {
            string request = $"GET {path} HTTP/1.1\r\n";
            Assert.Equal(1, Replies(HttpTalk.Say(kv.EndPoint, $"{request}\r\n{request}\r\n")));
            Assert.Equal(1, Replies(HttpTalk.Say(kv.EndPoint, $"{request}SET x 1\r\nHost: a\r\n\r\nSET x 1\r\n")));
            Assert.Equal(1, Replies(HttpTalk.Say(kv.EndPoint, request, "SET x 1\r\n")));
            Assert.Equal(1, Replies(HttpTalk.Say(kv.EndPoint, $"{request}*3\r\n$3\r\nSET\r\n$1\r\nx\r\n$1\r\n1\r\n")));
            Assert.Equal(1, Replies(HttpTalk.Say(kv.EndPoint, $"{request}X-Long: {new string('x', 200_000)}\r\n\r\n")));
        }

        Assert.Equal(0, client.Ok("EXISTS x").Integer);

        static int Replies(HttpTalk talk) => talk.Raw.Split("HTTP/1.1 ").Length - 1 + talk.Raw.Split("+OK").Length - 1;
    }

    [Theory, MemberData(nameof(Both))]
    public void Clients_of_resp_get_what_they_always_got(string transport)
    {
        using var kv = KvInstance.Start("--transport", transport);
        // A key of that name, in one line or as an array; three words as an array, in quotes, or further apart.
        Assert.Equal("+OK\r\n$1\r\nv\r\n+OK\r\n",
            HttpTalk.Say(kv.EndPoint, "SET /metrics v\r\nGET /metrics\r\nQUIT\r\n").Raw);
        Assert.Equal("$1\r\nv\r\n+OK\r\n", HttpTalk.Say(kv.EndPoint, "GET /metrics\r\nQUIT\r\n").Raw);
        string array = Encoding.Latin1.GetString(RespText.Encode("GET /metrics HTTP/1.1"));
        Assert.Equal(Arity + "+OK\r\n", HttpTalk.Say(kv.EndPoint, array + "QUIT\r\n").Raw);
        foreach (string line in (string[])["GET  /metrics HTTP/1.1", "GET \"/metrics\" HTTP/1.1",
            "get /metrics HTTP/1.1", "GET metrics HTTP/1.1", "GET /metrics HTTP/2", "GET /metrics http/1.1"])
            Assert.Equal(Arity + "+OK\r\n", HttpTalk.Say(kv.EndPoint, line + "\r\nQUIT\r\n").Raw);
        // What is not the first line of its connection.
        Assert.Equal("+PONG\r\n" + Arity + "+OK\r\n",
            HttpTalk.Say(kv.EndPoint, "PING\r\nGET /metrics HTTP/1.1\r\nQUIT\r\n").Raw);
        using var client = kv.Connect();
        client.Ok("PING");
        client.Send(Encoding.Latin1.GetBytes("GET /metrics HTTP/1.1\r\nHEAD / HTTP/1.1\r\nPING\r\n"));
        Assert.Equal(Arity.TrimEnd(), client.Read().ToString());
        Assert.StartsWith("-ERR unknown command 'HEAD'", client.Read().ToString(), StringComparison.Ordinal);
        Assert.Equal("+PONG", client.Read().ToString());
        // POST may be a web page's doing.
        Assert.Equal("", HttpTalk.Say(kv.EndPoint, "POST /metrics HTTP/1.1\r\n\r\n").Raw);
    }

    [Theory, MemberData(nameof(Both))]
    public void With_a_password_only_health_is_shown(string transport)
    {
        using var kv = KvInstance.Start("--transport", transport, "--requirepass", "secret");
        var metrics = HttpTalk.Get(kv.EndPoint, "/metrics");
        Assert.Equal("HTTP/1.1 403 Forbidden", metrics.StatusLine);
        Assert.DoesNotContain("redis_", metrics.Body, StringComparison.Ordinal);
        Assert.Equal("HTTP/1.1 403 Forbidden", HttpTalk.Get(kv.EndPoint, "/metrics", "HEAD").StatusLine);
        Assert.Equal("HTTP/1.1 200 OK", HttpTalk.Get(kv.EndPoint, "/healthz").StatusLine);
        Assert.Equal("HTTP/1.1 200 OK", HttpTalk.Get(kv.EndPoint, "/readyz").StatusLine);
    }

    [Theory, MemberData(nameof(Both))]
    public void Figures_are_for_those_who_may_call_INFO(string transport)
    {
        using var kv = KvInstance.Start("--transport", transport);
        using var client = kv.Connect();
        client.Ok("ACL SETUSER admin on >p allcommands allkeys");
        client.Ok("AUTH admin p");
        client.Ok("ACL SETUSER default -@all +get ~*");
        Assert.Equal("HTTP/1.1 403 Forbidden", HttpTalk.Get(kv.EndPoint, "/metrics").StatusLine);
        Assert.Equal("HTTP/1.1 200 OK", HttpTalk.Get(kv.EndPoint, "/healthz").StatusLine);
        client.Ok("ACL SETUSER default +info");
        string page = HttpTalk.Get(kv.EndPoint, "/metrics").Body;
        Assert.Contains("redis_connected_clients ", page, StringComparison.Ordinal);
    }

    [Theory, MemberData(nameof(Both))]
    public void It_is_switched_off_and_on_while_the_server_runs(string transport)
    {
        using var kv = KvInstance.Start("--transport", transport, "--http-on-port", "no");
        using var client = kv.Connect();
        const string request = "GET /healthz HTTP/1.1\r\n";
        Assert.Equal(Arity + "+OK\r\n", HttpTalk.Say(kv.EndPoint, request + "QUIT\r\n").Raw);
        client.Ok("CONFIG SET http-on-port yes");
        Assert.StartsWith("HTTP/1.1 200", HttpTalk.Say(kv.EndPoint, request).Raw, StringComparison.Ordinal);
        client.Ok("CONFIG SET http-on-port local");
        Assert.StartsWith("HTTP/1.1 200", HttpTalk.Say(kv.EndPoint, request).Raw, StringComparison.Ordinal);
    }

    [Theory, MemberData(nameof(Both))]
    public void By_default_it_is_for_this_machine_only(string transport)
    {
        var address = Requires.OwnAddress();
        using var kv = KvInstance.Start("--transport", transport, "--bind", "0.0.0.0", "--protected-mode", "no");
        var elsewhere = new IPEndPoint(address, ((IPEndPoint)kv.EndPoint).Port);
        Assert.Equal(Arity + "+OK\r\n", HttpTalk.Say(elsewhere, "GET /healthz HTTP/1.1\r\nQUIT\r\n").Raw);
        var here = new IPEndPoint(IPAddress.Loopback, elsewhere.Port);
        Assert.StartsWith("HTTP/1.1 200", HttpTalk.Say(here, "GET /healthz HTTP/1.1\r\n").Raw,
            StringComparison.Ordinal);
    }

    [Theory, MemberData(nameof(Both))]
    public void Clients_that_leave_while_their_page_is_made_leave_nothing(string transport)
    {
        using var kv = KvInstance.Start("--transport", transport);
        Parallel.For(0, 300, new ParallelOptions { MaxDegreeOfParallelism = 8 }, i =>
        {
            using var client = new RespClient(kv.EndPoint);
            client.Send("GET /metrics HTTP/1.1\r\n\r\n"u8);
            if (i % 3 == 0) client.Socket.LingerState = new LingerOption(true, 0);      // leaves with a reset
            if (i % 3 == 1) client.Socket.Shutdown(SocketShutdown.Send);
        });
        using var client = kv.Connect();
        Eventually.Holds(
            () => client.Info("connected_clients") == "1" && client.Info("kv_lingering_connections") == "0",
            () => $"{client.Info("connected_clients")} clients are left");
        // Of those who still ask some may find four pages being made.
        Eventually.Holds(() => HttpTalk.Get(kv.EndPoint, "/metrics").StatusLine == "HTTP/1.1 200 OK",
            () => "there is no page any more");
    }

    [Fact]
    public void It_works_within_the_process_too()
    {
        using var kv = KvInstance.Start();
        using var stream = kv.Server.Connect();
        stream.Write("GET /metrics HTTP/1.1\r\n\r\n"u8);
        using var reader = new StreamReader(stream, Encoding.Latin1);
        Assert.Equal(1, PrometheusPage.Parse(new HttpTalk(reader.ReadToEnd()).Body)["redis_up"]);
    }
}

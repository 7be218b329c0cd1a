using System.Net;
using System.Text;
using System.Text.Json;
using Kv.Tests.Harness;
using Kv.Tests.Network;

namespace Kv.Tests.Http;

/// <summary>Who is shown the web page and its figures.</summary>
public class HttpGateTests
{
    public static TheoryData<string> Both => Transports.Both;

    [Theory, MemberData(nameof(Both))]
    public void With_a_password_it_is_shown_to_who_gives_it_and_may_call_INFO(string transport)
    {
        using var server = new MetricsServer("--transport", transport, "--requirepass", "secret");
        using var client = server.Kv.Connect();
        client.Ok("AUTH secret");
        client.Ok("ACL SETUSER ops on >p:w +info");
        client.Ok("ACL SETUSER none on >x allkeys +get");
        client.Ok("ACL SETUSER off off >x +@all");
        foreach (var port in (EndPoint[])[server.Kv.EndPoint, server.EndPoint])
        {
            foreach (string path in (string[])["/", "/status.json"])
            {
                var refused = Get(port, path);
                Assert.Equal(("HTTP/1.1 401 Unauthorized", "Basic realm=\"Kv\", charset=\"UTF-8\""),
                    (refused.StatusLine, refused.Header("WWW-Authenticate")));
                Assert.DoesNotContain("redis_version", refused.Raw, StringComparison.Ordinal);
                Assert.Equal("HTTP/1.1 200 OK", Get(port, path, "default:secret").StatusLine);
                Assert.Equal("HTTP/1.1 200 OK", Get(port, path, ":secret").StatusLine);
                Assert.Equal("HTTP/1.1 200 OK", Get(port, path, "ops:p:w", "anything.example").StatusLine);
                Assert.Equal("HTTP/1.1 403 Forbidden", Get(port, path, "none:x").StatusLine);
                foreach (string wrong in (string[])["default:wrong", "nobody:secret", "off:x", "secret", ""])
                    Assert.Equal("HTTP/1.1 401 Unauthorized", Get(port, path, wrong).StatusLine);
            }
        }

        Assert.NotEqual(0, server.Kv.Server.AuthFailures.Count);
    }

    [Fact]
    public void Wrong_passwords_are_counted_until_the_right_one_of_that_user()
    {
        using var kv = KvInstance.Start("--requirepass", "secret");
        foreach (string said in (string[])["default:a", ":b", "default:c"]) Get(kv.EndPoint, "/", said);
        Assert.True(kv.Server.AuthFailures.WouldDelay("127.0.0.1:1"));
        Get(kv.EndPoint, "/", "default:secret");
        Assert.Equal(0, kv.Server.AuthFailures.Count);
    }

    [Theory]
    [InlineData("Basic !!!"), InlineData("Basic"), InlineData("Bearer ZGVmYXVsdDpzZWNyZXQ=")]
    [InlineData("Basic c2VjcmV0")]
    public void What_is_no_name_and_password_is_refused(string header)
    {
        using var kv = KvInstance.Start("--requirepass", "secret");
        Assert.StartsWith("HTTP/1.1 401", HttpTalk.Say(kv.EndPoint,
            $"GET / HTTP/1.1\r\nHost: a\r\nAuthorization: {header}\r\n\r\n").Raw, StringComparison.Ordinal);
    }

    [Theory, MemberData(nameof(Both))]
    public void Who_may_call_INFO_only_sees_no_names_keys_and_options(string transport)
    {
        using var kv = KvInstance.Start("--transport", transport);
        using var client = kv.Connect();
        client.Ok("ACL SETUSER admin on >p allcommands allkeys");
        client.Ok("AUTH admin p");
        client.Ok("ACL SETUSER default -@all +get ~*");
        Assert.Equal("HTTP/1.1 403 Forbidden", Get(kv.EndPoint, "/status.json").StatusLine);
        Assert.Equal("HTTP/1.1 403 Forbidden", Get(kv.EndPoint, "/").StatusLine);
        client.Ok("ACL SETUSER default +info");
        Assert.Equal("info time", Parts());
        client.Ok("ACL SETUSER default +slowlog|get");
        Assert.Equal("info slowlog time", Parts());
        client.Ok("ACL SETUSER default -slowlog +client|list +config|get");
        Assert.Equal("clients info options time", Parts());
        Assert.Equal("clients info options slowlog time", Parts("admin:p"));

        string Parts(string? user = null)
        {
            using var page = JsonDocument.Parse(Get(kv.EndPoint, "/status.json", user).Body);
            return string.Join(' ', page.RootElement.EnumerateObject().Select(part => part.Name).Order());
        }
    }

    // A page of the web can have its own name lead to 127.0.0.1, and then read what a browser gets from there.
    [Theory, MemberData(nameof(Both))]
    public void Without_a_password_only_names_that_nobody_else_can_own_lead_to_it(string transport)
    {
        using var server = new MetricsServer("--transport", transport);
        foreach (var port in (EndPoint[])[server.Kv.EndPoint, server.EndPoint])
        {
            foreach (string host in (string[])["localhost", "LOCALHOST:6379", "127.0.0.1:1", "[::1]:6379", "[::1]",
                "a.localhost:1", "10.0.0.7", Environment.MachineName, ""])
                Assert.Equal("HTTP/1.1 200 OK", Get(port, "/status.json", host: host).StatusLine);
            foreach (string host in (string[])["evil.example", "localhost.evil.example:6379", "127.0.0.1.evil.example",
                "notlocalhost", "[evil]:1"])
            {
                Assert.Equal("HTTP/1.1 403 Forbidden", Get(port, "/status.json", host: host).StatusLine);
                // A script may say anything: no password is asked for, so none says who it is.
                Assert.Equal("HTTP/1.1 403 Forbidden", Get(port, "/status.json", "default:x", host).StatusLine);
            }
        }
    }

    [Fact]
    public void Other_machines_need_a_password_on_metrics_port_in_protected_mode()
    {
        var address = Requires.OwnAddress();
        using var server = new MetricsServer("--bind", "0.0.0.0");
        var elsewhere = new IPEndPoint(address, ((IPEndPoint)server.EndPoint).Port);
        using var client = new RespClient(new IPEndPoint(IPAddress.Loopback, ((IPEndPoint)server.Kv.EndPoint).Port));
        Assert.Equal("HTTP/1.1 200 OK", HttpTalk.Get(elsewhere, "/metrics").StatusLine);
        Assert.Equal("HTTP/1.1 401 Unauthorized", Get(elsewhere, "/status.json").StatusLine);
        Assert.Equal("HTTP/1.1 401 Unauthorized", Get(elsewhere, "/status.json", "default:x").StatusLine);
        Assert.Equal("HTTP/1.1 200 OK", Get(server.EndPoint, "/status.json").StatusLine);
        client.Ok("ACL SETUSER ops on >p +info");
        Assert.Equal("HTTP/1.1 200 OK", Get(elsewhere, "/status.json", "ops:p").StatusLine);
        client.Ok("CONFIG SET protected-mode no");
        Assert.Equal("HTTP/1.1 200 OK", Get(elsewhere, "/status.json").StatusLine);
    }

    [Theory, MemberData(nameof(Both))]
    public void A_head_that_comes_in_parts_is_refused_where_it_cannot_be_waited_for(string transport)
    {
        using var server = new MetricsServer("--transport", transport);
        Assert.StartsWith("HTTP/1.1 400", HttpTalk.Say(server.Kv.EndPoint, "GET /status.json HTTP/1.1\r\n").Raw,
            StringComparison.Ordinal);
        string[] letters = [.. "GET /status.json HTTP/1.1\r\nHost: localhost\r\n\r\n".Select(letter => $"{letter}")];
        Assert.StartsWith("HTTP/1.1 200", HttpTalk.Say(server.EndPoint, letters).Raw, StringComparison.Ordinal);
    }

    [Theory, MemberData(nameof(Both))]
    public void Wrong_passwords_are_answered_one_after_another(string transport)
    {
        using var kv = KvInstance.Start("--transport", transport, "--requirepass", "secret");
        for (int i = 0; i < 3; i++)
        {
            Assert.Equal("HTTP/1.1 401 Unauthorized", Get(kv.EndPoint, "/", "default:wrong").StatusLine);
            string head = HttpTalk.Say(kv.EndPoint, "HEAD / HTTP/1.1\r\nAuthorization: Basic OndYb25n\r\n\r\n").Raw;
            Assert.StartsWith("HTTP/1.1 401", head, StringComparison.Ordinal);
            Assert.EndsWith("\r\n\r\n", head, StringComparison.Ordinal);
        }

        using var client = kv.Connect();
        client.Ok("AUTH secret");
        Assert.Equal("0", client.Info("total_error_replies"));
    }

    private static HttpTalk Get(EndPoint port, string path, string? user = null, string host = "localhost")
    {
        string authorization = user == null ? ""
            : $"Authorization: Basic {Convert.ToBase64String(Encoding.UTF8.GetBytes(user))}\r\n";
        return HttpTalk.Say(port, $"GET {path} HTTP/1.1\r\nHost: {host}\r\n{authorization}\r\n");
    }
}

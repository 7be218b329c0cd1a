using System.Net.Security;
using System.Net.Sockets;
using System.Security.Authentication;
using Kv.Server.Tls;
using Kv.Tests.Harness;

namespace Kv.Tests.Tls;

/// <summary>Who gets in over TLS, who does not, and that nobody else notices.</summary>
public sealed class HandshakeTests
{
    [Theory, MemberData(nameof(Network.Transports.Both), MemberType = typeof(Network.Transports))]
    public void A_client_whose_certificate_is_of_the_authority_gets_in(string transport)
    {
        using var server = new TlsServer("--transport", transport);
        using var client = server.Connect();
        Assert.Equal("+OK", client.Command("SET k v").ToString());
        using var plain = server.Kv.Connect();
        Assert.Equal("\"v\"", plain.Command("GET k").ToString());
        Assert.Equal(("1", "1", "0"), (plain.Info("kv_tls_clients"), plain.Info("kv_tls_handshakes"),
            plain.Info("kv_tls_failed_handshakes")));
        Assert.Contains($"laddr={server.EndPoint} ", client.Ok("CLIENT LIST").String, StringComparison.Ordinal);
        Assert.Equal("+OK", client.Command("QUIT").ToString());
        Assert.True(client.IsClosedByServer());
        server.AwaitInfo("kv_tls_clients", "0");
    }

    [Theory, InlineData("yes", false), InlineData("optional", true), InlineData("no", true)]
    public void Without_a_certificate_a_client_gets_in_where_none_is_required(string required, bool isLetIn)
    {
        using var server = new TlsServer("--tls-auth-clients", required);
        Assert.Equal(isLetIn, TlsServer.IsLetIn(server.ConnectUnknown));
        server.AwaitInfo("kv_tls_failed_handshakes", isLetIn ? "0" : "1");
        Assert.True(TlsServer.IsLetIn(() => server.Connect()));
    }

    [Theory, InlineData("yes"), InlineData("optional")]
    public void Known_G09_a_certificate_of_strangers_an_expired_one_or_one_for_servers_is_refused(string required)
    {
        using var log = new CapturedLog();
        using var server = new TlsServer(log, "--tls-auth-clients", required);
        using var stranger = new TestAuthority();
        using var foreign = stranger.Issue("client");
        using var expired = server.Files.Authority.Issue("client", daysLeft: -1);
        using var other = server.Files.Authority.Issue("client", purpose: TestAuthority.ForServers);
        using var right = server.Files.Authority.Issue("client", purpose: TestAuthority.ForClients);
        Assert.False(TlsServer.IsLetIn(() => server.Connect(foreign)));
        Assert.Contains(log.Lines, line => line.StartsWith("Information TLS handshake of client 127.0.0.1:",
            StringComparison.Ordinal) && line.Contains("its certificate is not accepted (", StringComparison.Ordinal));
        Assert.False(TlsServer.IsLetIn(() => server.Connect(expired)));
        Assert.False(TlsServer.IsLetIn(() => server.Connect(other)));
        server.AwaitInfo("kv_tls_failed_handshakes", "3");
        Assert.True(TlsServer.IsLetIn(() => server.Connect(right)));
        Assert.True(TlsServer.IsLetIn(() => server.Connect()));
        server.AwaitInfo("kv_tls_clients", "0");
    }

    [Fact]
    public void A_client_believes_only_a_server_of_its_own_authority()
    {
        using var server = new TlsServer();
        using var stranger = new TestAuthority();
        using (var client = server.Connect()) client.Ok("CONFIG SET tls-auth-clients no");
        server.Files.Put("server", stranger.Issue("server"));
        Assert.Null(server.Kv.Server.ReloadCertificates());
        Assert.Throws<AuthenticationException>(() => server.ConnectUnknown());
        server.AwaitInfo("kv_tls_clients", "0");
    }

    [Theory, InlineData("TLSv1.2", SslProtocols.Tls12, SslProtocols.Tls13)]
    [InlineData("TLSv1.3", SslProtocols.Tls13, SslProtocols.Tls12)]
    public void Only_versions_that_are_set_are_spoken(string set, SslProtocols spoken, SslProtocols other)
    {
        using var server = new TlsServer("--tls-auth-clients", "no", "--tls-protocols", set);
        using (var client = server.Connect(new SslClientAuthenticationOptions { EnabledSslProtocols = spoken }))
            client.Ok("PING");
        Assert.False(TlsServer.IsLetIn(() => server.Connect(
            new SslClientAuthenticationOptions { EnabledSslProtocols = other })));
        using var plain = server.Kv.Connect();
        plain.Ok("CONFIG SET tls-protocols \"\"");
        Assert.True(TlsServer.IsLetIn(() => server.Connect(
            new SslClientAuthenticationOptions { EnabledSslProtocols = other })));
    }

    // A hello as a client of TLS 1.1 sends it: no newer version is offered. 70: protocol_version.
    [Theory, InlineData(1), InlineData(2)]
    public void Known_G09_hellos_of_versions_before_TLS_1_2_get_an_alert_and_the_end(byte minor)
    {
        using var server = new TlsServer("--tls-auth-clients", "no");
        using var client = new RespClient(server.EndPoint);
        // Record, handshake, version, random, no session, two suites, no compression, no extensions.
        client.Send(
        [
            0x16, 3, 1, 0, 47, 1, 0, 0, 43, 3, minor, .. new byte[32], 0, 0, 4, 0xC0, 0x13, 0, 0x2F, 1, 0,
        ]);
        byte[] answer = new byte[64];
        int count = client.Socket.Receive(answer);
        Assert.Equal([0x15, 2, 70], count == 7 ? [answer[0], answer[5], answer[6]] : [(byte)count]);
        Assert.True(client.IsClosedByServer());
        server.AwaitInfo("kv_tls_failed_handshakes", "1");
    }

    [Fact]
    public void Ciphers_that_are_set_are_the_ones_that_are_used()
    {
        using var server = new TlsServer("--tls-auth-clients", "no",
            "--tls-ciphers", "ECDHE-ECDSA-AES128-GCM-SHA256", "--tls-ciphersuites", "TLS_AES_128_GCM_SHA256");
        foreach (var (version, expected) in new[]
        {
            (SslProtocols.Tls12, TlsCipherSuite.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256),
            (SslProtocols.Tls13, TlsCipherSuite.TLS_AES_128_GCM_SHA256),
        })
        {
            using var client = server.Connect(new SslClientAuthenticationOptions { EnabledSslProtocols = version });
            client.Ok("PING");
            Assert.Equal(expected, ((SslStream)client.Stream!).NegotiatedCipherSuite);
        }
    }

    [Fact]
    public void Known_G09_plain_bytes_on_the_port_for_TLS_are_closed_in_order_and_counted()
    {
        using var log = new CapturedLog();
        using var server = new TlsServer(log);
        foreach (string text in (string[])["PING\r\n", "*1\r\n$4\r\nPING\r\n", "GET / HTTP/1.1\r\n\r\n", "\0", "x"])
        {
            using var client = new RespClient(server.EndPoint);
            client.Send(RespText.Bytes(text));
            Assert.Equal(0, client.Socket.Receive(new byte[16]));       // an end, no reset
        }

        Assert.Equal(("5", "5"), (server.Info("kv_tls_plain_connections"), server.Info("kv_tls_failed_handshakes")));
        Assert.Single(log.Lines, line => line.Contains("does not speak TLS, on the port for TLS; closed",
            StringComparison.Ordinal));
        Assert.True(TlsServer.IsLetIn(() => server.Connect()));
    }

    [Fact]
    public void Garbage_that_begins_like_a_handshake_is_closed()
    {
        using var server = new TlsServer();
        var random = Seed.NewRandom();
        for (int i = 0; i < 200; i++)
        {
            using var client = new RespClient(server.EndPoint);
            byte[] garbage = new byte[random.Next(1, 600)];
            random.NextBytes(garbage);
            garbage[0] = 0x16;
            if (garbage.Length > 4 && i % 2 == 0) (garbage[1], garbage[2], garbage[3]) = (3, 1, 0);
            client.Send(garbage);
            client.Socket.Shutdown(SocketShutdown.Send);
            byte[] rest = new byte[256];
            while (client.Socket.Receive(rest) > 0)
            {
                // Ends: with the alert.
            }
        }

        server.AwaitInfo("kv_tls_failed_handshakes", "200");
        server.AwaitInfo("kv_tls_handshaking", "0");
        Assert.True(TlsServer.IsLetIn(() => server.Connect()));
    }

    // A client that says nothing, and one that stops in the middle of its hello.
    [Fact]
    public void Known_G09_a_handshake_that_stalls_is_closed_and_counted()
    {
        using var log = new CapturedLog();
        using var server = new TlsServer(log);
        using RespClient silent = new(server.EndPoint), stalled = new(server.EndPoint);
        stalled.Send([0x16, 3, 1, 1, 0]);
        Eventually.Holds(() => server.Info("connected_clients") == "3", () => "they are clients");
        using var served = server.Connect();
        served.Ok("PING");
        Assert.True(silent.IsClosedByServer());
        Assert.True(stalled.IsClosedByServer());
        served.Ok("PING");
        server.AwaitInfo("kv_tls_late_handshakes", "2");
        Eventually.Holds(
            () => log.Lines.Any(line => line.Contains("failed: it took too long", StringComparison.Ordinal)),
            () => "it is counted, and not in the log");
    }

    [Fact]
    public void Strangers_who_take_all_places_for_handshakes_lose_them_soon()
    {
        using var server = new TlsServer();
        var strangers = new List<RespClient>();
        try
        {
            for (int i = 0; i < HandshakePlaces.CountMax + 50; i++) strangers.Add(new RespClient(server.EndPoint));
            // Those who came first may have lost their places before the last one has one.
            Eventually.Holds(() => Number("kv_tls_late_handshakes") + Number("kv_tls_handshaking")
                >= HandshakePlaces.CountMax, () => $"only {server.Info("kv_tls_handshaking")} have a place");
            Assert.InRange(Number("kv_tls_handshaking"), 0, HandshakePlaces.CountMax);
            Assert.True(TlsServer.IsLetIn(() => server.Connect()));
            Assert.NotEqual("0", server.Info("kv_tls_late_handshakes"));
        }
        finally
        {
            foreach (var stranger in strangers) stranger.Dispose();
        }

        server.AwaitInfo("connected_clients", "1");

        long Number(string field) => long.Parse(server.Info(field));
    }

    [Fact]
    public void Handshakes_count_for_maxclients_and_who_is_one_too_many_is_closed()
    {
        using var server = new TlsServer("--maxclients", "2");
        using RespClient first = server.Connect(), second = new(server.EndPoint);
        first.Ok("PING");
        Eventually.Holds(() => first.Info("connected_clients") == "2", () => "a handshake is a client");
        using var third = new RespClient(server.EndPoint);
        Assert.True(third.IsClosedByServer());
        Assert.Equal("1", first.Info("rejected_connections"));
        first.Ok("PING");
    }

    [Fact]
    public void A_client_in_the_middle_of_its_handshake_can_be_killed_and_does_not_hold_up_the_end()
    {
        var server = new TlsServer();
        try
        {
            using RespClient silent = new(server.EndPoint), other = new(server.EndPoint);
            using var plain = server.Kv.Connect();
            Eventually.Holds(() => plain.Info("connected_clients") == "3", () => "they are clients");
            Assert.Equal(1, plain.Ok($"CLIENT KILL ADDR {silent.Socket.LocalEndPoint}").Integer);
            Assert.True(silent.IsClosedByServer());
            Assert.Equal("0", plain.Info("kv_tls_late_handshakes"));
            server.Kv.Dispose();
            Assert.True(other.IsClosedByServer());
            Assert.True(server.Kv.Server.EndedInOrder);
        }
        finally
        {
            server.Dispose();
        }
    }

    [Fact]
    public void Sessions_go_on_where_they_are_kept_and_a_new_certificate_ends_them()
    {
        Requires.Tool("openssl");
        using var server = new TlsServer("--tls-auth-clients", "no");
        string session = server.Files["session"];
        Assert.Contains("New, TLSv1.2", Talk("-sess_out"), StringComparison.Ordinal);
        Assert.Contains("Reused, TLSv1.2", Talk("-sess_in"), StringComparison.Ordinal);
        using var plain = server.Kv.Connect();
        plain.Ok("CONFIG SET tls-session-caching no");
        Assert.Contains("New, TLSv1.2", Talk("-sess_in"), StringComparison.Ordinal);

        string Talk(string how) => ChildProcess.Run("openssl",
            ["s_client", "-connect", $"127.0.0.1:{server.EndPoint.Port}", "-tls1_2", how, session],
            "QUIT\r\n"u8.ToArray()).Output;
    }
}

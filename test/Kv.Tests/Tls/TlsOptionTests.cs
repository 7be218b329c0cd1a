using System.Net.Sockets;
using Kv.Tests.Harness;

namespace Kv.Tests.Tls;

/// <summary>CONFIG about TLS beside a redis-server that was built with it, and the port as it comes and goes.</summary>
public sealed class TlsOptionTests
{
    private const string Update = "Unable to update TLS configuration";

    // A command, and whether it succeeds; {0} is the folder of certificates. What the two answer otherwise: the
    // reference says only that TLS could not be updated, and takes a folder of authorities that is not there.
    private static readonly string[] Same =
    [
        "CONFIG GET tls-*", "CONFIG SET tls-auth-clients maybe", "CONFIG SET tls-auth-clients yes",
        "CONFIG SET tls-auth-clients optional", "CONFIG SET tls-auth-clients NO", "CONFIG GET tls-auth-clients",
        "CONFIG SET tls-session-caching maybe", "CONFIG SET tls-session-caching no", "CONFIG GET tls-session-caching",
        "CONFIG SET tls-session-cache-size -1", "CONFIG SET tls-session-cache-size junk",
        "CONFIG SET tls-session-cache-timeout -1", "CONFIG SET tls-prefer-server-ciphers yes",
        "CONFIG SET tls-prefer-server-ciphers maybe", "CONFIG SET tls-port 99999", "CONFIG SET tls-port -1",
        "CONFIG SET tls-port abc", "CONFIG SET tls-protocols TLSv1.2", "CONFIG GET tls-protocols",
        "CONFIG SET tls-protocols tlsv1.3", "CONFIG SET tls-protocols \"TLSv1.2 TLSv1.3\"",
        "CONFIG SET tls-protocols \"\"", "CONFIG SET tls-ciphersuites TLS_AES_128_GCM_SHA256",
        "CONFIG SET tls-ciphers ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES128-GCM-SHA256", "CONFIG GET tls-cipher*",
        "CONFIG SET tls-ciphersuites \"\" tls-ciphers \"\"", "CONFIG SET tls-cert-file {0}/server.crt",
        "CONFIG SET tls-cert-file {0}/none", "CONFIG SET tls-key-file {0}/none", "CONFIG SET tls-key-file {0}/ca.crt",
        "CONFIG SET tls-cert-file {0}/other.crt", "CONFIG SET tls-cert-file {0}/other.crt tls-key-file {0}/other.key",
        "CONFIG SET tls-ca-cert-file {0}/none", "CONFIG SET tls-ca-cert-file \"\" tls-auth-clients yes",
        "CONFIG SET tls-protocols bogus", "CONFIG SET tls-ciphers bogus", "CONFIG SET tls-ciphersuites bogus",
        "CONFIG SET tls-cert-file {0}/server.crt tls-cert-file {0}/server.crt", "CONFIG GET tls-cert-file",
        "CONFIG SET tls-port 0", "CONFIG GET tls-port", "CONFIG SET tls-cert-file {0}/none", "CONFIG GET tls-key-file",
    ];

    [Fact]
    public void Config_answers_as_the_reference_does()
    {
        using var server = new TlsServer("--tls-auth-clients", "no", "--bind", "127.0.0.1");
        using var other = server.Files.Authority.Issue("other");
        server.Files.Put("other", other);
        using var redis = RedisServer.Start(["--tls-port", $"{ServerProgram.FreePort()}", .. server.Files.Options,
            "--tls-auth-clients", "no"]);
        using RespClient theirs = redis.Connect(), ours = server.Kv.Connect();
        foreach (string line in Same)
        {
            string command = line.Replace("{0}", server.Files.Folder, StringComparison.Ordinal);
            Assert.Equal((command, Shown(theirs.Command(command))), (command, Shown(ours.Command(command))));
        }
    }

    // To set the password back would take all others from the default user, and let everybody in.
    [Theory]
    [InlineData("CONFIG SET requirepass other tls-cert-file {0}/none")]
    [InlineData("CONFIG SET requirepass other tls-protocols TLSv1.3 tls-key-file {0}/ca.crt")]
    public void What_is_refused_for_its_files_has_not_touched_the_users(string line)
    {
        using var server = new TlsServer("--tls-auth-clients", "no");
        using var client = server.Kv.Connect();
        client.Ok("ACL SETUSER default resetpass >secret");
        string refused = client.Command(line.Replace("{0}", server.Files.Folder, StringComparison.Ordinal)).ToString();
        Assert.StartsWith("-ERR CONFIG SET failed", refused, StringComparison.Ordinal);
        using var stranger = server.Kv.Connect();
        Assert.StartsWith("-NOAUTH", stranger.Command("GET k").ToString(), StringComparison.Ordinal);
        stranger.Ok("AUTH secret");
        stranger.Ok("GET k");
    }

    [Theory, MemberData(nameof(Network.Transports.Both), MemberType = typeof(Network.Transports))]
    public void The_port_comes_moves_and_goes_and_who_is_connected_stays(string transport)
    {
        using var server = new TlsServer("--transport", transport, "--tls-auth-clients", "no");
        using RespClient plain = server.Kv.Connect(), client = server.ConnectUnknown();
        Assert.Equal([$"127.0.0.1:{server.Kv.Port}", $"{server.EndPoint}"],
            server.Kv.Server.Endpoints.Select(endPoint => $"{endPoint}"));
        plain.Ok("CONFIG SET tls-port 0");
        Assert.Throws<SocketException>(() => new RespClient(server.EndPoint));
        Assert.Equal("+PONG", client.Command("PING").ToString());
        Assert.Single(server.Kv.Server.Endpoints);
        plain.Ok($"CONFIG SET tls-port {server.EndPoint.Port}");
        Assert.True(TlsServer.IsLetIn(server.ConnectUnknown));
        // The ports change places in one command.
        plain.Ok($"CONFIG SET port {server.EndPoint.Port} tls-port {server.Kv.Port}");
        using var swapped = new RespClient(server.EndPoint);
        Assert.Equal("+PONG", swapped.Command("PING").ToString());
        Assert.Equal(server.EndPoint.Port.ToString(), swapped.Info("tcp_port"));
        Assert.EndsWith("Unable to listen on this port. Check server logs.",
            swapped.Command($"CONFIG SET tls-port {server.EndPoint.Port}").ToString(), StringComparison.Ordinal);
        swapped.Ok($"CONFIG SET port {server.Kv.Port} tls-port {server.EndPoint.Port}");
        Assert.True(TlsServer.IsLetIn(server.ConnectUnknown));
        Assert.Equal("+PONG", client.Command("PING").ToString());
    }

    [Theory, MemberData(nameof(Network.Transports.Both), MemberType = typeof(Network.Transports))]
    public void A_server_may_speak_TLS_only(string transport)
    {
        using var server = new TlsServer("--transport", transport, "--tls-auth-clients", "no");
        using var client = server.ConnectUnknown();
        client.Ok("CONFIG SET port 0");
        Assert.Throws<SocketException>(() => new RespClient(server.Kv.EndPoint));
        Assert.Equal($"{server.EndPoint.Port}", client.Info("tcp_port"));
        using var files = new CertificateFolder();
        using var secret = KvInstance.Start(["--tls-port", $"{ServerProgram.FreePort()}", .. files.Options]);
        var only = Assert.Single(secret.Server.Endpoints);
        using var plain = new RespClient(only);
        plain.Send("PING\r\n");
        Assert.True(plain.IsClosedByServer());
    }

    private static string Shown(Reply reply)
    {
        string text = reply.ToString();
        if (reply.Type == '*' && reply.Items!.Count > 2)
        {
            // Of all: those that both have, in one order; the port is each one's own.
            string[] others = ["tls-port", "tls-auth-clients-user"];
            return string.Join(' ', reply.Items!.Chunk(2).Where(pair => !others.Contains(pair[0].String))
                .Select(pair => $"{pair[0].String} {pair[1].String}").Order(StringComparer.Ordinal));
        }

        int reason = text.IndexOf("') - ", StringComparison.Ordinal);
        bool isOwnWords = text.Contains("is no cipher suite of", StringComparison.Ordinal)
            || text.Contains("Invalid tls-protocols", StringComparison.Ordinal)
            || text.Contains(Update, StringComparison.Ordinal);
        return isOwnWords ? text[..reason] : text;
    }
}

using System.Security.Cryptography.X509Certificates;
using Kv.Tests.Harness;

namespace Kv.Tests.Tls;

/// <summary>Certificates that are replaced while the server runs.</summary>
public sealed class ReloadTests
{
    [Fact]
    public void Files_that_change_on_disk_are_read_again_and_who_is_connected_stays()
    {
        using var log = new CapturedLog();
        using var server = new TlsServer(log);
        using var client = server.Connect();
        using var renewed = server.Files.Authority.Issue("server", isRsa: true);
        server.Files.Put("server", renewed);
        Eventually.Holds(() => CertificateFileTests.ThumbprintSeen(server) == renewed.Thumbprint,
            () => "the old certificate is still shown");
        client.Ok("PING");
        Assert.NotEqual("0", server.Info("kv_tls_reloads"));
        long end = new DateTimeOffset(renewed.NotAfter.ToUniversalTime()).ToUnixTimeSeconds();
        Assert.Equal($"{end}", server.Info("kv_tls_certificate_end"));
    }

    // As secrets are mounted: the name is a link to a file in a folder that a link leads to, and that link changes.
    [Fact]
    public void Files_behind_links_are_followed()
    {
        Requires.Linux("links that are replaced");
        using var server = new TlsServer();
        var files = server.Files;
        using X509Certificate2 first = files.Authority.Issue("server"), second = files.Authority.Issue("server");
        foreach (var (name, certificate) in new[] { ("1", first), ("2", second) })
        {
            Directory.CreateDirectory(files[name]);
            files.Put($"{name}/s", certificate);
        }

        Directory.CreateSymbolicLink(files["now"], "1");
        File.CreateSymbolicLink(files["s.crt"], "now/s.crt");
        File.CreateSymbolicLink(files["s.key"], "now/s.key");
        using var client = server.Kv.Connect();
        client.Ok($"CONFIG SET tls-cert-file {files["s.crt"]} tls-key-file {files["s.key"]}");
        Assert.Equal(first.Thumbprint, CertificateFileTests.ThumbprintSeen(server));
        Directory.CreateSymbolicLink(files["next"], "2");
        ChildProcess.Run("/bin/mv", ["-T", files["next"], files["now"]]);
        Eventually.Holds(() => CertificateFileTests.ThumbprintSeen(server) == second.Thumbprint,
            () => "the old certificate is still shown");
    }

    [Fact]
    public void Files_that_become_wrong_are_logged_once_and_change_nothing()
    {
        using var log = new CapturedLog();
        using var server = new TlsServer(log);
        string before = CertificateFileTests.ThumbprintSeen(server);
        server.Files.Write("server.key", "nothing");
        server.AwaitInfo("kv_tls_failed_reloads", "1");
        Assert.Equal(before, CertificateFileTests.ThumbprintSeen(server));
        Assert.Contains("that is no PEM file", server.Kv.Server.ReloadCertificates(), StringComparison.Ordinal);
        Assert.Equal("2", server.Info("kv_tls_failed_reloads"));
        Assert.Single(log.Lines, line => line.StartsWith("Warning Files of TLS have changed and cannot be used; it "
            + "goes on with those of before: tls-key-file '", StringComparison.Ordinal));
        // They are right again: nobody has to say so.
        using var renewed = server.Files.Authority.Issue("server");
        server.Files.Put("server", renewed);
        Eventually.Holds(() => CertificateFileTests.ThumbprintSeen(server) == renewed.Thumbprint,
            () => "the old certificate is still shown");
        Assert.Null(server.Kv.Server.ReloadCertificates());
        using var client = server.Kv.Connect();
        client.Ok("CONFIG RESETSTAT");
        Assert.Equal("0", client.Info("kv_tls_failed_reloads"));
    }

    // As of a file that is being written. .NET passes over a certificate without an end: the half of a bundle would be
    // taken for a bundle, and clients of the other half be refused.
    [Fact]
    public void Half_of_a_file_is_none()
    {
        using var server = new TlsServer();
        var files = server.Files;
        using var other = new TestAuthority("Another");
        string bundle = other.Certificate.ExportCertificatePem() + "\n"
            + files.Authority.Certificate.ExportCertificatePem();
        string before = CertificateFileTests.ThumbprintSeen(server);
        files.Write("ca.crt", bundle[..^100]);
        server.AwaitInfo("kv_tls_failed_reloads", "1");
        Assert.Contains($"tls-ca-cert-file '{files["ca.crt"]}': a certificate in it is cut short",
            server.Kv.Server.ReloadCertificates(), StringComparison.Ordinal);
        Assert.True(TlsServer.IsLetIn(() => server.Connect()));
        files.Write("ca.crt", bundle);
        using var foreign = other.Issue("client");
        Eventually.Holds(() => TlsServer.IsLetIn(() => server.Connect(foreign)), () => "the whole bundle is not read");
        using var renewed = files.Authority.Issue("server");
        string own = renewed.ExportCertificatePem();
        string chain = own + "\n" + files.Authority.Certificate.ExportCertificatePem();
        files.Put("server", renewed);
        // Every length but some, since each is a reload.
        for (int length = 0; length < chain.Length; length += 97)
        {
            files.Write("server.crt", chain[..length]);
            // Where the next one has not begun there is one, and whole.
            bool isWhole = length >= own.Length && length < own.Length + "\n-----BEGIN CERTIFICATE-----".Length;
            Assert.Equal(isWhole, server.Kv.Server.ReloadCertificates() == null);
        }

        files.Write("server.crt", chain);
        Assert.Null(server.Kv.Server.ReloadCertificates());
        Assert.NotEqual(before, CertificateFileTests.ThumbprintSeen(server));
        Assert.Equal(renewed.Thumbprint, CertificateFileTests.ThumbprintSeen(server));
    }

    [Fact]
    public async Task Known_G09_no_request_is_lost_while_certificates_are_replaced()
    {
        const int Clients = 8, Rounds = 60;
        using var server = new TlsServer();
        using var own = server.Files.Authority.Issue("client");
        long done = 0;
        // Threads of their own: the server's handshakes need those of the pool, and have ten seconds.
        var talking = Enumerable.Range(0, Clients).Select(number => Task.Factory.StartNew(() =>
        {
            for (int round = 0; round < Rounds; round++)
            {
                using var client = server.Connect(own);
                for (int i = 0; i < 20; i++) Assert.Equal(1, client.Ok($"INCRBY n:{number}:{round}:{i} 1").Integer);
                Interlocked.Increment(ref done);
            }
        }, CancellationToken.None, TaskCreationOptions.LongRunning, TaskScheduler.Default)).ToArray();
        using var plain = server.Kv.Connect();
        int renewals = 0;
        do
        {
            server.Files.Put("server", server.Files.Authority.Issue("server", isRsa: renewals % 2 == 0));
            Assert.Null(server.Kv.Server.ReloadCertificates());
            plain.Ok("CONFIG SET tls-session-caching " + (renewals % 3 == 0 ? "no" : "yes"));
            renewals++;
        }
        while (!Task.WhenAll(talking).IsCompleted);
        await Task.WhenAll(talking);
        Assert.Equal(Clients * Rounds, done);
        Assert.Equal(("0", $"{Clients * Rounds}"),
            (plain.Info("kv_tls_failed_handshakes"), plain.Info("kv_tls_handshakes")));
        Assert.Equal(Clients * Rounds * 20, plain.Ok("DBSIZE").Integer);
        Assert.True(renewals > 1);
    }

    [Fact]
    public void Without_a_port_for_TLS_nothing_is_read()
    {
        using var kv = KvInstance.Start("--tls-cert-file", "/no/such.crt", "--enable-protected-configs", "yes");
        using var client = kv.Connect();
        Assert.Equal("+OK", client.Command("CONFIG SET tls-key-file /no/such.key").ToString());
        Assert.Null(kv.Server.ReloadCertificates());
        Assert.Equal(("0", "0"), (client.Info("kv_tls_failed_reloads"), client.Info("kv_tls_certificate_end")));
        Assert.EndsWith("- Unable to update TLS configuration: tls-cert-file '/no/such.crt': no such file; give the "
            + "path of a file that is there", client.Command($"CONFIG SET tls-port {ServerProgram.FreePort()}")
            .ToString(), StringComparison.Ordinal);
        Assert.Equal("[\"tls-port\" \"0\"]", client.Command("CONFIG GET tls-port").ToString());
    }
}

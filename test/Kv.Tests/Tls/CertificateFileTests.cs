using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using System.Text.RegularExpressions;
using Kv.Server;
using Kv.Server.Configuration;
using Kv.Tests.Harness;

namespace Kv.Tests.Tls;

/// <summary>Forms of certificates and keys, and what is said of files that are wrong.</summary>
public sealed class CertificateFileTests : IDisposable
{
    private const string Password = "se cret";

    private readonly CertificateFolder _files = new();

    public void Dispose() => _files.Dispose();

    [Theory, InlineData("rsa"), InlineData("curve"), InlineData("rsa-pkcs1"), InlineData("encrypted"),
        InlineData("one-file"), InlineData("pfx"), InlineData("pfx-encrypted"), InlineData("chain"),
        InlineData("folder"), InlineData("bundle")]
    public void Every_usual_form_serves(string form)
    {
        using var server = new TlsServer();
        var files = server.Files;
        using var own = files.Authority.Issue("server", isRsa: form.StartsWith("rsa", StringComparison.Ordinal));
        using var key = CertificateFolder.KeyOf(own);
        using var client = server.Kv.Connect();
        string pem = files.Write("new.crt", own.ExportCertificatePem()), keyPem = files["new.key"];
        string changes = $"tls-cert-file {pem} tls-key-file {keyPem}";
        var encryption = new PbeParameters(PbeEncryptionAlgorithm.Aes256Cbc, HashAlgorithmName.SHA256, 1000);
        switch (form)
        {
            case "rsa-pkcs1":
                files.Write("new.key", ((RSA)key).ExportRSAPrivateKeyPem());
                break;
            case "encrypted":
                files.Write("new.key", key.ExportEncryptedPkcs8PrivateKeyPem(Password, encryption));
                changes += $" tls-key-file-pass \"{Password}\"";
                break;
            case "one-file":
                files.Write("new.crt", $"{own.ExportCertificatePem()}\n{key.ExportPkcs8PrivateKeyPem()}\n");
                changes = $"tls-cert-file {pem} tls-key-file \"\"";
                break;
            case "pfx" or "pfx-encrypted":
                string? password = form == "pfx" ? null : Password;
                File.WriteAllBytes(files["new.pfx"], own.Export(X509ContentType.Pfx, password));
                changes = $"tls-cert-file {files["new.pfx"]} tls-key-file \"\" tls-key-file-pass \"{password}\"";
                break;
            default:
                files.Write("new.key", key.ExportPkcs8PrivateKeyPem());
                break;
        }

        if (form == "chain")
            files.Write("new.crt",
                own.ExportCertificatePem() + "\n" + files.Authority.Certificate.ExportCertificatePem());
        if (form == "folder")
        {
            Directory.CreateDirectory(files["cas"]);
            File.Copy(files["ca.crt"], Path.Combine(files["cas"], "4a6481c9.0"));
            File.WriteAllText(Path.Combine(files["cas"], "README"), "no certificate");
            changes += $" tls-ca-cert-file \"\" tls-ca-cert-dir {files["cas"]}";
        }

        using var other = new TestAuthority("Another");
        if (form == "bundle")
            files.Write("ca.crt", $"{other.Certificate.ExportCertificatePem()}\n"
                + $"{files.Authority.Certificate.ExportCertificatePem()}");
        Assert.Equal("+OK", client.Command($"CONFIG SET {changes}").ToString());
        Assert.Equal(own.Thumbprint, ThumbprintSeen(server));
        using var foreign = other.Issue("client");
        Assert.Equal(form == "bundle", TlsServer.IsLetIn(() => server.Connect(foreign)));
    }

    // Change, and what it is refused with; * is any text.
    private const string Refusals = """
        tls-cert-file {0}/none | tls-cert-file '{0}/none': no such file; give the path of a file that is there
        tls-cert-file "" | tls-cert-file is not set; give the server's certificate, a PEM or PFX file
        tls-cert-file {0} | tls-cert-file '{0}': permission denied; let the user that runs the server read the file
        tls-cert-file {0}/text | tls-cert-file '{0}/text': that is neither PEM, nor PFX with the password of tls-key-file-pass (*
        tls-cert-file {0}/server.key | tls-cert-file '{0}/server.key': there is no certificate in it; give a file with -----BEGIN CERTIFICATE-----
        tls-cert-file {0}/damaged | tls-cert-file '{0}/damaged': a certificate in it cannot be read (*); make the file anew
        tls-key-file {0}/none | tls-key-file '{0}/none': no such file; give the path of a file that is there
        tls-key-file "" | tls-cert-file '{0}/server.crt': there is no private key in it; set tls-key-file
        tls-key-file {0}/server.crt | tls-key-file '{0}/server.crt': there is no private key in it; give a file with the certificate's private key
        tls-key-file {0}/text | tls-key-file '{0}/text': that is no PEM file; give the private key as PEM
        tls-key-file {0}/other.key | tls-key-file '{0}/other.key': the key does not fit the certificate of tls-cert-file '{0}/server.crt' (*); give the certificate's own private key
        tls-key-file {0}/locked.key | tls-key-file '{0}/locked.key': the key is encrypted; set tls-key-file-pass
        tls-key-file {0}/locked.key tls-key-file-pass wrong | tls-key-file '{0}/locked.key': the key does not fit the certificate of tls-cert-file '{0}/server.crt' (*
        tls-ca-cert-file {0}/none | tls-ca-cert-file '{0}/none': no such file; give the path of a file that is there
        tls-ca-cert-file {0}/text | tls-ca-cert-file '{0}/text': that is no PEM file; give one that begins with -----BEGIN
        tls-ca-cert-file "" | neither tls-ca-cert-file nor tls-ca-cert-dir is set, and clients have to show certificates; set one of them, or tls-auth-clients no
        tls-ca-cert-dir {0}/none | tls-ca-cert-dir '{0}/none': there is no certificate that can be read in that folder; give a folder with PEM files
        """;

    [Fact]
    public void A_file_that_cannot_be_used_is_named_and_the_certificate_of_before_stays()
    {
        using var server = new TlsServer();
        var files = server.Files;
        string before = ThumbprintSeen(server);
        using var other = files.Authority.Issue("other");
        files.Put("other", other);
        files.Write("text", "nothing of the kind");
        files.Write("damaged", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
        using var key = ECDsa.Create();
        key.ImportFromPem(File.ReadAllText(files["server.key"]));
        files.Write("locked.key", key.ExportEncryptedPkcs8PrivateKeyPem(Password,
            new PbeParameters(PbeEncryptionAlgorithm.Aes256Cbc, HashAlgorithmName.SHA256, 1000)));
        using var client = server.Kv.Connect();
        string options = client.Ok("CONFIG GET tls-*").ToString();
        foreach (string line in Refusals.Replace("{0}", files.Folder, StringComparison.Ordinal).Split('\n'))
        {
            string[] halves = line.Split(" | ");
            string expected = $"-ERR CONFIG SET failed (possibly related to argument '{halves[0].Split(' ')[0]}') - "
                + $"Unable to update TLS configuration: {halves[1]}";
            Assert.Matches("^" + string.Join(".*", expected.Split('*').Select(Regex.Escape)),
                client.Command($"CONFIG SET {halves[0]}").ToString());
            Assert.Equal(options, client.Ok("CONFIG GET tls-*").ToString());
            Assert.Equal(before, ThumbprintSeen(server));
        }
    }

    // Whoever opens a pipe waits for a writer: with the options' lock held nobody could even stop the server.
    [Fact]
    public void A_pipe_where_a_file_should_be_keeps_nobody()
    {
        string mkfifo = Requires.Tool("mkfifo");
        using var server = new TlsServer();
        string pipe = server.Files["pipe"];
        Assert.Equal(0, ChildProcess.Run(mkfifo, [pipe]).ExitCode);
        try
        {
            using var client = server.Kv.Connect();
            client.Ok($"CONFIG SET tls-ca-cert-dir {server.Files.Folder}");
            foreach (string option in (string[])["tls-cert-file", "tls-key-file", "tls-ca-cert-file"])
                Assert.Contains($"{option} '{pipe}': it is a pipe or a terminal, not a file; give the path of a file",
                    client.Command($"CONFIG SET {option} {pipe}").ToString(), StringComparison.Ordinal);
            Assert.True(TlsServer.IsLetIn(() => server.Connect()));
        }
        finally
        {
            // A writer ends the wait of whoever has opened it all the same.
            using var writer = new FileStream(pipe, FileMode.Open, FileAccess.ReadWrite);
        }
    }

    [Theory, InlineData("TLSv1"), InlineData("TLSv1.1"), InlineData("TLSv1.1 TLSv1.2"), InlineData("SSLv3")]
    public void Versions_that_are_no_longer_safe_are_refused(string versions)
    {
        Assert.EndsWith("is not served, since it is no longer safe: use TLSv1.2, TLSv1.3 or both",
            OptionTable.TrySet(new ServerOptions(), [("tls-protocols", versions)]).Error, StringComparison.Ordinal);
        Assert.Contains("is not served, since it is no longer safe",
            OptionParser.Parse(["--tls-protocols", versions]).Error, StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_server_does_not_start_without_what_TLS_needs()
    {
        var options = new ServerOptions { Port = 0, Bind = ["127.0.0.1"] };
        options.Tls.Port = ServerProgram.FreePort();
        var none = await Assert.ThrowsAsync<ArgumentException>(() => KvServer.StartAsync(options));
        Assert.StartsWith("Unable to update TLS configuration: tls-cert-file is not set", none.Message,
            StringComparison.Ordinal);
        options.Tls.CertFile = _files["server.crt"];
        options.Tls.KeyFile = _files["server.key"];
        var untrusting = await Assert.ThrowsAsync<ArgumentException>(() => KvServer.StartAsync(options));
        Assert.Contains("neither tls-ca-cert-file nor tls-ca-cert-dir is set", untrusting.Message,
            StringComparison.Ordinal);
    }

    [Fact]
    public void The_program_says_why_it_does_not_start()
    {
        var result = ChildProcess.Run(KvProcess.Program,
            ["--port", "0", "--tls-port", $"{ServerProgram.FreePort()}", "--tls-cert-file", "/no/such.crt"]);
        Assert.Equal(1, result.ExitCode);
        Assert.Contains("tls-cert-file '/no/such.crt': no such file", result.Errors, StringComparison.Ordinal);
    }

    internal static string ThumbprintSeen(TlsServer server)
    {
        using var client = server.Connect();
        client.Ok("PING");
        using var seen = new X509Certificate2(((System.Net.Security.SslStream)client.Stream!).RemoteCertificate!);
        return seen.Thumbprint;
    }
}

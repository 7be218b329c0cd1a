using System.Net.Security;
using System.Net.Sockets;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using RespBenchmark.Engine;
using RespBenchmark.Measure;
using RespBenchmark.Network;

namespace RespBenchmark.Tests.Engine;

/// <summary>Runs over TLS: what is trusted, what is refused, and the client's own certificate.</summary>
public sealed class SecureTests : IDisposable
{
    private const int Watchdog = 120_000, CommandBytes = 27;

    private readonly X509Certificate2 _certificate;
    private readonly string _caFile = Path.GetTempFileName(), _keyFile = Path.GetTempFileName();
    private readonly FakeServer _server;
    private volatile string? _clientName;
    private volatile System.Security.Authentication.SslProtocols _protocol;
    private volatile TlsCipherSuite _cipher;

    public SecureTests()
    {
        using var key = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        var request = new CertificateRequest("CN=bench.test", key, HashAlgorithmName.SHA256);
        request.CertificateExtensions.Add(new X509BasicConstraintsExtension(true, false, 0, true));
        var names = new SubjectAlternativeNameBuilder();
        names.AddDnsName("bench.test");
        request.CertificateExtensions.Add(names.Build());
        _certificate = request.CreateSelfSigned(DateTimeOffset.UtcNow.AddDays(-1), DateTimeOffset.UtcNow.AddDays(1));
        File.WriteAllText(_caFile, _certificate.ExportCertificatePem());
        File.WriteAllText(_keyFile, key.ExportPkcs8PrivateKeyPem());
        _server = new FakeServer(Serve);
    }

    public void Dispose()
    {
        _server.Dispose();
        _certificate.Dispose();
        File.Delete(_caFile);
        File.Delete(_keyFile);
    }

    [Fact(Timeout = Watchdog)]
    public Task A_server_of_a_trusted_authority_is_driven_and_sees_the_clients_certificate() => Task.Run(() =>
    {
        Measurement result =
            Runs.ToEnd(Plan(new TlsOptions { CaFile = _caFile, ServerName = "bench.test", CertificateFile = _caFile,
                KeyFile = _keyFile }));
        Assert.Equal((500L, 500L, RunEnd.Completed), (result.Counters.Commands, result.Counters.Ops, result.End));
        Assert.Equal("CN=bench.test", _clientName);
    });

    [Fact(Timeout = Watchdog)]
    public Task A_server_that_is_not_trusted_is_refused_unless_told_otherwise() => Task.Run(() =>
    {
        Assert.Throws<ConnectException>(() => LoadRun.Connect(Plan(new TlsOptions { ServerName = "bench.test" })));
        Assert.Throws<ConnectException>(
            () => LoadRun.Connect(Plan(new TlsOptions { CaFile = _caFile, ServerName = "other.test" })));
        Assert.Equal(500, Runs.ToEnd(Plan(new TlsOptions { Insecure = true })).Counters.Commands);
    });

    [Fact(Timeout = Watchdog)]
    public Task A_file_that_is_missing_is_named() => Task.Run(() =>
    {
        var error = Assert.Throws<ConnectException>(
            () => LoadRun.Connect(Plan(new TlsOptions { CaFile = "/nowhere/ca.pem" })));
        Assert.Contains("/nowhere/ca.pem", error.Reason);
    });

    [Fact(Timeout = Watchdog)]
    public Task Ciphers_of_TLS_1_2_are_those_that_were_named() => Task.Run(() =>
    {
        _protocol = System.Security.Authentication.SslProtocols.Tls12;
        var plan = Plan(new TlsOptions { Insecure = true, Ciphers = "ECDHE-ECDSA-AES128-GCM-SHA256" });
        Assert.Equal(500, Runs.ToEnd(plan).Counters.Commands);
        Assert.Equal(TlsCipherSuite.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, _cipher);
        Assert.Equal(500,
            Runs.ToEnd(
            Plan(new TlsOptions { Insecure = true,
                Ciphers = "AES128-SHA:ECDHE-ECDSA-AES256-GCM-SHA384" })).Counters.Commands);
        Assert.Equal(TlsCipherSuite.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, _cipher);
    });

    [Theory(Timeout = Watchdog), InlineData("HIGH"), InlineData("TLS_AES_128_GCM"), InlineData("17")]
    public Task A_cipher_that_is_not_known_is_named(string name) => Task.Run(() =>
    {
        var error = Assert.Throws<ConnectException>(() => LoadRun.Connect(Plan(new TlsOptions { Ciphers = name })));
        Assert.Contains($"cipher '{name}' is not known", error.Reason);
    });

    private void Serve(FakeServer.Peer peer)
    {
        using var stream = new SslStream(new NetworkStream(peer.Socket), false, (_, certificate, _, _) =>
        {
            _clientName = certificate?.Subject ?? _clientName;
            return true;
        });
        try
        {
            stream.AuthenticateAsServer(_certificate, clientCertificateRequired: true, _protocol,
                checkCertificateRevocation: false);
            _cipher = stream.NegotiatedCipherSuite;
            byte[] buffer = new byte[64 * 1024];
            for (int left = 0, read; (read = stream.Read(buffer)) > 0;)
            {
                for (left += read; left >= CommandBytes; left -= CommandBytes) stream.Write("$8\r\nabcdefgh\r\n"u8);
            }
        }
        catch (Exception error) when (error is IOException or System.Security.Authentication.AuthenticationException)
        {
            // A client that does not trust us goes away.
        }
    }

    private CellPlan Plan(TlsOptions tls) => new()
    {
        Target = new Target { Port = _server.Port, Tls = tls }, Workload = FixedWorkload.Gets, Commands = 500,
            Depth = 5, Sessions = 2,
    };
}

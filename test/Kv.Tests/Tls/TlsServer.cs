using System.Net;
using System.Net.Security;
using System.Net.Sockets;
using System.Security.Authentication;
using System.Security.Cryptography.X509Certificates;
using Kv.Server.Execution;
using Kv.Server.Network;
using Kv.Tests.Harness;
using Microsoft.Extensions.Logging;

namespace Kv.Tests.Tls;

/// <summary>A server with certificates of its own and two ports: one in clear, one for TLS.</summary>
internal sealed class TlsServer : IDisposable
{
    public TlsServer(params string[] options) : this(KvInstance.Start, options)
    {
    }

    public TlsServer(ILoggerFactory log, params string[] options)
        : this(all => KvInstance.Start(log, all), options)
    {
    }

    public TlsServer(CommandTable commands, params string[] options)
        : this(all => KvInstance.Start(commands, all), options)
    {
    }

    private TlsServer(Func<string[], KvInstance> start, string[] options)
    {
        // Ends: see KvProcess.Start.
        for (int attempt = 1; ; attempt++)
        {
            (int port, int tlsPort) = (ServerProgram.FreePort(), ServerProgram.FreePort());
            try
            {
                Kv = start(["--port", $"{port}", "--tls-port", $"{tlsPort}", .. Files.Options,
                    "--enable-protected-configs", "yes", .. options]);
                EndPoint = new IPEndPoint(IPAddress.Loopback, tlsPort);
                return;
            }
            catch (ListenException) when (attempt < 3)
            {
                // Somebody else took a port in the moment between.
            }
            catch
            {
                Files.Dispose();
                throw;
            }
        }
    }

    public CertificateFolder Files { get; } = new();

    public KvInstance Kv { get; }

    /// <summary>Where TLS is spoken.</summary>
    public IPEndPoint EndPoint { get; }

    /// <summary>A client with a certificate of the server's authority, or with another one.</summary>
    public RespClient Connect(X509Certificate2? certificate = null)
    {
        certificate ??= Files.Authority.Issue("client");
        return Connect(new SslClientAuthenticationOptions { ClientCertificates = [certificate] });
    }

    /// <summary>A client without a certificate.</summary>
    public RespClient ConnectUnknown() => Connect(new SslClientAuthenticationOptions());

    /// <summary>A client that believes the server if its authority has issued the certificate for this
    /// machine.</summary>
    public RespClient Connect(SslClientAuthenticationOptions options)
    {
        options.TargetHost = "localhost";
        options.CertificateChainPolicy = new X509ChainPolicy
        {
            TrustMode = X509ChainTrustMode.CustomRootTrust, RevocationMode = X509RevocationMode.NoCheck,
        };
        options.CertificateChainPolicy.CustomTrustStore.Add(Files.Authority.Certificate);
        return new RespClient(EndPoint, stream =>
        {
            var tls = new SslStream(stream);
            tls.AuthenticateAsClient(options);
            return tls;
        });
    }

    /// <summary>Whether a client may send commands. With TLS 1.3 its own side of the handshake ends before the server
    /// has looked at its certificate.</summary>
    public static bool IsLetIn(Func<RespClient> connect)
    {
        try
        {
            using var client = connect();
            client.Send("PING\r\n"u8);
            return client.TryRead() is { } reply && reply.ToString() == "+PONG";
        }
        catch (Exception exception) when (exception is AuthenticationException or IOException or SocketException)
        {
            return false;
        }
    }

    /// <summary>A field of INFO, asked for in clear.</summary>
    public string Info(string field)
    {
        using var client = Kv.Connect();
        return client.Info(field);
    }

    public void AwaitInfo(string field, string value) =>
        Eventually.Holds(() => Info(field) == value, () => $"{field} is {Info(field)}, not {value}");

    public void Dispose()
    {
        Kv.Dispose();
        Files.Dispose();
    }
}

using System.Net;
using System.Net.Security;
using Kv.Tests.Tls;

namespace Kv.Tests.Harness;

/// <summary>KV_TLS=1: servers in this process have a port for TLS beside their own, and clients use that one.</summary>
internal sealed class TlsInstead
{
    private readonly CertificateFolder _files = new();

    public TlsInstead() => AppDomain.CurrentDomain.ProcessExit += (_, _) => _files.Dispose();

    /// <summary>Options of the next server.</summary>
    public string[] NextOptions() =>
    [
        "--port", $"{ServerProgram.FreePort()}", "--tls-port", $"{ServerProgram.FreePort()}",
        "--tls-auth-clients", "no", .. _files.Options,
    ];

    /// <summary>A client of a server's port for TLS; null where that server has none.</summary>
    public RespClient? Open(int port, int timeoutMs) => port == 0 ? null
        : new RespClient(new IPEndPoint(IPAddress.Loopback, port), stream =>
        {
            var tls = new SslStream(stream, leaveInnerStreamOpen: false, (_, _, _, _) => true);
            tls.AuthenticateAsClient("localhost");
            return tls;
        }, timeoutMs);
}

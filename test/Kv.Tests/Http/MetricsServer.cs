using System.Net;
using Kv.Server.Network;
using Kv.Tests.Harness;

namespace Kv.Tests.Http;

/// <summary>A server with a metrics-port.</summary>
internal sealed class MetricsServer : IDisposable
{
    public MetricsServer(params string[] options)
    {
        // Ends: see KvProcess.Start.
        for (int attempt = 1; ; attempt++)
        {
            int port = ServerProgram.FreePort();
            try
            {
                Kv = KvInstance.Start([.. options, "--metrics-port", port.ToString()]);
                EndPoint = new IPEndPoint(IPAddress.Loopback, port);
                return;
            }
            catch (ListenException) when (attempt < 3)
            {
                // Somebody else took the port in the moment between.
            }
        }
    }

    public KvInstance Kv { get; }

    public EndPoint EndPoint { get; }

    public void Dispose() => Kv.Dispose();
}

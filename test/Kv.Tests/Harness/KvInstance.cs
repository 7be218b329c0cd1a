using System.Net;

namespace Kv.Tests.Harness;

/// <summary>Kv in the test's own process, on a port of its own. The one file of the harness that knows KvServer.</summary>
public sealed class KvInstance : TestServer
{
    private KvInstance(IPEndPoint endPoint) => EndPoint = endPoint;

    public override string Name => "Kv";

    public override EndPoint EndPoint { get; }

    /// <summary>Skips the test while there is no server to start.</summary>
    public static void RequireServer() => Assert.Skip("KvServer does not exist yet");

    /// <summary>Starts a server with the options of kv-server's command line, without port and bind.</summary>
    public static KvInstance Start(params string[] options)
    {
        RequireServer();
        _ = options;
        return new KvInstance(new IPEndPoint(IPAddress.Loopback, 0));
    }

    public override void Dispose()
    {
    }
}

using System.Net;

namespace Kv.Tests.Harness;

/// <summary>kv-server under limits of the shell that starts it.</summary>
/// <param name="port">Where it is to listen.</param>
/// <param name="limits">What bash is told before: "ulimit -n 256".</param>
/// <param name="options">The server's own.</param>
public sealed class LimitedKv(int port, string limits, params string[] options) : ServerProgram("/bin/bash",
    ["-c", $"{limits}; exec \"{KvProcess.Program}\" --port {port} \"$@\"", "kv-server", .. KvProcess.NoSave(options),
        .. options],
    new IPEndPoint(IPAddress.Loopback, port))
{
    public override string Name => $"kv-server after {limits}";

    public static LimitedKv Start(string limits, params string[] options)
    {
        // Ends: see RedisServer.Start.
        for (int attempt = 1; ; attempt++)
        {
            var server = new LimitedKv(FreePort(), limits, options);
            if (server.WaitUntilReady()) return server;
            string log = server.Log;
            server.Dispose();
            if (attempt == 3) Assert.Fail($"{server.Name} does not start:\n{log}");
        }
    }
}

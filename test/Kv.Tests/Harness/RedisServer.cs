using System.Net;

namespace Kv.Tests.Harness;

/// <summary>The reference: Debian's redis-server, on a free port, without persistence, gone when disposed.</summary>
public sealed class RedisServer : ServerProgram
{
    private readonly string _directory;

    private RedisServer(string file, IPEndPoint endPoint, string directory, IEnumerable<string> options)
        : base(file, options, endPoint) => _directory = directory;

    public override string Name => "redis-server";

    /// <summary>Starts one; skips the test where redis-server is absent.</summary>
    public static RedisServer Start(params string[] options) => StartWith(null, options);

    /// <summary>As <see cref="Start"/>, with a configuration file.</summary>
    public static RedisServer StartWith(string? configFile, params string[] options)
    {
        string file = Requires.Redis();
        // Ends: each failure means that another process took the port in between, which three in a row cannot be.
        for (int attempt = 1; ; attempt++)
        {
            int port = FreePort();
            // A folder of its own: a replica leaves the snapshot that it got there; the next to start would load it.
            string directory = Directory.CreateTempSubdirectory("kv-redis-").FullName;
            var server = new RedisServer(file, new IPEndPoint(IPAddress.Loopback, port), directory,
            [
                .. configFile is null ? Array.Empty<string>() : [configFile],
                "--port", port.ToString(), .. configFile is null ? ["--save", ""] : Array.Empty<string>(),
                "--proto-max-bulk-len", "1mb",
                "--enable-debug-command", "yes", "--bind", "127.0.0.1", "--dir", directory, .. options,
            ]);
            if (server.WaitUntilReady()) return server;
            string log = server.Log;
            server.Dispose();
            if (attempt == 3) Assert.Fail($"redis-server does not start:\n{log}");
        }
    }

    public override void Dispose()
    {
        base.Dispose();
        Directory.Delete(_directory, recursive: true);
    }
}

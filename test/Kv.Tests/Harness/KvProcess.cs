using System.Net;

namespace Kv.Tests.Harness;

/// <summary>The built kv-server program as a child process: for signals, kills, exit codes, memory and
/// handles.</summary>
public sealed class KvProcess : ServerProgram
{
    private KvProcess(IPEndPoint endPoint, IEnumerable<string> options, params (string Name, string Value)[] variables)
        : base(Program, options, endPoint, variables)
    {
    }

    /// <summary>The program, where the build of Kv.Host leaves it beside the tests.</summary>
    public static string Program { get; } = Path.Combine(AppContext.BaseDirectory,
        OperatingSystem.IsWindows() ? "kv-server.exe" : "kv-server");

    public override string Name => "kv-server";

    public static KvProcess Start(params string[] options) => StartWith([], options);

    /// <summary>Starts it with one more environment variable.</summary>
    public static KvProcess StartWith(string name, string value, params string[] options) =>
        StartWith([(name, value)], options);

    /// <summary>Starts it with more environment variables.</summary>
    public static KvProcess StartWith((string Name, string Value)[] variables, params string[] options)
    {
        // Ends: see RedisServer.Start.
        for (int attempt = 1; ; attempt++)
        {
            int port = FreePort();
            var server = new KvProcess(new IPEndPoint(IPAddress.Loopback, port),
                ["--port", port.ToString(), .. NoSave(options), .. options], variables);
            if (server.WaitUntilReady()) return server;
            string log = server.Log;
            server.Dispose();
            if (attempt == 3) Assert.Fail($"kv-server does not start:\n{log}");
        }
    }

    /// <summary>Starts it without waiting, for tests of the start itself.</summary>
    public static KvProcess StartOn(int port, params string[] options) =>
        StartOn(port, [], options);

    /// <summary>The same with more environment variables.</summary>
    public static KvProcess StartOn(int port, (string Name, string Value)[] variables, string[] options) =>
        new(new IPEndPoint(IPAddress.Loopback, port), ["--port", port.ToString(), .. NoSave(options), .. options],
            variables);

    /// <summary>Where a test does not say when snapshots are written, none is: it would lie where the next program
    /// looks for one.</summary>
    internal static string[] NoSave(string[] options) => options.Contains("--save") ? [] : ["--save", ""];
}

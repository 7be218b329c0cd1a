using System.Net;
using System.Net.NetworkInformation;
using System.Net.Sockets;

namespace Kv.Tests.Harness;

/// <summary>What a test needs of the machine. Absent: the test is skipped with the reason, but in CI it
/// fails.</summary>
public static class Requires
{
    /// <summary>True where nothing may be skipped: CI=true, as .ci/run sets it.</summary>
    public static bool IsCi { get; } =
        string.Equals(Environment.GetEnvironmentVariable("CI"), "true", StringComparison.OrdinalIgnoreCase);

    /// <summary>The path of redis-server, from KV_REDIS or the PATH.</summary>
    public static string Redis() =>
        Environment.GetEnvironmentVariable("KV_REDIS") is { Length: > 0 } given ? given : Tool("redis-server");

    /// <summary>The path of a program of the PATH.</summary>
    public static string Tool(string name)
    {
        if (Find(name) is { } path) return path;
        Missing($"{name} is not installed (Debian: apt-get install redis-server redis-tools)");
        return "";
    }

    /// <summary>A python3 that can import redis: Debian's own, whatever else is first on the PATH.</summary>
    public static string PythonWithRedis()
    {
        const string Python = "/usr/bin/python3";
        bool found = File.Exists(Python) && ChildProcess.Run(Python, ["-c", "import redis"]).ExitCode == 0;
        if (!found) Missing("no /usr/bin/python3 with the redis module (Debian: apt-get install python3-redis)");
        return Python;
    }

    /// <summary>A folder with the modules of node that clients are made of: KV_NODE, or where .ci/run puts
    /// them.</summary>
    /// <remarks>Skips in CI, too: not every machine reaches an index of modules.</remarks>
    public static string NodeModules(string module)
    {
        string folder = Environment.GetEnvironmentVariable("KV_NODE") is { Length: > 0 } given ? given
            : Path.Combine(Root(), "artifacts", "node");
        if (Find("node") == null) Assert.Skip("node is not installed");
        if (!Directory.Exists(Path.Combine(folder, "node_modules", module)))
            Assert.Skip($"no module {module} (npm install --prefix {folder} {module}; see .ci/run)");
        return folder;
    }

    /// <summary>The folder of the solution.</summary>
    public static string Root()
    {
        var folder = new DirectoryInfo(AppContext.BaseDirectory);
        while (!File.Exists(Path.Combine(folder.FullName, "Kv.sln"))) folder = folder.Parent!;
        return folder.FullName;
    }

    /// <summary>A Chromium, which draws pages without a screen.</summary>
    public static string Browser()
    {
        if ((Find("chromium") ?? Find("chromium-browser") ?? Find("google-chrome")) is { } path) return path;
        Missing("no chromium (Debian: apt-get install chromium)");
        return "";
    }

    /// <summary>An address of this machine that is not loopback: a client there comes from afar to a server.</summary>
    public static IPAddress OwnAddress()
    {
        var address = NetworkInterface.GetAllNetworkInterfaces()
            .SelectMany(card => card.GetIPProperties().UnicastAddresses).Select(unicast => unicast.Address)
            .FirstOrDefault(ip => ip.AddressFamily == AddressFamily.InterNetwork && !IPAddress.IsLoopback(ip));
        if (address is null) Assert.Skip("this machine has no address but loopback");
        return address;
    }

    public static void Linux(string reason)
    {
        if (!OperatingSystem.IsLinux()) Assert.Skip($"needs Linux: {reason}");
    }

    /// <summary>Skips with the reason; in CI, where everything was to be installed, fails with it.</summary>
    public static void Missing(string reason)
    {
        if (IsCi) Assert.Fail($"{reason}; in CI that is a failure");
        Assert.Skip(reason);
    }

    private static string? Find(string name) =>
        (Environment.GetEnvironmentVariable("PATH") ?? "").Split(Path.PathSeparator)
            .Append("/usr/bin").Append("/usr/local/bin")
            .Select(folder => Path.Combine(folder, name))
            .FirstOrDefault(File.Exists);
}

using System.Globalization;
using Kv.Tests.Harness;

namespace Kv.Tests.Clients;

/// <summary>Debian's python3-redis, through a script that says at each step what it expected.</summary>
public class PythonTests
{
    [Fact]
    public void Python3_redis_works_as_against_the_reference()
    {
        using var borrowed = SharedServers.Kv();
        Run(borrowed.Server, "python_redis.py");
    }

    [Fact]
    public void Python3_redis_keeps_copies_as_against_the_reference()
    {
        using (var borrowed = SharedServers.Redis()) Run(borrowed.Server, "python_tracking.py");
        using (var borrowed = SharedServers.Kv()) Run(borrowed.Server, "python_tracking.py");
    }

    private static void Run(TestServer server, string name)
    {
        string script = Path.Combine(AppContext.BaseDirectory, "Clients", name);
        var result = ChildProcess.Run(Requires.PythonWithRedis(),
            [script, server.Host, server.Port.ToString(CultureInfo.InvariantCulture)]);
        Assert.True(result.ExitCode == 0, result.Output + result.Errors);
        Assert.EndsWith("ok\n", result.Output, StringComparison.Ordinal);
    }
}

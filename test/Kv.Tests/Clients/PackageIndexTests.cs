using System.Globalization;
using Kv.Tests.Harness;

namespace Kv.Tests.Clients;

/// <summary>The sample of the package index, as README shows it, against the server under test.</summary>
public class PackageIndexTests
{
    [Fact]
    public void The_package_index_goes_in_and_comes_back_byte_for_byte_under_load()
    {
        Requires.Tool("redis-cli");
        Requires.Tool("redis-benchmark");
        Requires.PythonWithRedis();
        using var borrowed = SharedServers.Kv();
        string script = Path.Combine(Requires.Root(), "samples", "package-index", "run");
        var result = ChildProcess.Run("/usr/bin/env",
        [
            TimeBudget.Scale > 1 || Requires.IsCi ? "LIMIT=10000000" : "LIMIT=3000", "/bin/bash", script,
            borrowed.Server.Host, borrowed.Server.Port.ToString(CultureInfo.InvariantCulture),
        ], timeoutMs: 240_000);
        // Not a tool that CI installs: a machine without apt has no index.
        if (result.ExitCode == 3) Assert.Skip(result.Errors.Trim());
        Assert.True(result.ExitCode == 0, result.Output + result.Errors);
        Assert.EndsWith("every record came back byte for byte\n", result.Output, StringComparison.Ordinal);
    }
}

using Kv.Tests.Harness;

namespace Kv.Tests.Persistence;

/// <summary>The sample that moves data from redis-server to kv-server and back.</summary>
public class MoveSampleTests
{
    [Fact]
    public void Data_moves_from_redis_and_back_without_loss()
    {
        Requires.Redis();
        Requires.PythonWithRedis();
        string script = Path.Combine(Requires.Root(), "samples", "from-redis-and-back", "run");
        var result = ChildProcess.Run("/usr/bin/env",
            [$"KEYS={TimeBudget.Count(4000)}", $"KV={KvProcess.Program}", "/bin/bash", script], timeoutMs: 240_000);
        Assert.True(result.ExitCode == 0, result.Output + result.Errors);
        Assert.EndsWith("nothing was lost\n", result.Output, StringComparison.Ordinal);
    }
}

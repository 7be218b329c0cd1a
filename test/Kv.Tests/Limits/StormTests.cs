using Kv.Tests.Harness;
using Kv.Tests.Tidy;

namespace Kv.Tests.Limits;

/// <summary>benchmark/tools/storm.py, a round of each attack: all that clients can do to a server, at
/// once.</summary>
[Collection(Alone.Name)]
public sealed class StormTests(ITestOutputHelper output)
{
    [Theory, MemberData(nameof(Network.Transports.Both), MemberType = typeof(Network.Transports))]
    public void All_attacks_at_once_leave_the_server_as_it_was(string transport)
    {
        Requires.Linux("reads /proc");
        string python = Requires.Tool("python3"), folder = Directory.CreateTempSubdirectory("kv-storm-").FullName;
        try
        {
            string script = Path.Combine(Repository.Root, "benchmark", "tools", "storm.py");
            var run = ChildProcess.Run("/bin/bash",
                ["-c",
                $"cd \"{folder}\"; exec \"{python}\" \"{script}\" \"{KvProcess.Program}\" --transport {transport} "
                + $"--rounds {TimeBudget.Count(1)} --port {ServerProgram.FreePort()}"],
                    timeoutMs: (int)Math.Min(int.MaxValue, 600_000 * TimeBudget.Scale));
            output.WriteLine(run.Output);
            Assert.True(run.ExitCode == 0, run.Output + run.Errors);
        }
        finally
        {
            Directory.Delete(folder, recursive: true);
        }
    }
}

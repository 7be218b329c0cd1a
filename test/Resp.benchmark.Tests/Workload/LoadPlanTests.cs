using Kv.Tests.Harness;
using RespBenchmark.Network;
using RespBenchmark.Workload;

namespace RespBenchmark.Tests.Workload;

public class LoadPlanTests
{
    [Theory]
    [InlineData(1, 8, false)]
    [InlineData(7, 8, false)]
    [InlineData(1000, 8, false)]
    [InlineData(20_000, 3, false)]
    [InlineData(16_384, 4, false)]
    [InlineData(16_385, 4, false)]
    [InlineData(1001, 2, true)]
    public void Every_key_is_written_exactly_once_and_then_the_stream_ends(int keys, int sessions, bool withSet)
    {
        LoadPlan plan = LoadPlan.For(LoadKind.Strings, OpSettings.Garnet(keys, 8, 16), sessions, withSet)!;
        Assert.Equal(Math.Min(sessions, keys), plan.Sessions);
        var written = new List<string>();
        long commands = 0;
        using RequestSource source = plan.Workload.Open(0, 1, plan.Sessions, 1);
        for (int number = 0; number < plan.Sessions; number++)
        {
            var session = new SessionStream { Session = number };
            List<string[]> sent = Rendered.Parse(Rendered.Bytes(source, ref session, long.MaxValue, 3));
            commands += sent.Count;
            foreach (string[] words in sent)
            {
                Assert.Equal(withSet ? "SET" : "MSET", words[0]);
                Assert.InRange(words.Length, 3, 1 + (2 * plan.PairsPerCommand));
                for (int index = 1; index < words.Length; index += 2) written.Add(words[index].TrimStart('X'));
            }
        }

        Assert.Equal(plan.Workload.Commands, commands);
        Assert.Equal(Enumerable.Range(0, keys).Select(key => key.ToString()), written);
    }

    [Fact]
    public void A_load_is_described_by_the_numbers_of_the_published_output()
    {
        LoadPlan plan = LoadPlan.For(LoadKind.Strings, OpSettings.Garnet(16_777_216, 8, 128), 8)!;
        Assert.Equal(("MSET", 4096L, 614_417L, 4096L),
            (plan.Name, plan.BatchKeys, plan.BatchBytes, plan.PairsPerCommand));
        Assert.False(plan.IsCut);
    }

    [Fact]
    public void Batches_of_large_values_are_cut_to_commands_of_16_MiB()
    {
        LoadPlan plan = LoadPlan.For(LoadKind.Strings, OpSettings.Garnet(1024, 8, 1_048_576), 8)!;
        Assert.True(plan.IsCut);
        Assert.Equal((128L, 15L), (plan.BatchKeys, plan.PairsPerCommand));
        Assert.True(plan.BatchBytes > 128L * 1_048_576);
    }

    [Fact]
    public void A_load_for_counting_writes_numbers()
    {
        LoadPlan plan = LoadPlan.For(LoadKind.Digits, OpSettings.Garnet(100, 8, 30), 1, withSet: true)!;
        Assert.All(Rendered.Commands(plan.Workload, 100), words => Assert.Matches("^[1-9][0-9]{17}$", words[2]));
    }

    [Theory]
    [InlineData(false, "random")]
    [InlineData(true, "random")]
    [InlineData(false, "verify")]
    public void A_load_into_a_real_server_is_complete_and_says_so(bool withSet, string data)
    {
        using RedisServer server = RedisServer.Start();
        Target target = TargetOf(server);
        OpSettings settings = OpSettings.Garnet(5003, 8, 64) with { Value = ValueSpec.Parse("64", data) };
        LoadOutcome outcome = new LoadPhase(target, LoadPlan.For(LoadKind.Strings, settings, 4, withSet)!).Run();
        Assert.True(outcome.IsComplete);
        Assert.Empty(outcome.Warnings);
        Assert.Equal(5003, outcome.Stored);
        Assert.Equal(5003, outcome.Measurement.Counters.Ops);
    }

    [Fact]
    public void Keys_that_are_missing_or_wrong_after_a_load_are_warned_about()
    {
        using RedisServer server = RedisServer.Start("--maxmemory", "3mb", "--maxmemory-policy", "allkeys-random");
        OpSettings settings = OpSettings.Garnet(20_000, 8, 100) with { Value = ValueSpec.Parse("100", "verify") };
        LoadOutcome outcome = new LoadPhase(TargetOf(server), LoadPlan.For(LoadKind.Strings, settings, 2)!).Run();
        Assert.Contains(outcome.Warnings, warning => warning.StartsWith("DBSIZE is ", StringComparison.Ordinal));
        Assert.Contains(outcome.Warnings, warning => warning.Contains("sampled keys are missing"));
    }

    [Fact]
    public void Errors_of_a_load_are_warned_about_with_their_text()
    {
        using RedisServer server = RedisServer.Start("--maxmemory", "1mb", "--maxmemory-policy", "noeviction");
        LoadOutcome outcome = new LoadPhase(TargetOf(server),
            LoadPlan.For(LoadKind.Strings, OpSettings.Garnet(50_000, 8, 100), 2)!).Run();
        Assert.False(outcome.IsComplete);
        Assert.Contains(outcome.Warnings, warning => warning.Contains("OOM"));
    }

    internal static Target TargetOf(RedisServer server) =>
        new() { Port = ((System.Net.IPEndPoint)server.EndPoint).Port };
}

using Kv.Tests.Harness;
using RespBenchmark.Engine;
using RespBenchmark.Measure;
using RespBenchmark.Network;
using RespBenchmark.Workload;

namespace RespBenchmark.Tests.Workload;

/// <summary>Every operation against redis-server: no error, and only replies of the types that its row names.</summary>
public class RealServerTests
{
    private const int Commands = 400;

    [Fact]
    public void Every_Garnet_operation_is_answered_as_its_row_says()
    {
        using RedisServer server = RedisServer.Start();
        Target target = LoadPlanTests.TargetOf(server);
        foreach (GarnetOp op in GarnetOps.All.Where(op => !op.IsExtension))
        {
            using (ControlConnection control = ControlConnection.Open(target))
                Assert.False(control.Send("FLUSHALL").IsError);
            OpSettings settings = OpSettings.Garnet(200, 8, 8, batch: 10, ttlSeconds: 100);
            if (LoadPlan.For(op.Load, settings, 2) is { } load)
            {
                LoadOutcome loaded = new LoadPhase(target, load).Run();
                Assert.True(loaded.Warnings.Count == 0, $"{op.Name}: {string.Join("; ", loaded.Warnings)}");
            }

            AssertAnswered(op.Name, Run(target, GarnetOps.Throughput(op, settings)));
        }
    }

    [Fact]
    public void Every_online_operation_is_answered_as_its_row_says()
    {
        using RedisServer server = RedisServer.Start();
        OpSettings settings = OpSettings.Garnet(200, 8, 8, ttlSeconds: 100, sortedSets: 3, online: true);
        (GarnetOp, int)[] mix =
            [.. GarnetOps.Online.Select((name, index) => (GarnetOps.Find(name)!, index < 4 ? 9 : 8))];
        AssertAnswered("online", Run(LoadPlanTests.TargetOf(server), GarnetOps.OnlineMix(mix, settings)));
    }

    [Fact]
    public void Every_test_of_redis_benchmark_is_answered_as_its_row_says()
    {
        using RedisServer server = RedisServer.Start();
        foreach (RedisTest test in RedisTests.All)
            foreach (long keySpace in (long[])[0, 1000])
                AssertAnswered(test.Title, Run(LoadPlanTests.TargetOf(server), RedisTests.For(test, 10, keySpace)));
    }

    [Fact]
    public void A_value_that_is_not_what_was_written_for_its_key_is_counted_as_wrong()
    {
        using RedisServer server = RedisServer.Start();
        Target target = LoadPlanTests.TargetOf(server);
        OpSettings settings = OpSettings.Garnet(100, 8, 64) with { Value = ValueSpec.Parse("64", "verify") };
        // In order: among uniform draws of some seeds the one key is not.
        ShapedWorkload gets = GarnetOps.Throughput(GarnetOps.Find("GET")!,
            settings with { Keys = settings.Keys with { Distribution = Distribution.Sequence } });
        Assert.Empty(new LoadPhase(target, LoadPlan.For(LoadKind.Strings, settings, 2)!).Run().Warnings);
        Assert.Equal(0, Run(target, gets, verify: 1).Counters.Wrong);

        using (ControlConnection control = ControlConnection.Open(target))
        {
            // One key gets what belongs to another.
            byte[] other = control.Send("GET", settings.Keys.Format.NameOf(1)).Bytes;
            control.Send("SET", settings.Keys.Format.NameOf(2), System.Text.Encoding.ASCII.GetString(other));
        }

        Measurement measured = Run(target, gets, verify: 1);
        Assert.Equal(Commands / 100, measured.Counters.Wrong);
    }

    private static Measurement Run(Target target, ShapedWorkload workload, double verify = 0)
    {
        using LoadRun run = LoadRun.Connect(new CellPlan
        {
            Target = target, Workload = workload, Sessions = 2, Depth = 10, Mode = DepthMode.Batch,
                Commands = Commands, Loops = 1,
            Seed = Seed.Value, VerifyShare = verify,
        });
        run.Begin();
        Assert.True(run.Wait(TimeSpan.FromSeconds(60)), "the run did not end");
        return run.Finish();
    }

    private static void AssertAnswered(string name, Measurement measured)
    {
        string errors = string.Join("; ", measured.Errors.Select(error => error.FirstText));
        Assert.True(measured.Counters.Errors == 0, $"{name}: {errors}; {Seed.Hint}");
        Assert.True(measured.Counters.Mismatches == 0,
            $"{name}: {measured.Counters.Mismatches} replies of a wrong type");
        Assert.Equal(RunEnd.Completed, measured.End);
        Assert.Equal(Commands, measured.Counters.Commands);
    }
}

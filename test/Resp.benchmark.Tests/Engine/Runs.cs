using RespBenchmark.Engine;
using RespBenchmark.Measure;

namespace RespBenchmark.Tests.Engine;

/// <summary>Runs a plan to its end.</summary>
internal static class Runs
{
    /// <summary>Fails when the run does not end by itself.</summary>
    public static Measurement ToEnd(CellPlan plan)
    {
        using var run = LoadRun.Connect(plan);
        run.WarmUp(plan.Warmup);
        run.Begin();
        Assert.True(run.Wait(TimeSpan.FromSeconds(60)), "the run hangs");
        return Checked(run.Finish());
    }

    /// <summary>Whatever happened: what was sent was answered or is lost.</summary>
    public static Measurement Checked(Measurement result)
    {
        Assert.Equal(result.Counters.Sent, result.Counters.Commands + result.Counters.Lost);
        return result;
    }
}

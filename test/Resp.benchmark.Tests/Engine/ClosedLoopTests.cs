using RespBenchmark.Engine;
using RespBenchmark.Measure;
using RespBenchmark.Network;

namespace RespBenchmark.Tests.Engine;

public class ClosedLoopTests
{
    private const int Watchdog = 120_000;

    [Theory(Timeout = Watchdog)]
    [InlineData(1, 1, "Batch", "Auto")]
    [InlineData(1, 1, "Window", "Epoll")]
    [InlineData(7, 5, "Batch", "Epoll")]
    [InlineData(7, 5, "Window", "Auto")]
    [InlineData(3, 4096, "Batch", "Auto")]
    [InlineData(3, 1000, "Window", "Thread")]
    [InlineData(3, 1000, "Window", "Portable")]
    [InlineData(5, 1, "Batch", "Portable")]
    public Task A_counted_run_sends_exactly_so_many_and_hears_of_each(int sessions, int depth, string mode,
        string model) => Task.Run(() =>
    {
        const int commands = 20_003;
        using var server = FakeServer.Answering(CommandBytes, "$8\r\nabcdefgh\r\n"u8.ToArray());
        Measurement result = Runs.ToEnd(Plan(server) with
        {
            Sessions = sessions,
            Depth = depth,
            Mode = Enum.Parse<DepthMode>(mode),
            Model = Enum.Parse<SessionModel>(model),
            Loops = 2,
            Commands = commands,
        });

        Assert.Equal(RunEnd.Completed, result.End);
        Assert.Equal((commands, commands, commands, 0),
            (result.Counters.Sent, result.Counters.Commands, result.Counters.Ops, result.Counters.Lost));
        Assert.Equal(commands, result.Service.Count);
        Assert.Equal(commands, result.Kinds[0].Ops);
        Assert.Equal(commands * 14L, result.Counters.BytesIn);
        Assert.Equal(commands * (long)CommandBytes, result.Counters.BytesOut);
        Assert.True(result.Elapsed > TimeSpan.Zero);
    });

    private const int CommandBytes = 27;

    private static CellPlan Plan(FakeServer server) =>
        new() { Target = new Target { Port = server.Port }, Workload = FixedWorkload.Gets };
}

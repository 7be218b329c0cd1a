using RespBenchmark.Saturation;

namespace RespBenchmark.Tests.Saturation;

public class VerdictTests
{
    [Theory]
    [InlineData("ServerBound", 0.99, 0.5, 0.4, false)]
    [InlineData("ClientBound", 0.5, 0.95, 0.4, false)]
    [InlineData("LatencyBound", 0.5, 0.5, 0.4, false)]
    [InlineData("LatencyBound", 0.5, 0.5, 0.04, false)]     // a full host is nobody's bound where the cores are parted
    [InlineData("HostBound", 0.5, 0.5, 0.04, true)]
    [InlineData("HostBound", 0.95, 0.95, 0.4, false)]       // neither has room
    public void The_one_without_room_is_the_bound(string expected, double serverHot, double loop, double idle,
        bool shared)
    {
        var use = new ResourceUse { ServerSeen = true, ServerHot = serverHot, ServerCpu = serverHot, ClientCpu = loop,
            HostIdle = idle };
        Assert.Equal(expected, Verdicts.Judge(use, loop, 2, 4, shared, openLoop: false, rateMet: false).ToString());
    }

    [Fact]
    public void A_rate_that_was_met_is_the_bound()
    {
        var use = new ResourceUse { ServerSeen = true, ServerHot = 0.3, HostIdle = 0.5 };
        Assert.Equal(Verdict.RateBound, Verdicts.Judge(use, 0.3, 2, 2, false, openLoop: true, rateMet: true));
        Assert.Equal(Verdict.Unknown, Verdicts.Judge(use, 0.3, 2, 2, false, openLoop: true, rateMet: false));
    }

    [Fact]
    public void A_generator_that_was_late_is_never_told_to_look_for_the_server()
    {
        Assert.StartsWith("GENERATOR LATE: ", Verdict.Unknown.Advice(serverSeen: true, generatorLate: true));
        Assert.StartsWith("GENERATOR LATE: ", Verdict.Unknown.Advice(serverSeen: false, generatorLate: true));
        Assert.Equal("--server-pid", Verdict.Unknown.Advice(serverSeen: false, generatorLate: false));
        Assert.Contains("the rate was not met", Verdict.Unknown.Advice(serverSeen: true, generatorLate: false));
    }

    [Fact]
    public void An_unseen_server_is_never_called_the_bound()
    {
        Assert.Equal(Verdict.Unknown, Verdicts.Judge(new ResourceUse { HostIdle = 1 }, 0.3, 2, 0, false, false, false));
        Assert.Equal(Verdict.ClientBound,
            Verdicts.Judge(new ResourceUse { HostIdle = 1 }, 0.97, 2, 0, false, false, false));
    }

    [Fact]
    public void Stolen_time_is_the_hosts()
    {
        var use = new ResourceUse { ServerSeen = true, ServerHot = 0.99, HostIdle = 0.5, Steal = 0.02 };
        Assert.Equal(Verdict.HostBound, Verdicts.Judge(use, 0.3, 2, 2, false, false, false));
    }
}

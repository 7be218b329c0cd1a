using RespBenchmark.CommandLine;
using RespBenchmark.Engine;
using RespBenchmark.Native;

namespace RespBenchmark.Tests.Native;

/// <summary>What options become: targets and grids.</summary>
public class ReaderTests
{
    [Fact]
    public void Without_options_the_target_is_the_usual_one()
    {
        var target = Assert.Single(TargetReader.Read(new TargetOptions()));
        Assert.Equal(("127.0.0.1", 6379, 0, 2), (target.Host, target.Port, target.Database, target.RespVersion));
        Assert.Null(target.Tls);
    }

    [Theory]
    [InlineData("A=10.0.0.1:7000", "10.0.0.1", 7000, null)]
    [InlineData("A=[::1]:7000", "::1", 7000, null)]
    [InlineData("A=cache", "cache", 6379, null)]
    [InlineData("A=/run/kv.sock", "127.0.0.1", 6379, "/run/kv.sock")]
    [InlineData("A=redis://cache", "cache", 6379, null)]
    public void A_named_target_is_an_address_a_socket_or_a_uri(string text, string host, int port, string? unix)
    {
        var target = Assert.Single(TargetReader.Read(new TargetOptions { Targets = [text] }));
        Assert.Equal(("A", host, port, unix), (target.Name, target.Host, target.Port, target.UnixPath));
    }

    [Fact]
    public void A_uri_gives_user_password_and_database()
    {
        var target = Assert.Single(TargetReader.Read(new TargetOptions { Uri = "rediss://ann:s%40fe@cache:7000/3" }));
        Assert.Equal(("cache", 7000, "ann", "s@fe", 3),
            (target.Host, target.Port, target.User, target.Password, target.Database));
        Assert.NotNull(target.Tls);
    }

    [Theory]
    [InlineData("A")]
    [InlineData("=cache")]
    [InlineData("A=")]
    [InlineData("A=cache:0")]
    [InlineData("A=cache:70000")]
    [InlineData("A=http://cache")]
    public void What_is_no_target_is_refused(string text) =>
        Assert.Throws<UsageException>(() => TargetReader.Read(new TargetOptions { Targets = [text] }));

    [Fact]
    public void Two_targets_of_one_name_are_refused() =>
        Assert.Throws<UsageException>(() => TargetReader.Read(new TargetOptions { Targets = ["A=x:1", "A=y:2"] }));

    [Fact]
    public void A_grid_is_every_session_count_with_every_depth_and_rate()
    {
        var grid = CellGrid.Read(new RunVerb { Sessions = "1,8", Depths = "1,16" }, [1000, 2000]);
        Assert.Equal(8, grid.Count);
        Assert.Equal(new GridCell(1, 1, 1000), grid[0]);
        Assert.Equal(new GridCell(8, 16, 2000), grid[^1]);
        Assert.Equal(0, Assert.Single(CellGrid.Read(new RunVerb { Sessions = "auto" }, null)).Sessions);
    }

    [Theory]
    [InlineData("50000", 50_000)]
    [InlineData("50k", 50_000)]
    [InlineData("1.5M", 1_500_000)]
    [InlineData("80%", 800)]
    public void Rates_are_numbers_or_shares_of_the_most(string text, double rate) =>
        Assert.Equal(rate, CellGrid.ReadRate(text, () => 1000), 6);

    [Theory]
    [InlineData("poisson", ArrivalShape.Poisson, 1)]
    [InlineData("uniform", ArrivalShape.Uniform, 1)]
    [InlineData("burst:50", ArrivalShape.Burst, 50)]
    public void Arrivals_have_a_shape(string text, object shape, int burst)
    {
        var plan = CellGrid.Arrivals(new RunVerb { Arrival = text }, 10);
        Assert.Equal((shape, burst), ((object)plan.Shape, plan.Burst));
        Assert.Throws<UsageException>(() => CellGrid.Arrivals(new RunVerb { Arrival = "burst:0" }, 10));
    }
}

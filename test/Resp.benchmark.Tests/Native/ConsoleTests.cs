using RespBenchmark.CommandLine;
using RespBenchmark.Measure;
using RespBenchmark.Native;
using RespBenchmark.Reports;

namespace RespBenchmark.Tests.Native;

/// <summary>What a person sees: rows, and the line that moves.</summary>
public class ConsoleTests
{
    [Fact]
    public void A_row_says_rate_latencies_load_and_verdict()
    {
        var latencies = new Histogram();
        for (int us = 1; us <= 10_000; us++) latencies.Record(us * 1000);
        string[] row = Row(new CellReport
        {
            Axis = new CellAxis { Op = "GET", Conns = 16, Depth = 64 },
            Reps = [new Repetition { Ops = 10_000, OpsS = 1_234_567, Nils = 100, Service = LatencySummary.Of(latencies), ServerHot = 0.99, ServerCpu = 3.5, ClientHot = 0.5, ClientCpu = 1, Rss = 64 << 20 }],
            Verdict = "SERVER-BOUND", Headroom = 3.14, Warnings = ["careful"],
        }.Summarized());
        Assert.Contains("16    64   closed |", row[0]);
        Assert.Contains("1,234,567", row[0]);
        Assert.Contains("5,0", row[0]);                 // p50, of three digits
        Assert.Contains("99% / 3.50c", row[0]);
        Assert.Contains("64M | SERVER-BOUND  headroom 3.1x", row[0]);
        Assert.Equal("WARN careful", row[1].Trim());
    }

    [Fact]
    public void A_cell_that_the_server_lacks_is_not_zero()
    {
        string row = Row(new CellReport { Unsupported = "unknown command" })[0];
        Assert.Contains("n/a  unknown command", row);
    }

    [Theory]
    [InlineData("50")]
    [InlineData("0")]
    [InlineData("99.9,fast")]
    public void Percentiles_lie_between_0_and_100(string text)
    {
        if (text == "50") Assert.Equal([0.5], ConsoleTable.ReadShares(text));
        else Assert.Throws<UsageException>(() => ConsoleTable.ReadShares(text));
    }

    [Theory]
    [InlineData(true, "Default", true)]
    [InlineData(false, "Default", false)]
    [InlineData(true, "Plain", false)]
    [InlineData(true, "Off", false)]
    [InlineData(false, "Tty", true)]
    public void The_live_line_is_drawn_on_a_terminal_or_where_asked_for(bool terminal, string form, bool draws)
    {
        using var errors = new StringWriter();
        using var output = new StringWriter();
        using var interrupt = new Interrupt();
        var surroundings = new Surroundings { Output = output, Errors = errors, Interrupt = interrupt, IsTerminal = terminal };
        var line = new LiveLine(surroundings, Enum.Parse<ProgressForm>(form));
        line.Show("A GET [c1]", TimeSpan.FromSeconds(2), TimeSpan.FromSeconds(10), default(RunCounters) with { Ops = 4000 });
        Assert.Equal("", output.ToString());
        if (draws)
        {
            Assert.Contains("A GET [c1]  2 s", errors.ToString());
            Assert.Contains("2,000", errors.ToString());
        }
        else Assert.Equal("", errors.ToString());
    }

    private static string[] Row(CellReport cell)
    {
        using var output = new StringWriter();
        new ConsoleTable(output, ConsoleTable.ReadShares("50,99,max"), 3).Row(cell);
        return output.ToString().Split('\n');
    }
}

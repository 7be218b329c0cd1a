using System.Text.RegularExpressions;
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
            Reps = [new Repetition { Ops = 10_000, OpsS = 1_234_567, Nils = 100, Service = LatencySummary.Of(latencies),
                ServerHot = 0.99, ServerCpu = 3.5, ClientHot = 0.5, ClientCpu = 1, Rss = 64 << 20 }],
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
        var surroundings = new Surroundings { Output = output, Errors = errors, Interrupt = interrupt,
            IsTerminal = terminal };
        var line = new LiveLine(surroundings, Enum.Parse<ProgressForm>(form));
        line.Show("A GET [c1]", TimeSpan.FromSeconds(2), TimeSpan.FromSeconds(10),
            default(RunCounters) with { Ops = 4000 });
        Assert.Equal("", output.ToString());
        if (draws)
        {
            Assert.Contains("A GET [c1]  2 s", errors.ToString());
            Assert.Contains("2,000", errors.ToString());
        }
        else Assert.Equal("", errors.ToString());
    }

    [Theory]
    [InlineData("short")]
    [InlineData("a label as long as a template of commands with several words and placeholders in it makes it")]
    public void The_live_line_stays_on_one_line(string label)
    {
        using var errors = new StringWriter();
        using var interrupt = new Interrupt();
        var surroundings = new Surroundings { Output = TextWriter.Null, Errors = errors, Interrupt = interrupt };
        var line = new LiveLine(surroundings, ProgressForm.Tty) { Cell = 12, CellsInAll = 136 };
        line.Show(label, TimeSpan.FromSeconds(7), TimeSpan.FromSeconds(70),
            default(RunCounters) with { Ops = 70_000_000, Errors = 3 }, p99: 12_345);
        // What is left without escapes: where the output is no console, Spectre.Console takes 80 columns.
        string shown = Regex.Replace(errors.ToString(), "\\e\\[[0-9;]*[A-Za-z]|^\r", "");
        Assert.DoesNotContain('\n', shown);
        Assert.InRange(shown.Length, 1, 79);
        Assert.StartsWith(" 12/136 " + label[..5], shown.TrimStart('━'), StringComparison.Ordinal);
        Assert.EndsWith("10,000,000 ops/s  p99 12,345 µs  63 s left  3 errors", shown, StringComparison.Ordinal);
    }

    private static string[] Row(CellReport cell)
    {
        using var output = new StringWriter();
        new ConsoleTable(output, ConsoleTable.ReadShares("50,99,max"), 3).Row(cell);
        return output.ToString().Split('\n');
    }
}

using RespBenchmark.CommandLine;
using RespBenchmark.Reports;

namespace RespBenchmark.Tests.Reports;

public sealed class CompareTests : IDisposable
{
    private readonly string _folder = Directory.CreateTempSubdirectory("compare").FullName;

    [Fact]
    public void Cells_are_matched_by_their_axes_and_grey_ones_left_out_of_the_mean()
    {
        Report report = Made(("GET", 1, [200, 202, 198, 201]), ("SET", 1, [300, 303, 297, 301]),
            ("DEL", 1, [9, 9, 9, 9]));
        Report baseline = Made(("SET", 1, [100, 101, 99, 100]), ("GET", 1, [100, 101, 99, 100]),
            ("GET", 2, [1, 1, 1, 1]));
        baseline = baseline with { Cells =
            [baseline.Cells[0] with { Verdict = "HOST-BOUND" }, .. baseline.Cells.Skip(1)] };

        var pairs = CompareRun.Pairs(report, baseline).Where(pair => pair.Metric == "ops_s").ToList();

        Assert.Equal(["GET", "SET"], pairs.Select(pair => pair.Axis.Op));
        Assert.Equal(2.0025, pairs[0].Ratio!.Value, 0.001);
        Assert.True(pairs[0].Ci95![0] > 1.95 && pairs[0].Ci95![1] < 2.05);
        Assert.Equal(2 / 70.0, pairs[0].P, 1e-12);
        Assert.Equal(2 / 70.0, pairs[0].PHolm, 1e-12);     // the other cell is no test
        Assert.False(pairs[0].IsGrey());
        Assert.True(pairs[1].IsGrey());
        Assert.Equal(pairs[0].Ratio!.Value, Comparisons.GeometricMean(pairs, "ops_s")!.Value, 1e-12);
    }

    [Fact]
    public void Three_against_three_is_never_significant_and_four_is_where_there_is_one_cell()
    {
        double[] high = [200, 201, 202, 203, 204, 205], low = [100, 101, 102, 103, 104, 105];
        foreach (int reps in new[] { 2, 3, 4, 5, 6 })
        {
            var pair = CompareRun.Pairs(Made(("GET", 1, high[..reps])), Made(("GET", 1, low[..reps])))
                .First(one => one.Metric == "ops_s");
            Assert.Equal(reps >= 4, pair.IsSignificant());
            Assert.Equal(reps >= 4, pair.CanBeSignificant());
            Assert.Contains(reps >= 4 ? "significant, " : "too few repetitions", ReportMarkdown.ComparisonNote(pair),
                StringComparison.Ordinal);
        }
    }

    [Fact]
    public void Each_further_cell_makes_it_harder_to_be_significant()
    {
        double[] high = [200, 201, 202, 203], low = [100, 101, 102, 103];
        var pairs = CompareRun.Pairs(Made(("GET", 1, high), ("SET", 1, high)), Made(("GET", 1, low), ("SET", 1, low)));

        Assert.All(pairs, pair => Assert.Equal(4 / 70.0, pair.PHolm, 1e-12));
        Assert.All(pairs, pair => Assert.StartsWith("too few repetitions to be significant among 2 cells",
            ReportMarkdown.ComparisonNote(pair),
            StringComparison.Ordinal));
    }

    [Fact]
    public void Compare_prints_the_table_and_says_what_changed()
    {
        string old = Save("base.json",
            Made(("GET", 1, [100, 101, 99, 100]), ("SET", 1, [100, 101, 99, 100]), ("DEL", 1, [100, 101, 99, 100])));
        string now = Save("new.json",
            Made(("GET", 1, [80, 81, 79, 80]), ("SET", 1, [101, 100, 99, 101]), ("DEL", 1, [120, 121, 119, 120])));
        using var output = new StringWriter();

        Assert.Equal(ExitCode.Ok, CompareRun.Compare(old, now, [], output, TextWriter.Null));

        Assert.Contains(Rows(output), row => row is ["GET", "ops_s", .., "WORSE", _]);
        Assert.Contains(Rows(output), row => row is ["SET", "ops_s", .., "same", _]);
        Assert.Contains(Rows(output), row => row is ["DEL", "ops_s", .., "better", _]);
    }

    [Theory]
    [InlineData("ops_s.ratio<0.9", ExitCode.GateFailed)]
    [InlineData("ops_s.ratio<0.79", ExitCode.Ok)]
    [InlineData("ops_s.ratio<0.8", ExitCode.Ok)]            // the interval reaches across 0.8
    [InlineData("ops_s < 90", ExitCode.GateFailed)]
    [InlineData("ops_s>=75", ExitCode.GateFailed)]
    [InlineData("ops_s>100", ExitCode.Ok)]
    [InlineData("errors>0", ExitCode.Ok)]
    [InlineData("errors<=0", ExitCode.GateFailed)]
    [InlineData("nils.ratio>1", ExitCode.Ok)]
    [InlineData("p99>1", ExitCode.Ok)]                      // no latencies: not judged
    [InlineData("regression", ExitCode.GateFailed)]
    public void Gates_fail_only_if_the_whole_interval_is_beyond_the_limit(string gate, int exitCode)
    {
        string old = Save("base.json", Made(("GET", 1, [100, 101, 99, 100]))),
            now = Save("new.json", Made(("GET", 1, [80, 81, 79, 80])));
        using var output = new StringWriter();

        Assert.Equal(exitCode, CompareRun.Compare(old, now, [gate], output, TextWriter.Null));
        Assert.Contains($"gate {gate}", output.ToString(), StringComparison.Ordinal);
    }

    [Fact]
    public void A_regression_is_more_than_five_percent_or_twice_the_interval_whichever_is_larger()
    {
        Assert.Equal(ExitCode.Ok, Regression([100, 100.1, 99.9, 100], [96, 96.1, 95.9, 96]));           // 4 %, sharp
        Assert.Equal(ExitCode.GateFailed, Regression([100, 100.1, 99.9, 100], [94, 94.1, 93.9, 94]));   // 6 %, sharp
        Assert.Equal(ExitCode.Ok, Regression([100, 110, 90, 100], [94, 104, 84, 94]));                  // 6 %, blurred
        Assert.Equal(ExitCode.Ok, Regression([100, 100.1, 99.9, 100], [120, 121, 119, 120]));           // faster

        static int Regression(double[] before, double[] now) =>
            CompareRun.Judge(Made(("GET", 1, now)), Made(("GET", 1, before)), [Gate.Parse("regression")],
                TextWriter.Null, TextWriter.Null);
    }

    [Fact]
    public void What_cannot_be_judged_is_said_and_fails_nothing()
    {
        using var output = new StringWriter();
        using var errors = new StringWriter();
        Report one = Made(("GET", 1, [50])), bound = Made(("SET", 1, [50, 51])),
            baseline = Made(("GET", 1, [100]), ("SET", 1, [100, 101]));
        bound = bound with { Cells = [bound.Cells[0] with { Verdict = "CLIENT-BOUND" }] };

        Gate[] gates = [Gate.Parse("ops_s.ratio<0.9"), Gate.Parse("ops_s<90")];
        Assert.Equal(ExitCode.Ok, CompareRun.Judge(one, baseline, gates, output, errors));
        Assert.Equal(ExitCode.Ok, CompareRun.Judge(bound, baseline, gates, output, errors));
        Assert.Equal(ExitCode.Ok, CompareRun.Judge(Made(("DEL", 1, [1, 1])), baseline, [gates[0]], output, errors));

        string text = output.ToString();
        Assert.Equal(2, Count(text, "not judged: A, GET: one repetition has no interval"));
        Assert.Equal(2, Count(text, "not judged: A, SET: CLIENT-BOUND"));
        Assert.Equal(1, Count(text, "the base lacks this cell"));
        Assert.Contains(
            "!!! WARNING !!! 2 of 2 judgements of gates could not be made (CLIENT-BOUND): NOTHING was checked",
            errors.ToString());
        Assert.Equal(3, Count(errors.ToString(), "NOTHING was checked"));
    }

    [Fact]
    public void Gates_that_judged_some_cells_say_which_they_could_not_and_those_that_judged_all_say_nothing()
    {
        using var errors = new StringWriter();
        Report two = Made(("GET", 1, [50, 51]), ("SET", 1, [50, 51]));
        Assert.Equal(ExitCode.Ok, CompareRun.Judge(two, null, [Gate.Parse("ops_s<10")], TextWriter.Null, errors));
        Assert.Equal("", errors.ToString());
        two = two with { Cells = [two.Cells[0], two.Cells[1] with { Verdict = "HOST-BOUND" }] };
        Assert.Equal(ExitCode.Ok, CompareRun.Judge(two, null, [Gate.Parse("ops_s<10")], TextWriter.Null, errors));
        Assert.Contains(
            "1 of 2 judgements of gates could not be made (HOST-BOUND): the exit code says nothing of those",
            errors.ToString());
    }

    [Theory]
    [InlineData("")]
    [InlineData("ops_s")]
    [InlineData("ops_s>")]
    [InlineData("ops>1")]
    [InlineData("p99.mean>1")]
    [InlineData("p99>NaN")]
    [InlineData("p99=1")]
    [InlineData("p99=>1")]
    public void A_gate_that_cannot_be_read_is_a_usage_error_that_names_it(string text) =>
        Assert.Contains($"--fail-if {text}", Assert.Throws<UsageException>(() => Gate.Parse(text)).Message,
            StringComparison.Ordinal);

    [Fact]
    public void Reports_without_a_common_cell_cannot_be_compared()
    {
        using var output = new StringWriter();
        Assert.Equal(ExitCode.RunError, CompareRun.Compare(Save("a.json", Made(("GET", 1, [1]))),
            Save("b.json", Made(("GET", 2, [1]))), [], output, TextWriter.Null));
        Assert.Contains("no cell of", output.ToString(), StringComparison.Ordinal);
        Assert.Throws<UsageException>(() => CompareRun.Compare(Path.Combine(_folder, "none.json"),
            Save("b.json", Made()), [], output, TextWriter.Null));
    }

    [Fact]
    public void A_kept_report_is_rendered_as_a_page()
    {
        string html = Path.Combine(_folder, "pages", "out.html");
        Assert.Equal(ExitCode.Ok, CompareRun.Render(Save("kept.json", SampleReport.Closed()), html));
        Assert.Equal(ReportHtml.Write(SampleReport.Closed()), File.ReadAllText(html));
    }

    public void Dispose() => Directory.Delete(_folder, recursive: true);

    private static Report Made(params (string Op, int Conns, double[] Rates)[] cells) => new()
    {
        Tool = "t",
        Targets = [new TargetReport()],
        Cells = [.. cells.Select(cell => new CellReport
        {
            Axis = new CellAxis { Op = cell.Op, Conns = cell.Conns },
            Verdict = "SERVER-BOUND",
            Reps = [.. cell.Rates.Select(rate => new Repetition { OpsS = rate })],
        }.Summarized())],
    };

    private string Save(string name, Report report)
    {
        string path = Path.Combine(_folder, name);
        ReportFiles.Write(report, new ReportPaths { Json = path });
        return path;
    }

    private static IEnumerable<string[]> Rows(StringWriter output) =>
        output.ToString().Split('\n').Where(line => line.StartsWith('|'))
        .Select(line => line.Split('|', StringSplitOptions.TrimEntries)[1..^1]);

    private static int Count(string text, string part) => text.Split(part).Length - 1;

}

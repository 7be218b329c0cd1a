using System.Globalization;
using RespBenchmark.Measure;

namespace RespBenchmark.Reports.Page;

/// <summary>Makes the page's charts of a report. A section without figures is left out.</summary>
internal static class ChartSections
{
    // Beyond this ratio of largest to smallest the smaller bars of a linear axis cannot be read.
    private const double LogFrom = 20;

    public static List<ChartSection> Of(Report report)
    {
        if (report.Cells.Count == 0) return [];
        var grid = new CellGrid(report);
        ChartSection?[] all =
        [
            ShareSections.BySize(report, grid), ShareSections.OverTime(report, grid),
            Throughput(report, grid), Latency(report, grid), Spectrum(report, grid), Rates(report, grid),
            Seconds(report, grid),
            Cpu(report, grid), Ratios(report, grid),
        ];
        return [.. all.OfType<ChartSection>()];
    }

    private static ChartSection Throughput(Report report, CellGrid grid) => new("throughput", "Throughput",
        "Operations a second, mean of the repetitions with its 95 % interval.",
        [new ChartVariant("all",
            [.. grid.Panels.Select(panel =>
            Bars(report, grid, panel, panel.Title, "ops/s", Rate, report.LogThroughput))])]);

    private static ChartPoint Rate(CellReport cell, int x)
    {
        double mean = cell.Reps.Average(rep => rep.OpsS);
        double? half = cell.Summary?.Ci95;
        return new ChartPoint(x, mean, half is { } low ? Math.Max(0, mean - low) : null, mean + half);
    }

    private static ChartSection Latency(Report report, CellGrid grid)
    {
        (string Name, Func<LatencySummary, double?> Of)[] levels =
            [("p50", l => l.P50), ("mean", l => l.Mean), ("p99", l => l.P99), ("p99.9", l => l.P999)];
        var variants = grid.Panels.Select(
            panel => new ChartVariant(panel.Title.Length > 0 ? panel.Title : "all", [.. levels.Select(level =>
            Bars(report, grid, panel, level.Name, "µs",
                (cell, x) => new ChartPoint(x, level.Of(MergedLatency.Of(cell)))))]));
        return new ChartSection("latency", "Latency",
            Loops(report) + " A percentile is shown only where ten values lie beyond it.", [.. variants]);
    }

    private static string Loops(Report report) => report.Cells.Any(cell => cell.Axis.Rate is not null)
        ? "Open loop: from the intended send (response). Closed loop: from the actual send (service)."
        : "Closed loop: service time, which says nothing of the waiting before a send.";

    private static Chart Bars(Report report, CellGrid grid, CellGrid.Panel panel, string title, string unit,
        Func<CellReport, int, ChartPoint> pointOf, bool isLogarithmic = false)
    {
        var series = report.Targets.Select(
            (target, color) => new ChartSeries(Name(report, target), color, 0, [.. panel.Places.Select((place, x) =>
        {
            var cell = grid.Find(target, place);
            if (cell is null || cell.Unsupported is not null || cell.Reps.Count == 0)
                return new ChartPoint(x, null, Note: "n/a");
            return pointOf(cell, x) with { Hatched = cell.IsForeignBound(), Note = cell.Verdict };
        })])).ToList();
        double[] values = [.. series.SelectMany(one => one.Points).Select(point => point.Y).OfType<double>()
            .Where(value => value > 0)];
        return new Chart
        {
            Kind = "bars",
            Title = title,
            XLabel = grid.Along.Name,
            YLabel = unit,
            YLog = values.Length > 0 && (isLogarithmic || values.Max() > LogFrom * values.Min()),
            Categories = [.. panel.Places.Select(grid.Along.Of)],
            Series = series,
        };
    }

    private static ChartSection? Spectrum(Report report, CellGrid grid)
    {
        var variants = new List<ChartVariant>();
        foreach (var place in grid.Panels.SelectMany(panel => panel.Places))
        {
            var series = report.Targets.Select((target, color) => (target, color, cell: grid.Find(target, place)))
                .Select(one =>
                    (one.target, one.color, histogram: one.cell is null ? null : MergedLatency.Histogram(one.cell)))
                .Where(one => one.histogram is { Count: > 0 })
                .Select(one => new ChartSeries(Name(report, one.target), one.color, 0, SpectrumPoints(one.histogram!)))
                    .ToList();
            if (series.Count == 0) continue;
            variants.Add(new ChartVariant(grid.Label(place), [new Chart
            {
                Kind = "lines",
                XLabel = "share of operations that took no longer",
                YLabel = "µs",
                XLog = true,
                YLog = true,
                XTicks = SpectrumTicks,
                Series = series,
            }]));
        }

        return variants.Count == 0 ? null : new ChartSection("spectrum", "Percentile spectrum",
            "Each step to the right is ten times rarer.", variants);
    }

    private static readonly ChartMark[] SpectrumTicks =
    [
        new(1, "0%"), new(2, "50%"), new(10, "90%"), new(100, "99%"), new(1000, "99.9%"), new(1e4, "99.99%"),
        new(1e5, "99.999%"), new(1e6, "99.9999%"),
        new(1e7, "99.99999%"),
    ];

    // Up to where ten values lie beyond: further right a single one would draw the line.
    private static List<ChartPoint> SpectrumPoints(Histogram histogram) =>
        [.. PercentileSteps.Of(histogram).Where(step => step.Share == 0 || histogram.Supports(step.Share))
            .Select(step =>
            new ChartPoint(1 / (1 - step.Share), step.Value / 1000.0,
                Label: (step.Share * 100).ToString("0.#####", CultureInfo.InvariantCulture) + "%"))];

    private static ChartSection? Rates(Report report, CellGrid grid)
    {
        var variants = new List<ChartVariant>();
        foreach (var group in report.Cells.Where(cell => cell.Axis.Rate is not null && cell.Reps.Count > 0)
            .GroupBy(cell => cell.Axis with { Rate = null }))
        {
            if (group.Select(cell => cell.Axis.Rate).Distinct().Count() < 2) continue;
            var series = new List<ChartSeries>();
            var marks = new List<ChartMark>();
            foreach (var (target, color) in report.Targets.Select((target, color) => (target, color)))
            {
                CellReport[] cells = [.. group.Where(cell => cell.Target == target.Name)
                    .OrderBy(cell => cell.Axis.Rate)];
                if (cells.Length == 0) continue;
                series.Add(Level("p50", 1, latency => latency.P50));
                series.Add(Level("p99", 0, latency => latency.P99));
                if (Knee.Of(cells) is { } knee)
                {
                    marks.Add(new ChartMark(knee, report.Targets.Count > 1 ? $"knee {target.Name}" : "knee"));
                }

                ChartSeries Level(string name, int dash, Func<LatencySummary, double?> of) => new(
                    $"{Name(report, target)} {name}", color, dash,
                    [.. cells.Select(cell => new ChartPoint(cell.Axis.Rate!.Value, of(MergedLatency.Of(cell)),
                        Hatched: cell.IsForeignBound(),
                        Note: cell.Verdict))]);
            }

            var others = grid.Varying.Where(axis => axis.Name != "rate").ToList();
            variants.Add(new ChartVariant(ReportText.Label(group.Key, others), [new Chart
            {
                Kind = "lines",
                XLabel = "offered operations a second",
                YLabel = "µs from the intended send",
                YLog = true,
                Markers = marks,
                Series = series,
            }]));
        }

        return variants.Count == 0 ? null
            : new ChartSection("rates", "Latency against offered rate", Knee.Words, variants);
    }

    private static ChartSection? Seconds(Report report, CellGrid grid)
    {
        var variants = new List<ChartVariant>();
        foreach (var cell in report.Cells.Where(cell => cell.Reps.Any(rep => rep.Series.Count > 1)))
        {
            // One repetition stands for the cell: that of the median rate.
            var rep = cell.Reps.Where(rep => rep.Series.Count > 1).OrderBy(rep => rep.OpsS)
                .ElementAt((cell.Reps.Count(rep => rep.Series.Count > 1) - 1) / 2);
            int color = report.Targets.ToList().FindIndex(target => target.Name == cell.Target);
            List<ChartMark> marks = [.. rep.Events.Select(happened => new ChartMark(happened.T, happened.Text)),
                .. rep.Series.Where(point => point.Gc > 0)
                    .Select(point => new ChartMark(point.T, $"client GC {point.Gc}"))];
            string name = (report.Targets.Count > 1 ? cell.Target + ": " : "") + grid.Label(cell.Axis);
            variants.Add(new ChartVariant(name,
            [
                Lines("Operations a second", "ops/s", false, ("ops/s", 0, point => point.Ops)),
                Lines("Latency", "µs", true, ("p50", 1, point => point.P50), ("p99", 0, point => point.P99),
                    ("max", 2, point => point.Max)),
            ]));

            Chart Lines(string title, string unit, bool log,
                params (string Name, int Dash, Func<SeriesPoint, double?> Of)[] series) => new()
            {
                Kind = "lines",
                Title = title,
                XLabel = "seconds",
                YLabel = unit,
                YLog = log,
                Markers = marks,
                Series = [.. series.Select(one => new ChartSeries(one.Name, Math.Max(0, color), one.Dash,
                    [.. rep.Series.Select(point => new ChartPoint(point.T, one.Of(point)))]))],
            };
        }

        return variants.Count == 0 ? null : new ChartSection("seconds", "Second by second",
            "The repetition of the median rate, with the client's collections and what happened at the server.",
            variants);
    }

    private static ChartSection? Cpu(Report report, CellGrid grid)
    {
        if (!report.Cells.Any(cell => cell.Reps.Any(rep => rep.ClientCpu is not null || rep.ServerCpu is not null)))
            return null;
        var charts = grid.Panels.Select(panel =>
        {
            var cells = panel.Places.SelectMany(place => report.Targets.Select(target => grid.Find(target, place)))
                .OfType<CellReport>().Where(cell => cell.Unsupported is null && cell.Reps.Count > 0).ToList();
            return new Chart
            {
                Kind = "stack",
                Title = panel.Title,
                XLabel = report.Targets.Count > 1 ? $"{grid.Along.Name} · target" : grid.Along.Name,
                YLabel = "cores busy",
                Categories =
                    [.. cells.Select(cell => grid.Along.Of(cell.Axis)
                        + (report.Targets.Count > 1 ? $" · {cell.Target}" : ""))],
                Series = [Side("client", 7, rep => rep.ClientCpu), Side("server", 0, rep => rep.ServerCpu)],
            };

            ChartSeries Side(string name, int color, Func<Repetition, double?> of) =>
                new(name, color, 0, [.. cells.Select((cell, x) =>
            {
                double[] values = [.. cell.Reps.Select(of).OfType<double>()];
                return new ChartPoint(x, values.Length > 0 ? values.Average() : null, Hatched: cell.IsForeignBound(),
                    Note: cell.Verdict);
            })]);
        });
        return new ChartSection("cpu", "Processor time",
            "Cores kept busy by client and server, mean over the repetitions.",
            [new ChartVariant("all", [.. charts])]);
    }

    private static ChartSection? Ratios(Report report, CellGrid grid)
    {
        var variants = report.Comparisons.GroupBy(pair => (pair.A, pair.B))
            .Select(sides => new ChartVariant($"{sides.Key.A} / {sides.Key.B}",
            [.. sides.GroupBy(pair => pair.Metric).Select(metric => new Chart
            {
                Kind = "ratio",
                Title = metric.Key,
                XLabel = $"{sides.Key.A} / {sides.Key.B}, "
                    + $"{(Metric.Find(metric.Key)?.MoreIsBetter == true ? "more" : "less")} is better for "
                    + $"{sides.Key.A}",
                YLabel = "ratio",
                Categories = [.. metric.Select(pair => grid.Label(pair.Axis))],
                Series = [new ChartSeries("ratio", 0, 0,
                    [.. metric.Select((pair, x) => new ChartPoint(x, pair.Ratio, pair.Ci95?[0], pair.Ci95?[1],
                    pair.IsGrey(), ReportMarkdown.ComparisonNote(pair)))])],
            })])).ToList();
        return variants.Count == 0 ? null : new ChartSection("ratios", "Side by side",
            "Ratio of the means with its 95 % interval (Welch's t on logarithms). An interval that crosses 1 shows no "
            + "difference.", variants);
    }

    internal static string Name(Report report, TargetReport target) =>
        target.Product is { } product ? report.Targets.Count > 1 ? $"{target.Name} ({product})" : product : target.Name;
}

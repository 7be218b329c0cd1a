namespace RespBenchmark.Reports.Page;

/// <summary>Makes the charts of a share that a scenario is about: a cache's hit ratio.</summary>
internal static class ShareSections
{
    private const double Megabyte = 1 << 20;

    /// <summary>The share over the server's memory, a chart for each workload; null: no cells differ in
    /// memory only.</summary>
    public static ChartSection? BySize(Report report, CellGrid grid)
    {
        var charts = new List<Chart>();
        foreach (var group in report.Cells.Where(cell => cell.Axis.MaxMemory is not null && Late(cell) is not null)
            .GroupBy(cell => cell.Axis with { MaxMemory = null, Loops = 0 }))
        {
            if (group.Select(cell => cell.Axis.MaxMemory).Distinct().Count() < 2) continue;
            charts.Add(new Chart
            {
                Kind = "lines",
                Title = Title(group.Key, grid),
                XLabel = "maxmemory in MB",
                YLabel = "hit ratio in %",
                XLog = true,
                XTicks = [.. group.Select(cell => cell.Axis.MaxMemory!.Value / Megabyte).Distinct().Order()
                    .Select(size => new ChartMark(size, $"{size:0.#}"))],
                Series = [.. report.Targets.Select((target, color) =>
                    new ChartSeries(ChartSections.Name(report, target), color, 0,
                    [.. group.Where(cell => cell.Target == target.Name).OrderBy(cell => cell.Axis.MaxMemory)
                        .Select(cell => new ChartPoint(cell.Axis.MaxMemory!.Value / Megabyte, 100 * Late(cell)))]))],
            });
        }

        return charts.Count == 0 ? null : new ChartSection("sizes", "Hit ratio by memory",
            "Reads that found their key, of the second half of each measurement, when caches had filled.",
            [new ChartVariant("all", charts)]);
    }

    /// <summary>The share interval by interval; null: no cell has one.</summary>
    public static ChartSection? OverTime(Report report, CellGrid grid)
    {
        List<ChartVariant> variants = [.. report.Cells.Where(cell => Course(cell) is not null)
            .GroupBy(cell => cell.Axis with { Loops = 0 }).Select(group => new ChartVariant(grid.Label(group.Key),
            [
                new Chart
                {
                    Kind = "lines",
                    XLabel = "seconds",
                    YLabel = "hit ratio in %",
                    Series = [.. report.Targets.Select((target, color) => (target, color,
                        cell: group.FirstOrDefault(cell => cell.Target == target.Name)))
                        .Where(one => one.cell is not null)
                        .Select(one => new ChartSeries(ChartSections.Name(report, one.target), one.color, 0,
                        [.. Course(one.cell!)!.Points.Select(point => new ChartPoint(point.T, 100 * point.Share))]))],
                },
            ]))];
        return variants.Count == 0 ? null : new ChartSection("shares", "Hit ratio over time",
            "Of each interval of the first repetition.", variants);
    }

    private static string Title(CellAxis place, CellGrid grid)
    {
        var others = grid.Varying.Where(axis => axis.Name is not ("maxmemory" or "loops")).ToList();
        return others.Count > 0 ? ReportText.Label(place, others) : place.Op;
    }

    private static ShareReport? Course(CellReport cell) =>
        cell.Reps.FirstOrDefault()?.Scenario?.Share is { Points.Count: > 1 } share ? share : null;

    private static double? Late(CellReport cell)
    {
        double[] values = [.. cell.Reps.Select(rep => rep.Scenario).OfType<ScenarioReport>()
            .Where(scenario => scenario.Share is not null)
            .Select(scenario => scenario.Figures.GetValueOrDefault($"{scenario.Share!.Name}_late"))];
        return values.Length > 0 ? values.Average() : null;
    }
}

using System.Globalization;
using System.Text;
using RespBenchmark.Measure;

namespace RespBenchmark.Reports;

/// <summary>What a scenario measured beside its operations and their latency.</summary>
internal sealed record ScenarioReport
{
    public string Name { get; init; } = "";

    /// <summary>Counts, those that end in _s per second, and shares.</summary>
    public IReadOnlyDictionary<string, double> Figures { get; init; } = new Dictionary<string, double>();

    /// <summary>By name; the operations' own is the repetition's service too.</summary>
    public IReadOnlyDictionary<string, LatencySummary> Latencies { get; init; } =
        new Dictionary<string, LatencySummary>();

    /// <summary>The share that the scenario is about, over its time; null: there is none.</summary>
    public ShareReport? Share { get; init; }
}

/// <summary>A share over the time of a repetition.</summary>
internal sealed record ShareReport(string Name, IReadOnlyList<SharePoint> Points);

/// <summary>Where an interval ends in s, and the share in it.</summary>
internal sealed record SharePoint(double T, double Share);

/// <summary>The figures of a cell's scenario over its repetitions: means, and latencies of all together.</summary>
internal static class ScenarioFigures
{
    /// <summary>As one line; null: the cell is no scenario's.</summary>
    public static string? Line(CellReport cell)
    {
        if (Values(cell) is not { Count: > 0 } values) return null;
        return string.Join("  ", values.Select(pair => $"{pair.Name} {pair.Value}"));
    }

    /// <summary>How the share of a cell's first repetition went, in at most ten steps; null: there is none.</summary>
    public static string? Course(CellReport cell)
    {
        const int steps = 10;
        if (cell.Reps.FirstOrDefault()?.Scenario?.Share is not { Points.Count: > 1 } share) return null;
        IReadOnlyList<SharePoint> points = share.Points;
        int count = Math.Min(steps, points.Count);
        return $"{Name(share.Name)} over {ReportText.Number(points[^1].T)} s: "
            + string.Join(' ', Enumerable.Range(1, count).Select(step =>
                points[(step * points.Count / count) - 1].Share.ToString("F3", CultureInfo.InvariantCulture)));
    }

    /// <summary>A table of all cells of a target; nothing where none is a scenario's.</summary>
    public static void WriteTable(StringBuilder text, IEnumerable<(string Label, CellReport Cell)> cells)
    {
        var rows = cells.Select(cell => (cell.Label, Values: Values(cell.Cell)))
            .Where(row => row.Values.Count > 0).ToList();
        foreach (var group in rows.GroupBy(row => string.Join(',', row.Values.Select(pair => pair.Name))))
        {
            var table = new MarkdownTable(["test", .. group.First().Values.Select(pair => pair.Name)]);
            foreach ((string label, List<(string Name, string Value)> values) in group)
                table.Add([label, .. values.Select(pair => pair.Value)]);
            table.Write(text);
        }
    }

    private static List<(string Name, string Value)> Values(CellReport cell)
    {
        ScenarioReport[] reps = [.. cell.Reps.Select(rep => rep.Scenario).OfType<ScenarioReport>()];
        if (reps.Length == 0) return [];
        var values = reps[0].Figures.Keys.Select(
            name => (Name(name), Figure(reps.Average(rep => rep.Figures.GetValueOrDefault(name))))).ToList();
        foreach (string name in reps[0].Latencies.Keys)
        {
            Histogram? all = LatencySummary.Merge(
                reps.Select(rep => rep.Latencies.GetValueOrDefault(name)).OfType<LatencySummary>());
            values.Add(($"{name} p50/p99 us", $"{At(all, 0.5)}/{At(all, 0.99)}"));
        }

        return values;
    }

    /// <summary>published_s is published/s.</summary>
    private static string Name(string figure) =>
        (figure.EndsWith("_s", StringComparison.Ordinal) ? figure[..^2] + "/s" : figure).Replace('_', ' ');

    private static string Figure(double value) =>
        value == Math.Floor(value) ? value.ToString("N0", CultureInfo.InvariantCulture) : ReportText.Number(value);

    private static string At(Histogram? histogram, double share) =>
        histogram is not null && histogram.Supports(share) ? ReportText.Number(histogram.ValueAt(share) / 1000.0) : "-";
}

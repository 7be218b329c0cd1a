using System.Globalization;
using System.Text;
using RespBenchmark.Reports;

namespace RespBenchmark.Suites;

/// <summary>The table of the Tair document: for each command and server operations a second, mean and 99th percentile
/// in ms, of the session count with the most operations.</summary>
internal static class TairForm
{
    public static PublishedText Of(IReadOnlyList<PanelResult> results, IReadOnlyList<TargetReport> targets)
    {
        var table = new MarkdownTable([.. targets.SelectMany(target =>
            (string[])[$"{target.Name} QPS", $"{target.Name} avg", $"{target.Name} p99",
                $"{target.Name} conns"]).Prepend("command")]);
        foreach (PanelResult result in results)
            table.Add([.. targets.SelectMany(target => Fields(result, target)).Prepend(result.Panel.Title)]);

        var text = new StringBuilder();
        table.Write(text);
        return new PublishedText("QPS, average and 99th percentile in ms, with the best session count",
            text.ToString().TrimEnd('\n') + "\n");
    }

    private static string[] Fields(PanelResult result, TargetReport target)
    {
        CellReport? best = result.Cells.Where(cell => cell.Target == target.Name && cell.Reps.Count > 0)
            .MaxBy(cell => cell.Reps.Average(rep => rep.OpsS));
        if (best is null) return ["n/a", "", "", ""];
        LatencySummary latency = MergedLatency.Of(best);
        return
        [
            best.Reps.Average(rep => rep.OpsS).ToString("N0", CultureInfo.InvariantCulture), Ms(latency.Mean),
            Ms(latency.P99),
            best.Axis.Conns.ToString(CultureInfo.InvariantCulture),
        ];
    }

    private static string Ms(double? microseconds) =>
        microseconds is { } known ? (known / 1000).ToString("F2", CultureInfo.InvariantCulture) : "-";
}

using System.Globalization;
using System.Text;
using RespBenchmark.Measure;

namespace RespBenchmark.Reports;

/// <summary>Reports as comma-separated values: a row for each cell and repetition, or a row a cell as redis-benchmark
/// prints.</summary>
internal static class ReportCsv
{
    private static readonly (string Name, Func<CellReport, Repetition, int, object?> Of)[] Columns =
    [
        ("target", (cell, _, _) => cell.Target),
        ("op", (cell, _, _) => cell.Axis.Op),
        ("conns", (cell, _, _) => cell.Axis.Conns),
        ("depth", (cell, _, _) => cell.Axis.Depth),
        ("mode", (cell, _, _) => cell.Axis.Mode),
        ("loops", (cell, _, _) => cell.Axis.Loops),
        ("keys", (cell, _, _) => cell.Axis.Keys),
        ("value_bytes", (cell, _, _) => cell.Axis.Value),
        ("dist", (cell, _, _) => cell.Axis.Dist),
        ("rate", (cell, _, _) => cell.Axis.Rate),
        ("rep", (_, _, number) => number),
        ("seconds", (_, rep, _) => rep.Seconds),
        ("ops", (_, rep, _) => rep.Ops),
        ("ops_s", (_, rep, _) => rep.OpsS),
        ("errors", (_, rep, _) => rep.ErrorCount()),
        ("nils", (_, rep, _) => rep.Nils),
        ("bytes_out", (_, rep, _) => rep.BytesOut),
        ("bytes_in", (_, rep, _) => rep.BytesIn),
        ("mean_us", (_, rep, _) => rep.Latency().Mean),
        ("min_us", (_, rep, _) => rep.Latency().Min),
        ("p50_us", (_, rep, _) => rep.Latency().P50),
        ("p90_us", (_, rep, _) => rep.Latency().P90),
        ("p95_us", (_, rep, _) => rep.Latency().P95),
        ("p99_us", (_, rep, _) => rep.Latency().P99),
        ("p999_us", (_, rep, _) => rep.Latency().P999),
        ("max_us", (_, rep, _) => rep.Latency().Max),
        ("lag_p99_us", (_, rep, _) => rep.Lag?.P99),
        ("client_hot", (_, rep, _) => rep.ClientHot),
        ("client_cpu", (_, rep, _) => rep.ClientCpu),
        ("server_hot", (_, rep, _) => rep.ServerHot),
        ("server_cpu", (_, rep, _) => rep.ServerCpu),
        ("server_rss", (_, rep, _) => rep.Rss),
        ("verdict", (cell, _, _) => cell.Verdict),
        ("headroom", (cell, _, _) => cell.Headroom),
        ("steady", (_, rep, _) => rep.Steady ? "true" : "false"),
    ];

    /// <summary>A row for each cell and repetition. What is not known is empty; a cell that could not run has no
    /// row.</summary>
    public static string Write(Report report)
    {
        var text = new StringBuilder();
        // A comment line would break readers of the header, so that scaled figures carry the mark as a column.
        bool marked = report.Watermark is not null;
        // Only where values were checked and some were wrong: no reader of the usual columns may pass over that.
        bool wrong = report.Cells.Any(cell => cell.Wrong() > 0);
        text.AppendJoin(',', Columns.Select(column => column.Name)).Append(wrong ? ",wrong" : "")
            .Append(marked ? ",watermark\n" : "\n");
        foreach (var cell in report.Cells)
        {
            for (int rep = 0; rep < cell.Reps.Count; rep++)
            {
                text.AppendJoin(',', Columns.Select(column => Field(column.Of(cell, cell.Reps[rep], rep + 1))));
                if (wrong) text.Append(',').Append(Field(cell.Reps[rep].Wrong));
                if (marked) text.Append(',').Append(Field(report.Watermark));
                text.Append('\n');
            }
        }

        return text.ToString();
    }

    /// <summary>redis-benchmark's form: all fields quoted, ms with three decimals; the repetitions of a cell as
    /// one.</summary>
    /// <remarks>With several targets the name goes before the test's, with a colon.</remarks>
    public static string WriteRedisBenchmark(Report report)
    {
        var text = new StringBuilder(
            "\"test\",\"rps\",\"avg_latency_ms\",\"min_latency_ms\",\"p50_latency_ms\",\"p95_latency_ms\","
            + "\"p99_latency_ms\",\"max_latency_ms\"\n");
        var varying = ReportText.Varying([.. report.Cells.Select(cell => cell.Axis)]);
        foreach (var cell in report.Cells.Where(cell => cell.Reps.Count > 0))
        {
            string title = ReportText.Label(cell.Axis, varying);
            if (report.Targets.Count > 1) title = $"{cell.Target}: {title}";
            var latency = MergedLatency.Of(cell);
            double opsPerSecond = cell.Reps.Sum(rep => rep.OpsS) / cell.Reps.Count;
            string[] fields =
            [
                title, opsPerSecond.ToString("F2", CultureInfo.InvariantCulture), Ms(latency.Mean), Ms(latency.Min),
                Ms(latency.P50), Ms(latency.P95), Ms(latency.P99), Ms(latency.Max),
            ];
            text.AppendJoin(',', fields.Select(field => $"\"{field.Replace("\"", "\"\"", StringComparison.Ordinal)}\""))
                .Append('\n');
        }

        return text.ToString();

        static string Ms(double? microseconds) => ReportText.Ms(microseconds);
    }

    internal static string Field(object? value) => value switch
    {
        null => "",
        double number => number.ToString("0.###", CultureInfo.InvariantCulture),
        IFormattable number => number.ToString(null, CultureInfo.InvariantCulture),
        _ => Quoted(value.ToString() ?? ""),
    };

    private static string Quoted(string text) =>
        text.AsSpan().IndexOfAny(",\"\r\n") < 0 ? text : $"\"{text.Replace("\"", "\"\"", StringComparison.Ordinal)}\"";
}

/// <summary>The latency of a cell: its repetitions' histograms added; of one repetition alone its exact
/// summary.</summary>
internal static class MergedLatency
{
    public static LatencySummary Of(CellReport cell)
    {
        if (cell.Reps.Count == 0) return new LatencySummary();
        LatencySummary[] each = [.. cell.Reps.Select(rep => rep.Latency())];
        if (each.Length == 1) return each[0];
        if (Histogram(cell) is not { } merged) return new LatencySummary { N = each.Sum(one => one.N) };

        // Smallest, largest and mean are exact in the repetitions, in the encoding only to 0.1 %.
        long count = each.Sum(one => one.N);
        return LatencySummary.Of(merged, withHdr: false) with
        {
            Min = each.Min(one => one.Min),
            Max = each.Max(one => one.Max),
            Mean = count > 0 ? each.Sum(one => (one.Mean ?? 0) * one.N) / count : null,
        };
    }

    public static Histogram? Histogram(CellReport cell) => LatencySummary.Merge(cell.Reps.Select(rep => rep.Latency()));
}

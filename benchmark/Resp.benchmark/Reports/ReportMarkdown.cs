using System.Globalization;
using System.Text;

namespace RespBenchmark.Reports;

/// <summary>Reports as Markdown: a table a target, then the targets side by side, then what to mind.</summary>
internal static class ReportMarkdown
{
    public static string Write(Report report)
    {
        var text = new StringBuilder();
        text.Append($"# {Plain(report.Title ?? "Benchmark")}\n\n");
        if (report.Watermark is { } watermark) text.Append($"> **{watermark}**\n\n");
        text.Append(
            $"{report.Tool}, {report.Started.UtcDateTime:yyyy-MM-dd HH:mm} UTC. {Plain(Machine(report.Host))}\n\n");
        if (report.Argv.Count > 0) text.Append($"```shell\n{CommandText(report.Argv)}\n```\n\n");

        var varying = ReportText.Varying([.. report.Cells.Select(cell => cell.Axis)]);
        foreach (var target in report.Targets) WriteTarget(text, report, target, varying);
        if (report.Targets.Count > 1) WriteSideBySide(text, report, varying);
        if (report.Comparisons.Count > 0) WriteRatios(text, report, varying);
        foreach (var published in report.Published)
            text.Append($"## {Plain(published.Title)}\n\n```\n{published.Text.TrimEnd('\n')}\n```\n\n");
        WriteWarnings(text, report, varying);
        return text.ToString();
    }

    // As seed tables show redis-benchmark's CSV, with interval and verdict.
    private static void WriteTarget(StringBuilder text, Report report, TargetReport target,
        IReadOnlyList<AxisName> varying)
    {
        string[] counters = report.Counters
            ? ["task-clock ms", "context-switches", "cpu-migrations", "page-faults"] : [];
        var table = new MarkdownTable(["test", "rps", "±95%", "avg_latency_ms", "min_latency_ms", "p50_latency_ms",
            "p95_latency_ms", "p99_latency_ms", "max_latency_ms", "errors", .. counters, "verdict"]);
        foreach (var cell in report.Cells.Where(cell => cell.Target == target.Name))
        {
            string label = ReportText.Label(cell.Axis, varying);
            if (cell.Unsupported is { } reason)
            {
                table.Add([label, "n/a", .. Enumerable.Repeat("", 8 + counters.Length), reason]);
                continue;
            }

            if (cell.Reps.Count == 0) continue;
            var latency = MergedLatency.Of(cell);
            table.Add([label, ReportText.Number(cell.Reps.Average(rep => rep.OpsS)), Interval(cell),
                ReportText.Ms(latency.Mean),
                ReportText.Ms(latency.Min), ReportText.Ms(latency.P50), ReportText.Ms(latency.P95),
                ReportText.Ms(latency.P99),
                ReportText.Ms(latency.Max), ReportText.Count(cell.Reps.Sum(rep => rep.ErrorCount())),
                .. report.Counters ? ReportText.Counters(cell) : [], Verdict(cell)]);
        }

        string product = target.Product is { } known ? $"{known}, " : "";
        Head(text, $"{target.Name}: {product}{target.Addr}", report);
        table.Write(text);
        ScenarioFigures.WriteTable(text, report.Cells.Where(cell => cell.Target == target.Name)
            .Select(cell => (ReportText.Label(cell.Axis, varying), cell)));
    }

    // As seed 004: for each command QPS, mean and p99 of every target.
    private static void WriteSideBySide(StringBuilder text, Report report, IReadOnlyList<AxisName> varying)
    {
        string[] heads = [.. report.Targets.SelectMany(
            target => new[] { $"{target.Name} QPS", $"{target.Name} avg ms", $"{target.Name} p99 ms" })];
        var table = new MarkdownTable([.. heads.Prepend("command")]);
        foreach (var axis in report.Cells.Select(cell => cell.Axis).Distinct())
        {
            var row = new List<string> { ReportText.Label(axis, varying) };
            foreach (var target in report.Targets)
            {
                var cell = report.Cells.FirstOrDefault(cell => cell.Target == target.Name && cell.Axis == axis);
                if (cell is null || cell.Unsupported is not null || cell.Reps.Count == 0)
                {
                    row.AddRange(["n/a", "", ""]);
                    continue;
                }

                var latency = MergedLatency.Of(cell);
                row.AddRange([ReportText.Number(cell.Reps.Average(rep => rep.OpsS)), ReportText.Ms(latency.Mean),
                    ReportText.Ms(latency.P99)]);
            }

            table.Add([.. row]);
        }

        Head(text, "Side by side", report);
        table.Write(text);
    }

    private static void WriteRatios(StringBuilder text, Report report, IReadOnlyList<AxisName> varying)
    {
        foreach (var sides in report.Comparisons.GroupBy(pair => (pair.A, pair.B)))
        {
            Head(text, $"{sides.Key.A} / {sides.Key.B}", report);
            RatioTable(sides, varying).Write(text);
            WriteMeans(text, [.. sides]);
        }
    }

    internal static MarkdownTable RatioTable(IEnumerable<Comparison> pairs, IReadOnlyList<AxisName> varying)
    {
        var table = new MarkdownTable("test", "metric", "A", "B", "A/B [95% CI]", "p", "n", "verdicts");
        foreach (var pair in pairs)
        {
            table.Add(ReportText.Label(pair.Axis, varying), pair.Metric, ReportText.Number(pair.ValueA),
                ReportText.Number(pair.ValueB),
                ReportText.Ratio(pair), ReportText.Probability(pair.PHolm),
                ReportText.Count(pair.N), ComparisonNote(pair));
        }

        return table;
    }

    internal static string ComparisonNote(Comparison pair)
    {
        var words = new List<string>();
        if (pair.IsGrey()) words.Add("left out");
        else if (!pair.CanBeSignificant()) words.Add(pair.Cells > 1 && pair.N >= Measure.MannWhitney.CountMin
            ? $"too few repetitions to be significant among {pair.Cells} cells"
            : "too few repetitions to be significant");
        else if (pair.IsSignificant()) words.Add("significant");
        if (pair.Unstable) words.Add("UNSTABLE");
        words.Add(pair.VerdictA == pair.VerdictB ? pair.VerdictA : $"{pair.VerdictA} / {pair.VerdictB}");
        return string.Join(", ", words.Where(word => word.Length > 0));
    }

    internal static void WriteMeans(StringBuilder text, IReadOnlyList<Comparison> pairs)
    {
        var means = Metric.Compared.Select(metric => (metric.Name, Mean: Comparisons.GeometricMean(pairs, metric.Name)))
            .Where(mean => mean.Mean is not null);
        text.Append("Geometric means: ")
            .AppendJoin(", ", means.Select(mean => $"{mean.Name} {ReportText.Number(mean.Mean)}")).Append('.');
        int grey = pairs.Where(pair => pair.IsGrey()).Select(pair => pair.Axis).Distinct().Count();
        if (grey > 0) text.Append($" {grey} cell(s) left out: bound by the client or the machine.");
        text.Append(" p is exact Mann-Whitney, corrected by Holm.\n\n");
    }

    private static void WriteWarnings(StringBuilder text, Report report, IReadOnlyList<AxisName> varying)
    {
        var lines = report.Warnings.Concat(report.Cells.SelectMany(cell =>
            cell.Warnings.Select(warning =>
                $"{cell.Target}, {ReportText.Label(cell.Axis, varying)}: {warning}"))).ToList();
        if (lines.Count == 0) return;
        text.Append("## Warnings\n\n");
        foreach (string line in lines) text.Append($"- {Plain(line)}\n");
    }

    private static void Head(StringBuilder text, string title, Report report)
    {
        text.Append($"## {Plain(title)}\n\n");
        if (report.Watermark is { } watermark) text.Append($"*{watermark}*\n\n");
    }

    private static string Interval(CellReport cell) =>
        cell.Summary is { Ci95: { } half, Mean: > 0 and var mean } ? "±" + ReportText.Percent(half / mean) : "";

    internal static string Verdict(CellReport cell)
    {
        var words = new List<string> { cell.Verdict };
        if (cell.Wrong() is > 0 and var wrong) words.Insert(0, $"{ReportText.Count(wrong)} WRONG values");
        if (cell.Headroom is { } headroom)
            words.Add(string.Create(CultureInfo.InvariantCulture, $"headroom {headroom:F1}x"));
        if (cell.Summary?.Unstable() == true) words.Add("UNSTABLE");
        if (cell.Reps.Any(rep => !rep.Steady)) words.Add("not steady");
        if (cell.Reps.Any(rep => rep.GeneratorLate)) words.Add("GENERATOR LATE");
        if (cell.Reps.Any(rep => rep.End != "completed")) words.Add("cut short");
        return string.Join(", ", words);
    }

    internal static string Machine(HostReport host)
    {
        string?[] words =
        [
            host.Cpu, host.Cores > 0 ? $"{host.Cores} cores" : null,
            host.Governor is { } governor ? $"governor {governor}" : null,
            host.Kernel, host.Virt, host.Steal is { } steal ? $"steal {ReportText.Percent(steal)}" : null,
        ];
        return string.Join(", ", words.Where(word => !string.IsNullOrEmpty(word)));
    }

    /// <summary>A command line as a shell reads it.</summary>
    internal static string CommandText(IReadOnlyList<string> argv) => string.Join(' ', argv.Select(word =>
        word.Length > 0 && word.All(letter => char.IsAsciiLetterOrDigit(letter) || "-_=./:,@%+".Contains(letter)) ? word
            : $"'{word.Replace("'", "'\\''", StringComparison.Ordinal)}'"));

    private static string Plain(string text) => text.ReplaceLineEndings(" ");
}

/// <summary>A Markdown table whose columns line up in plain text too.</summary>
internal sealed class MarkdownTable(params string[] heads)
{
    private readonly List<string[]> _rows = [];

    public IReadOnlyList<string> Heads => heads;

    public IReadOnlyList<string[]> Rows => _rows;

    public void Add(params string[] cells) =>
        _rows.Add(
            [.. cells.Select(cell => cell.ReplaceLineEndings(" ").Replace("|", "\\|", StringComparison.Ordinal))]);

    public void Write(StringBuilder text)
    {
        int[] widths = [.. heads.Select((head, column) => _rows.Select(row => row[column].Length).Append(head.Length)
            .Append(3).Max())];
        Line(heads);
        text.Append('|').AppendJoin('|', widths.Select(
            (width, column) => $" {new string('-', width)}{(IsWords(column) ? ' ' : ':')}")).Append("|\n");
        foreach (string[] row in _rows) Line(row);
        text.Append('\n');

        // Words to the left, figures to the right.
        bool IsWords(int column) =>
            heads[column] is "test" or "command" or "metric" or "verdict" or "verdicts" or "change" or "notes";

        void Line(string[] cells) => text.Append('|').AppendJoin('|', cells.Select((cell, column) =>
            $" {(IsWords(column) ? cell.PadRight(widths[column]) : cell.PadLeft(widths[column]))} ")).Append("|\n");
    }
}

using System.Text;
using RespBenchmark.CommandLine;

namespace RespBenchmark.Reports;

/// <summary>The verbs compare and report, and the gates of a run, without their command lines.</summary>
internal static class CompareRun
{
    /// <summary>compare base.json new.json: the new figures over the base's, then the gates.</summary>
    /// <returns>0; 4 if a gate failed; 1 if no cell is in both.</returns>
    public static int Compare(string basePath, string newPath, IReadOnlyList<string> failIf, TextWriter output,
        TextWriter errors)
    {
        Gate[] gates = [.. failIf.Select(Gate.Parse)];
        Report baseline = ReportFiles.Read(basePath), report = ReportFiles.Read(newPath);
        var pairs = Pairs(report, baseline);
        if (pairs.Count == 0)
        {
            output.WriteLine(
                $"no cell of {newPath} is in {basePath}: op, conns, depth, mode, keys, value, dist, rate and loops "
                + $"must be equal");
            return ExitCode.RunError;
        }

        output.Write(Text(report, baseline, pairs));
        return Judge(report, baseline, gates, output, errors);
    }

    /// <summary>--fail-if of a run, with or without --baseline: judges and says so.</summary>
    /// <param name="errors">Told loudly of gates that judged nothing: the exit code alone would say that all is
    /// well.</param>
    /// <returns>0, or 4 if a gate failed.</returns>
    public static int Judge(Report report, Report? baseline, IReadOnlyList<Gate> gates, TextWriter output,
        TextWriter errors)
    {
        bool failed = false;
        int judged = 0;
        var unjudged = new List<string>();
        var varying = ReportText.Varying([.. report.Cells.Select(cell => cell.Axis)]);
        foreach (var gate in gates)
        {
            foreach (var result in gate.Judge(report.Cells, baseline?.Cells))
            {
                failed |= result.Outcome == GateOutcome.Failed;
                if (result.Outcome == GateOutcome.NotJudged) unjudged.Add(result.Words);
                else judged++;
                string word = result.Outcome switch { GateOutcome.Failed => "FAILED", GateOutcome.Passed => "passed",
                    _ => "not judged" };
                string metric = gate.Metric is null && result.Metric is { } one ? $" {one.Name}" : "";
                output.WriteLine($"gate {gate.Text}{metric}: {word}: {result.Cell.Target}, "
                    + $"{ReportText.Label(result.Cell.Axis, varying)}: {result.Words}");
            }
        }

        if (gates.Count > 0 && (unjudged.Count > 0 || judged == 0))
        {
            string reasons = unjudged.Count > 0 ? string.Join("; ", unjudged.Distinct()) : "no cell was measured";
            errors.WriteLine(
                $"!!! WARNING !!! {unjudged.Count} of {judged + unjudged.Count} judgements of gates could not be made "
                + $"({reasons}): "
                + (judged == 0 ? "NOTHING was checked, whatever the exit code says"
                    : "the exit code says nothing of those"));
        }

        return failed ? ExitCode.GateFailed : ExitCode.Ok;
    }

    /// <summary>report in.json out.html: the page of a report that was kept.</summary>
    public static int Render(string jsonPath, string htmlPath)
    {
        ReportFiles.Write(ReportFiles.Read(jsonPath), new ReportPaths { Html = htmlPath });
        return ExitCode.Ok;
    }

    /// <summary>New over base, target by target: by name, or with one target a side those two.</summary>
    public static List<Comparison> Pairs(Report report, Report baseline)
    {
        var pairs = new List<Comparison>();
        string[] names = [.. report.Cells.Select(cell => cell.Target).Distinct()];
        string[] baseNames = [.. baseline.Cells.Select(cell => cell.Target).Distinct()];
        foreach (string name in names)
        {
            string? other = baseNames.Contains(name) ? name : names.Length == 1 && baseNames.Length == 1
                ? baseNames[0] : null;
            if (other is null) continue;
            string suffix = names.Length > 1 ? $" {name}" : "";
            pairs.AddRange(Comparisons.Of([.. report.Cells.Where(cell => cell.Target == name)], "new" + suffix,
                [.. baseline.Cells.Where(cell => cell.Target == other)], "base" + suffix));
        }

        return pairs;
    }

    private static string Text(Report report, Report baseline, List<Comparison> pairs)
    {
        var text = new StringBuilder();
        var varying = ReportText.Varying([.. report.Cells.Select(cell => cell.Axis)]);
        foreach (var sides in pairs.GroupBy(pair => (pair.A, pair.B)))
        {
            text.Append($"A = {sides.Key.A} ({report.Started.UtcDateTime:yyyy-MM-dd HH:mm}), B = {sides.Key.B} "
                + $"({baseline.Started.UtcDateTime:yyyy-MM-dd HH:mm})\n\n");
            var table = new MarkdownTable("test", "metric", "new", "base", "new/base [95% CI]", "p", "n",
                "change", "notes");
            foreach (var pair in sides)
            {
                table.Add(ReportText.Label(pair.Axis, varying), pair.Metric, ReportText.Number(pair.ValueA),
                    ReportText.Number(pair.ValueB),
                    ReportText.Ratio(pair), ReportText.Probability(pair.PHolm), ReportText.Count(pair.N), Change(pair),
                    ReportMarkdown.ComparisonNote(pair));
            }

            table.Write(text);
            ReportMarkdown.WriteMeans(text, [.. sides]);
        }

        if ((report.Watermark ?? baseline.Watermark) is { } watermark) text.Append($"{watermark}\n");
        string machine = ReportMarkdown.Machine(report.Host), before = ReportMarkdown.Machine(baseline.Host);
        if (machine != before) text.Append($"WARN the machines differ: {machine} now, {before} then\n");
        int missing = baseline.Cells.Count(cell => !report.Cells.Any(now => now.Axis == cell.Axis));
        if (missing > 0) text.Append($"WARN {missing} cell(s) of the base are not in the new report\n");
        return text.ToString();
    }

    /// <summary>Beyond 5 % or twice the interval's half width, whichever is larger; without an interval nothing is
    /// said.</summary>
    private static string Change(Comparison pair)
    {
        if (pair.Ratio is not { } ratio || pair.Ci95 is not [var low, var high] || pair.IsGrey()) return "-";
        double line = Math.Max(Gate.LineMin, high - low);
        if (Math.Abs(ratio - 1) <= line) return "same";
        bool better = ratio > 1 == Metric.Find(pair.Metric)!.MoreIsBetter;
        return better ? "better" : "WORSE";
    }
}

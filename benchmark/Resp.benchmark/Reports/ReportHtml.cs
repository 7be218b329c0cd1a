using System.Net;
using System.Text;
using System.Text.Json;
using RespBenchmark.Reports.Page;

namespace RespBenchmark.Reports;

/// <summary>Reports as one HTML file that needs nothing else: figures, style and the script that draws are in
/// it.</summary>
internal static class ReportHtml
{
    public static string Write(Report report)
    {
        var sections = ChartSections.Of(report);
        var text = new StringBuilder();
        text.Append("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
            + "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
            // Whatever a server's text may hold, the page fetches and sends nothing.
            + "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
                + "script-src 'unsafe-inline'\">\n");
        text.Append($"<title>{Escape(Title(report))}</title>\n<style>\n{Resource("report.css")}</style>\n</head>\n");
        text.Append(report.Watermark is { } mark ? $"<body data-watermark=\"{Escape(mark)}\">\n" : "<body>\n");
        WriteHead(text, report, sections);
        WriteResults(text, report);
        foreach (var section in sections) WriteSection(text, section);
        WritePublished(text, report);
        WriteEnvironment(text, report);
        string data = JsonSerializer.Serialize(sections, ChartContext.Default.IReadOnlyListChartSection);
        text.Append($"<script type=\"application/json\" id=\"data\">{data}</script>\n");
        text.Append($"<script>\n{Resource("report.js")}</script>\n</body>\n</html>\n");
        return text.ToString();
    }

    private static void WriteHead(StringBuilder text, Report report, List<ChartSection> sections)
    {
        text.Append(
            $"<div class=\"top\"><h1>{Escape(Title(report))}</h1><button id=\"theme\" title=\"dark or "
            + $"light\">◐</button></div>\n");
        text.Append(
            $"<p class=\"soft\">{Escape(report.Tool)} · {report.Started.UtcDateTime:yyyy-MM-dd HH:mm} UTC · "
            + $"{Escape(ReportMarkdown.Machine(report.Host))}</p>\n");
        foreach (var target in report.Targets)
        {
            text.Append(
                $"<p><b>{Escape(target.Name)}</b> {Escape(target.Product ?? "")} <span "
                + $"class=\"soft\">{Escape(target.Addr)}"
                + $"{(target.Cpus is { } cpus ? $" · cores {Escape(cpus)}" : "")}</span></p>\n");
        }

        if (report.Watermark is { } watermark) text.Append($"<p class=\"mark-scaled\">{Escape(watermark)}</p>\n");
        var warnings = Warnings(report);
        if (warnings.Count > 0)
        {
            text.Append(
                $"<details class=\"warnings\" {(warnings.Count <= 6 ? "open" : "")}><summary>{warnings.Count} "
                + $"warning{(warnings.Count == 1 ? "" : "s")}</summary><ul>");
            foreach (string warning in warnings) text.Append($"<li>{Escape(warning)}</li>");
            text.Append("</ul></details>\n");
        }

        text.Append("<nav><a href=\"#results\">Results</a>");
        foreach (var section in sections) text.Append($"<a href=\"#{section.Id}\">{Escape(section.Title)}</a>");
        if (report.Published.Count > 0) text.Append("<a href=\"#published\">As published</a>");
        text.Append(
            "<a href=\"#environment\">Environment</a></nav>\n<noscript><p>Charts need JavaScript; the tables of "
            + "results do not.</p></noscript>\n");
    }

    private static void WriteResults(StringBuilder text, Report report)
    {
        text.Append("<section id=\"results\"><h2>Results</h2>\n");
        var varying = ReportText.Varying([.. report.Cells.Select(cell => cell.Axis)]);
        foreach (var target in report.Targets)
        {
            text.Append(
                $"<h3>{Escape(target.Name)}{(target.Product is { } product ? ": " + Escape(product) : "")}</h3>\n<div "
                + $"class=\"scroll\"><table class=\"results\">");
            if (report.Watermark is { } watermark) text.Append($"<caption>{Escape(watermark)}</caption>");
            text.Append(
                "<tr><th>test</th><th>ops/s</th><th>±95%</th><th>mean "
                + "µs</th><th>p50</th><th>p99</th><th>p99.9</th><th>max</th>"
                + "<th>errors</th><th>nils</th><th>client</th><th>server</th>"
                + (report.Counters ? "<th>task-clock ms</th><th>switches</th><th>migrations</th><th>faults</th>" : "")
                + "<th class=\"words\">verdict</th></tr>\n");
            foreach (var cell in report.Cells.Where(cell => cell.Target == target.Name))
                WriteRow(text, cell, ReportText.Label(cell.Axis, varying), report.Counters);
            text.Append("</table></div>\n");
        }

        text.Append(
            "<p class=\"soft\">Times in µs. client, server: share of the busiest thread / cores in "
            + "all.</p></section>\n");
    }

    private static void WriteRow(StringBuilder text, CellReport cell, string label, bool counters)
    {
        if (cell.Unsupported is { } reason)
        {
            // The reason begins beside n/a, not in the last column, which narrow windows do not show.
            text.Append(
                $"<tr><td>{Escape(label)}</td><td class=\"words\" colspan=\"{(counters ? 16 : 12)}\">n/a <span "
                + $"class=\"reason\">{Escape(reason)}</span></td></tr>\n");
            return;
        }

        if (cell.Reps.Count == 0) return;
        var latency = MergedLatency.Of(cell);
        string interval = cell.Summary is { Ci95: { } half, Mean: > 0 and var mean }
            ? "±" + ReportText.Percent(half / mean) : "";
        string[] fields =
        [
            ReportText.Number(cell.Reps.Average(rep => rep.OpsS)), interval, ReportText.Number(latency.Mean),
            ReportText.Number(latency.P50),
            ReportText.Number(latency.P99), ReportText.Number(latency.P999), ReportText.Number(latency.Max),
            ReportText.Count(cell.Reps.Sum(rep => rep.ErrorCount())), ReportText.Count(cell.Reps.Sum(rep => rep.Nils)),
            Busy(cell, rep => rep.ClientHot, rep => rep.ClientCpu),
            Busy(cell, rep => rep.ServerHot, rep => rep.ServerCpu),
            .. counters ? ReportText.Counters(cell) : [],
        ];
        text.Append($"<tr{(cell.IsForeignBound() ? " class=\"foreign\"" : "")}><td>{Escape(label)}</td>");
        foreach (string field in fields) text.Append($"<td>{Escape(field)}</td>");
        text.Append($"<td class=\"words\">{Escape(ReportMarkdown.Verdict(cell))}</td></tr>\n");
    }

    private static string Busy(CellReport cell, Func<Repetition, double?> hot, Func<Repetition, double?> cores)
    {
        double[] shares = [.. cell.Reps.Select(hot).OfType<double>()],
            sums = [.. cell.Reps.Select(cores).OfType<double>()];
        string share = shares.Length > 0 ? (shares.Average() * 100).ToString("F0", null) + "%" : "-";
        return sums.Length > 0 ? $"{share} / {sums.Average():F1}" : share;
    }

    private static void WriteSection(StringBuilder text, ChartSection section)
    {
        text.Append(
            $"<section id=\"{section.Id}\"><h2>{Escape(section.Title)}</h2><p "
            + $"class=\"note\">{Escape(section.Note)}</p>\n");
        if (section.Variants.Count > 1)
        {
            text.Append("<select aria-label=\"which\">");
            for (int index = 0; index < section.Variants.Count; index++)
            {
                text.Append($"<option value=\"{index}\">{Escape(section.Variants[index].Name)}</option>");
            }

            text.Append("</select>\n");
        }

        text.Append("<div class=\"charts\"></div></section>\n");
    }

    // Short ones are open, and only open ones are printed.
    private static void WritePublished(StringBuilder text, Report report)
    {
        const int openLinesMax = 40;
        if (report.Published.Count == 0) return;
        text.Append(
            "<section id=\"published\"><h2>As published</h2><p class=\"note\">These results in the form of the "
            + "document that they reproduce.</p>\n");
        foreach (var published in report.Published)
        {
            string open = published.Text.Count(letter => letter == '\n') <= openLinesMax ? " open" : "";
            text.Append(
                $"<details{open}><summary>{Escape(published.Title)}</summary><pre "
                + $"class=\"wide\">{Escape(published.Text)}</pre></details>\n");
        }

        text.Append("</section>\n");
    }

    private static void WriteEnvironment(StringBuilder text, Report report)
    {
        text.Append("<section id=\"environment\"><h2>Environment</h2>\n");
        if (report.Argv.Count > 0)
            text.Append($"<h3>Command</h3><pre>{Escape(ReportMarkdown.CommandText(report.Argv))}</pre>\n");
        text.Append("<h3>Client's machine</h3>");
        var host = report.Host;
        WriteList(text,
        [
            ("processor", host.Cpu), ("cores", host.Cores > 0 ? ReportText.Count(host.Cores) : null),
            ("governor", host.Governor), ("kernel", host.Kernel),
            ("virtual", host.Virt), ("stolen time", host.Steal is { } steal ? ReportText.Percent(steal) : null),
            ("grammar", report.Grammar),
        ]);
        foreach (var target in report.Targets)
        {
            text.Append($"<h3>{Escape(target.Name)}</h3>");
            if (target.Start is { } start) text.Append($"<pre>{Escape(start)}</pre>");
            WriteList(text, [("address", target.Addr), ("product", target.Product), ("process", target.Pid?.ToString()),
                ("cores", target.Cpus),
                .. target.Info.Select(pair => (pair.Key, (string?)pair.Value)),
                .. target.Config.Select(pair => ("config " + pair.Key, (string?)pair.Value))]);
        }

        text.Append("</section>\n");
    }

    private static void WriteList(StringBuilder text, IEnumerable<(string Name, string? Value)> pairs)
    {
        text.Append("<dl>");
        foreach (var (name, value) in pairs)
        {
            if (!string.IsNullOrEmpty(value)) text.Append($"<dt>{Escape(name)}</dt><dd>{Escape(value)}</dd>");
        }

        text.Append("</dl>\n");
    }

    private static List<string> Warnings(Report report)
    {
        var varying = ReportText.Varying([.. report.Cells.Select(cell => cell.Axis)]);
        return [.. report.Warnings, .. report.Cells.SelectMany(cell =>
            cell.Warnings.Select(warning => $"{cell.Target}, {ReportText.Label(cell.Axis, varying)}: {warning}"))];
    }

    private static string Title(Report report) =>
        report.Title ?? "Benchmark of " + (report.Targets.Count == 0 ? "nothing"
        : string.Join(" and ", report.Targets.Select(target => target.Product ?? target.Addr)));

    private static string Escape(string text) => WebUtility.HtmlEncode(text);

    private static string Resource(string name)
    {
        using var stream = typeof(ReportHtml).Assembly.GetManifestResourceStream($"RespBenchmark.{name}")
            ?? throw new InvalidOperationException($"{name} is not embedded");
        using var reader = new StreamReader(stream);
        return reader.ReadToEnd();
    }
}

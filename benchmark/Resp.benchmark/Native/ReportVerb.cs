using global::CommandLine;

namespace RespBenchmark.Native;

/// <summary>Renders a JSON report.</summary>
[Verb("report", HelpText = "Render a JSON report as HTML, Markdown or CSV.")]
internal sealed class ReportVerb
{
    [Value(0, Required = true, MetaName = "REPORT.json", HelpText = "The report.")]
    public string File { get; set; } = "";

    [Option("html", HelpText = "HTML file to write.")]
    public string? Html { get; set; }

    [Option("md", HelpText = "Markdown file to write.")]
    public string? Markdown { get; set; }

    [Option("csv", HelpText = "CSV file to write.")]
    public string? Csv { get; set; }
}

using System.Text;

namespace RespBenchmark.Reports;

/// <summary>Where a run's report goes; null: not asked for.</summary>
internal sealed record ReportPaths
{
    public string? Json { get; init; }

    public string? Csv { get; init; }

    /// <summary>The header and rows of redis-benchmark (--csv-format rb).</summary>
    public bool CsvAsRedisBenchmark { get; init; }

    public string? Markdown { get; init; }

    public string? Html { get; init; }
}

/// <summary>Writes and reads the files of a report.</summary>
internal static class ReportFiles
{
    private static readonly UTF8Encoding Utf8 = new(encoderShouldEmitUTF8Identifier: false);

    /// <summary>Writes each file that was asked for; folders are made.</summary>
    /// <exception cref="IOException">One could not be written.</exception>
    public static void Write(Report report, ReportPaths paths)
    {
        if (paths.Json is { } json) Put(json, ReportJson.Write(report));
        if (paths.Csv is { } csv)
            Put(csv, paths.CsvAsRedisBenchmark ? ReportCsv.WriteRedisBenchmark(report) : ReportCsv.Write(report));
        if (paths.Markdown is { } markdown) Put(markdown, ReportMarkdown.Write(report));
        if (paths.Html is { } html) Put(html, ReportHtml.Write(report));
    }

    /// <exception cref="CommandLine.UsageException">The file cannot be read, or is no report: the message says which
    /// and why.</exception>
    public static Report Read(string path)
    {
        try
        {
            return ReportJson.Read(File.ReadAllText(path));
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException or FormatException)
        {
            throw new CommandLine.UsageException($"cannot read {path}: {e.Message}", CommandLine.ExitCode.RunError);
        }
    }

    private static void Put(string path, string text)
    {
        if (Path.GetDirectoryName(Path.GetFullPath(path)) is { } folder) Directory.CreateDirectory(folder);
        File.WriteAllText(path, text, Utf8);
    }
}

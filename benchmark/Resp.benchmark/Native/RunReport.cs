using RespBenchmark.CommandLine;
using RespBenchmark.Reports;
using RespBenchmark.Saturation;

namespace RespBenchmark.Native;

/// <summary>What a run ends with: one report of all its cells, in files, against gates.</summary>
internal sealed class RunReport(RunVerb verb, Surroundings surroundings, TargetSet targets)
{
    private readonly DateTimeOffset _begun = surroundings.Clock.GetUtcNow();
    private readonly IReadOnlyList<Gate> _gates = [.. verb.FailIf.Select(Gate.Parse)];

    /// <summary>Shown on everything; null: nothing.</summary>
    public string? Watermark { get; init; }

    public string? Title { get; init; }

    /// <summary>Of the run as a whole.</summary>
    public IReadOnlyList<string> Warnings { get; set; } = [];

    /// <summary>Whether the targets may be set against each other in a cell.</summary>
    public Func<CellReport, bool> IsCompared { get; set; } = _ => true;

    public IReadOnlyList<PublishedText> Published { get; set; } = [];

    public bool LogThroughput { get; init; }

    public bool Counters { get; init; }

    /// <summary>Writes the files, judges the gates.</summary>
    /// <returns>The exit code.</returns>
    public int Finish(IReadOnlyList<CellReport> cells)
    {
        var report = new Report
        {
            Tool = $"Resp.benchmark {ProgramName.Version}",
            Title = Title,
            Argv = surroundings.Words,
            Started = _begun,
            Watermark = Watermark,
            Host = HostFacts.Read(),
            Targets = [.. targets.All.Select(targets.ReportOf)],
            Cells = cells,
            Warnings = Warnings,
            Published = Published,
            LogThroughput = LogThroughput,
            Counters = Counters,
        };
        if (targets.All.Count > 1)
            report = report with { Comparisons =
                Comparisons.OfAllTargets(report with { Cells = [.. cells.Where(IsCompared)] }) };
        ReportFiles.Write(report, new ReportPaths
        {
            Json = verb.Json, Csv = verb.Csv, CsvAsRedisBenchmark = verb.CsvFormat == "rb", Markdown = verb.Markdown,
                Html = verb.Html,
        });

        if (cells.Any(cell => cell.Reps.Any(rep => rep.End.Contains("verification", StringComparison.Ordinal))))
            return ExitCode.VerificationFailed;
        if (_gates.Count > 0 || verb.Baseline is not null)
        {
            int judged = CompareRun.Judge(report, verb.Baseline is { } file ? ReportFiles.Read(file) : null, _gates,
                surroundings.Output, surroundings.Errors);
            if (judged != ExitCode.Ok) return judged;
        }

        if (verb.FailOnSaturation && cells.Any(cell => cell.IsForeignBound())) return ExitCode.Saturated;
        // What ended by itself ends with 1: connections lost, replies missing or no RESP, the first error where that
        // was to end it.
        bool failed = cells.Any(cell =>
            cell.Reps.Any(rep => rep.End is not ("completed" or nameof(Measure.RunEnd.Interrupted))));
        return failed || cells.Count == 0 ? ExitCode.RunError : ExitCode.Ok;
    }
}

using RespBenchmark.Engine;
using RespBenchmark.Reports;
using RespBenchmark.Saturation;

namespace RespBenchmark.CommandLine;

/// <summary>Writes the files that <see cref="Extras"/> ask for from the cells of a run.</summary>
internal static class OutcomeFiles
{
    /// <exception cref="IOException">A file could not be written.</exception>
    public static void Write(Extras extras, Surroundings surroundings, Grammar grammar)
    {
        if (!extras.WritesFiles) return;
        ReportFiles.Write(ReportOf(extras, surroundings, grammar), new ReportPaths
        {
            Json = extras.JsonFile, Csv = extras.CsvFile, Markdown = extras.MarkdownFile, Html = extras.HtmlFile,
        });
    }

    private static Report ReportOf(Extras extras, Surroundings surroundings, Grammar grammar) => new()
    {
        Tool = $"Resp.benchmark {ProgramName.Version}",
        Argv = surroundings.Words,
        Grammar = Detection.NameOf(grammar),
        Started = extras.Started,
        Host = HostFacts.Read(),
        Targets = [.. extras.Outcomes.Select(outcome => outcome.Plan.Target).DistinctBy(target => target.Name)
            .Select(target => extras.Target ?? new TargetReport { Name = target.Name, Addr = target.Address })],
        Warnings = extras.Warnings,
        Cells = [.. extras.Outcomes.Select(CellOf)],
    };

    private static CellReport CellOf(CellOutcome outcome) => new CellReport
    {
        Axis = new CellAxis
        {
            Op = outcome.Op,
            Conns = outcome.Plan.Sessions,
            Depth = outcome.Plan.Depth,
            Mode = outcome.Plan.Mode == DepthMode.Batch ? "batch" : "window",
            Keys = outcome.Keys,
            Value = outcome.Value,
            Dist = outcome.Distribution,
            Rate = outcome.Plan.Arrivals?.Rate,
            Loops = outcome.Measurement.LoopOccupancy.Count,
        },
        Target = outcome.Plan.Target.Name,
        Reps = [outcome.Use is { } use ? use.AddTo(Repetition.Of(outcome.Measurement))
            : Repetition.Of(outcome.Measurement)],
        Verdict = outcome.Verdict.Name(),
        Headroom = outcome.Headroom,
    }.Summarized();
}

using RespBenchmark.Native;
using RespBenchmark.Reports;

namespace RespBenchmark.Suites;

/// <summary>What a panel gave in one pass, on all targets.</summary>
/// <param name="Axes">The places of its cells, in the order of the panel.</param>
/// <param name="Cells">Those of its cells, also where another panel measured them.</param>
/// <param name="Loads">What was loaded for it, by target.</param>
internal sealed record PanelResult(PlannedPanel Planned, SuitePass Pass, IReadOnlyList<CellAxis> Axes,
    IReadOnlyList<CellReport> Cells,
    IReadOnlyDictionary<string, Loaded> Loads)
{
    public SuitePanel Panel => Planned.Panel;

    /// <summary>What a target gave at a place; null: it was not run, or could not be.</summary>
    public Repetition? At(TargetReport target, CellAxis axis) =>
        Cells.FirstOrDefault(cell => cell.Target == target.Name && cell.Axis == axis) is { Reps.Count: > 0 } cell
        ? Median(cell) : null;

    /// <summary>Why a target could not run the panel; null: it could.</summary>
    public string? Unsupported(TargetReport target) =>
        Cells.FirstOrDefault(cell => cell.Target == target.Name)?.Unsupported;

    // The originals ran once: of several repetitions the one of the median rate stands in their place.
    private static Repetition Median(CellReport cell) =>
        cell.Reps.OrderBy(rep => rep.OpsS).ElementAt((cell.Reps.Count - 1) / 2);
}

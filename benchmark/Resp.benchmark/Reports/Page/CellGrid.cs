namespace RespBenchmark.Reports.Page;

/// <summary>A report's cells laid out for charts: one axis along x, one panel for each place on the other
/// axes.</summary>
internal sealed class CellGrid
{
    private readonly Report _report;
    private readonly IReadOnlyList<AxisName> _others;

    public CellGrid(Report report)
    {
        _report = report;
        CellAxis[] places = [.. report.Cells.Select(cell => cell.Axis).Distinct()];
        Varying = ReportText.Varying(places);
        // Along x the axis with most places; a measurable one before names.
        Along = Varying.OrderByDescending(axis => places.Select(axis.Of).Distinct().Count())
            .ThenByDescending(axis => places.All(place => axis.Size(place) is not null)).First();
        _others = [.. Varying.Where(axis => axis != Along)];
        Panels = [.. places.GroupBy(PanelKey).Select(group => new Panel(PanelTitle(group.First()), InOrder(group)))];
    }

    public IReadOnlyList<AxisName> Varying { get; }

    public AxisName Along { get; }

    public IReadOnlyList<Panel> Panels { get; }

    public CellReport? Find(TargetReport target, CellAxis place) =>
        _report.Cells.FirstOrDefault(cell => cell.Target == target.Name && cell.Axis == place);

    public string Label(CellAxis place) => ReportText.Label(place, Varying);

    /// <summary>A panel: its places in the order of x.</summary>
    public sealed record Panel(string Title, IReadOnlyList<CellAxis> Places);

    private CellAxis[] InOrder(IEnumerable<CellAxis> places) =>
        Along.Name == "op" ? [.. places] : [.. places.OrderBy(place => Along.Size(place) ?? double.MaxValue)];

    private string PanelKey(CellAxis place) => string.Join('|', _others.Select(axis => axis.Of(place)));

    private string PanelTitle(CellAxis place)
    {
        string rest = string.Join(", ", _others.Where(axis => axis.Name != "op")
            .Select(axis => $"{axis.Name} {axis.Of(place)}"));
        if (Along.Name == "op") return rest;
        return rest.Length > 0 ? $"{place.Op}, {rest}" : place.Op;
    }
}

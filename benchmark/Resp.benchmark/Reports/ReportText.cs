using System.Globalization;

namespace RespBenchmark.Reports;

/// <summary>How reports spell figures and cells.</summary>
internal static class ReportText
{
    /// <summary>Four significant digits; thousands are separated from 1,000 on.</summary>
    public static string Number(double value)
    {
        if (!double.IsFinite(value)) return "-";
        double size = Math.Abs(value);
        string format = size >= 1000 ? "N0" : size >= 100 ? "F1" : size >= 10 ? "F2" : "F3";
        return value.ToString(format, CultureInfo.InvariantCulture);
    }

    public static string Number(double? value) => value is { } known ? Number(known) : "-";

    public static string Count(long value) => value.ToString("N0", CultureInfo.InvariantCulture);

    /// <summary>Microseconds in ms, as redis-benchmark's tables show them.</summary>
    public static string Ms(double? microseconds) =>
        microseconds is { } known ? (known / 1000).ToString("F3", CultureInfo.InvariantCulture) : "-";

    public static string Percent(double? share) =>
        share is { } known ? (known * 100).ToString("F1", CultureInfo.InvariantCulture) + "%" : "-";

    /// <summary>p below a thousandth needs no more digits.</summary>
    public static string Probability(double p) =>
        p < 0.001 ? "<0.001" : p.ToString("F3", CultureInfo.InvariantCulture);

    /// <summary>What perf stat counts of the client, means over repetitions: task-clock in ms, context switches,
    /// migrations, page faults.</summary>
    public static string[] Counters(CellReport cell)
    {
        return [Mean(rep => rep.TaskClockMs), Mean(rep => rep.Ctxt), Mean(rep => rep.Migrations),
            Mean(rep => rep.Faults)];

        string Mean(Func<Repetition, double?> of) =>
            cell.Reps.Average(of) is { } mean ? mean.ToString("N0", CultureInfo.InvariantCulture) : "-";
    }

    public static string Ratio(Comparison pair) => pair switch
    {
        { Ratio: not { } } => "-",
        { Ci95: [var low, var high] } => string.Create(CultureInfo.InvariantCulture,
            $"{pair.Ratio:F3} [{low:F3}, {high:F3}]"),
        _ => string.Create(CultureInfo.InvariantCulture, $"{pair.Ratio:F3}"),
    };

    /// <summary>The axes on which these cells differ, op first; op alone if they differ on none.</summary>
    public static IReadOnlyList<AxisName> Varying(IReadOnlyCollection<CellAxis> cells)
    {
        var varying = AxisName.All.Where(axis => cells.Select(axis.Of).Distinct().Count() > 1).ToList();
        return varying.Count > 0 ? varying : [AxisName.All[0]];
    }

    /// <summary>A cell in words: its op and where it lies on the axes that vary.</summary>
    public static string Label(CellAxis axis, IReadOnlyList<AxisName> varying)
    {
        var rest = varying.Where(name => name.Name != "op").Select(name => $"{name.Name} {name.Of(axis)}");
        return string.Join(", ", rest.Prepend(axis.Op));
    }
}

/// <summary>One axis of a grid and how a cell's place on it is written.</summary>
internal sealed record AxisName(string Name, Func<CellAxis, string> Of, Func<CellAxis, double?> Size)
{
    public static IReadOnlyList<AxisName> All { get; } =
    [
        new("op", axis => axis.Op, _ => null),
        new("conns", axis => Text(axis.Conns), axis => axis.Conns),
        new("depth", axis => Text(axis.Depth), axis => axis.Depth),
        new("mode", axis => axis.Mode, _ => null),
        new("keys", axis => axis.Keys.ToString("N0", CultureInfo.InvariantCulture), axis => axis.Keys),
        new("value", axis => axis.Value,
            axis => double.TryParse(axis.Value, CultureInfo.InvariantCulture, out double bytes) ? bytes : null),
        new("dist", axis => axis.Dist, _ => null),
        new("rate", axis => axis.Rate is { } rate ? rate.ToString("N0", CultureInfo.InvariantCulture) : "closed",
            axis => axis.Rate),
        new("loops", axis => Text(axis.Loops), axis => axis.Loops),
        new("maxmemory", axis => axis.MaxMemory is { } bytes ? Megabytes(bytes) : "-", axis => axis.MaxMemory),
    ];

    private static string Megabytes(long bytes) =>
        (bytes / 1048576.0).ToString("0.##", CultureInfo.InvariantCulture) + " MB";

    private static string Text(int value) => value.ToString(CultureInfo.InvariantCulture);
}

using System.Globalization;
using RespBenchmark.Measure;
using RespBenchmark.Reports;

namespace RespBenchmark.Native;

//  conns depth |      ops/s   ±95%CI |      p50      p99    p99.9       max us | hit%  err | client hot/tot  server hot/tot    RSS | verdict

/// <summary>Results on the console, a row a cell.</summary>
internal sealed class ConsoleTable(TextWriter output, IReadOnlyList<double> shares, int digits)
{
    private readonly string _latencies = string.Concat(shares.Select(share => Name(share).PadLeft(10)));

    /// <summary>The percentiles that an option asks for; 1 stands for max.</summary>
    /// <exception cref="CommandLine.UsageException">One is no percentile.</exception>
    public static IReadOnlyList<double> ReadShares(string text) =>
    [
        .. text.Split(',').Select(word => word == "max" ? 1
            : double.TryParse(word, NumberStyles.AllowDecimalPoint, CultureInfo.InvariantCulture, out double percent)
            && percent is > 0 and < 100 ? percent / 100
            : throw new CommandLine.UsageException($"--pct takes percentiles like 50,99.9,max, not '{word}'")),
    ];

    /// <summary>The table as the options of a verb ask for.</summary>
    /// <exception cref="CommandLine.UsageException">One is off.</exception>
    public static ConsoleTable Of(RunVerb verb, CommandLine.Surroundings surroundings) =>
        new(verb.Quiet ? TextWriter.Null : surroundings.Output, ReadShares(verb.Percentiles), verb.Digits);

    public void Head() =>
        output.WriteLine(
            $" target  conns depth     rate |      ops/s  ±95%CI |{_latencies} us | nil%    err | client hot/all  "
            + $"server hot/all     RSS | verdict");

    /// <summary>Writes the row of a cell.</summary>
    public void Row(CellReport cell)
    {
        CellAxis axis = cell.Axis;
        string rate = axis.Rate?.ToString("N0", CultureInfo.InvariantCulture) ?? "closed";
        string where = string.Create(CultureInfo.InvariantCulture,
            $" {cell.Target,-7} {axis.Conns,5} {axis.Depth,5}{rate,9} |");
        if (cell.Unsupported is { } reason)
        {
            output.WriteLine($"{where}        n/a  {reason}");
            return;
        }

        Histogram? latencies = LatencySummary.Merge(cell.Reps.Select(rep => rep.Latency()));
        string times = string.Concat(shares.Select(share => Time(latencies, share).PadLeft(10)));
        long ops = cell.Reps.Sum(rep => rep.Ops);
        double nils = ops > 0 ? 100.0 * cell.Reps.Sum(rep => rep.Nils) / ops : 0;
        Repetition? last = cell.Reps.Count > 0 ? cell.Reps[^1] : null;
        string spread = cell.Summary is { Ci95: { } ci, Mean: > 0 and var mean }
            ? string.Create(CultureInfo.InvariantCulture, $"±{100 * ci / mean:F1}%") : "-";
        string headroom = cell.Headroom is { } room
            ? string.Create(CultureInfo.InvariantCulture, $"  headroom {room:F1}x") : "";
        output.WriteLine(string.Create(CultureInfo.InvariantCulture,
            $"{where} {cell.Summary?.Median ?? 0,10:N0} {spread,7} |{times} us | {nils,4:F0} "
            + $"{cell.Reps.Sum(rep => rep.ErrorCount()),6:N0} |{Load(last?.ClientHot, last?.ClientCpu),15} "
            + $"{Load(last?.ServerHot, last?.ServerCpu),15} {Megabytes(last?.Rss),7} | "
            + $"{cell.Verdict}{headroom}{Wrong(cell)}"));
        if (ScenarioFigures.Line(cell) is { } figures) output.WriteLine($"         {figures}");
        if (ScenarioFigures.Course(cell) is { } course) output.WriteLine($"         {course}");
        foreach (string warning in cell.Warnings) output.WriteLine($"         WARN {warning}");
    }

    private static string Wrong(CellReport cell) => cell.Wrong() is > 0 and var wrong
        ? string.Create(CultureInfo.InvariantCulture, $"  {wrong:N0} WRONG values") : "";

    private static string Load(double? hot, double? all) => hot is null && all is null ? "-"
        : string.Create(CultureInfo.InvariantCulture, $"{100 * (hot ?? 0):F0}% / {all ?? 0:F2}c");

    private static string Megabytes(long? bytes) =>
        bytes is { } known ? string.Create(CultureInfo.InvariantCulture, $"{known / 1048576.0:F0}M") : "-";

    private string Time(Histogram? histogram, double share)
    {
        if (histogram is null || histogram.Count == 0) return "-";
        if (share < 1 && !histogram.Supports(share)) return "-";
        double us = (share < 1 ? histogram.ValueAt(share) : histogram.Max) / 1000.0;
        // So many digits as asked for, and never an exponent.
        int decimals = us > 0 ? Math.Clamp(digits - 1 - (int)Math.Floor(Math.Log10(us)), 0, 3) : 0;
        return us.ToString($"N{decimals}", CultureInfo.InvariantCulture);
    }

    private static string Name(double share) =>
        share == 1 ? "max" : string.Create(CultureInfo.InvariantCulture, $"p{share * 100:0.###}");
}

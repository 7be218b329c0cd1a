using System.Globalization;
using RespBenchmark.Measure;

namespace RespBenchmark.Reports;

/// <summary>A condition under which a run is refused: METRIC[.ratio] OPERATOR NUMBER, or the word regression.</summary>
/// <remarks>A ratio is new over base. A gate fails only if the whole 95 % interval is beyond its limit: noise refuses
/// nothing. regression: ops_s below, or a latency above, the base by more than 5 % or twice the interval's half width,
/// whichever is larger.</remarks>
internal sealed record Gate(string Text, Metric? Metric, bool IsRatio, string Operator, double Limit)
{
    public const double LineMin = 0.05;

    /// <exception cref="CommandLine.UsageException">It cannot be read.</exception>
    public static Gate Parse(string text)
    {
        string compact = text.Replace(" ", "", StringComparison.Ordinal);
        if (compact == "regression") return new Gate(text, null, true, "", 0);

        int at = compact.IndexOfAny(['<', '>']);
        string sign = at < 0 ? "" : compact.AsSpan(at + 1).StartsWith("=")
            ? compact.Substring(at, 2) : compact.Substring(at, 1);
        string name = at < 0 ? compact : compact[..at];
        bool ratio = name.EndsWith(".ratio", StringComparison.Ordinal);
        var metric = Metric.Find(ratio ? name[..^".ratio".Length] : name);
        if (at < 0 || metric is null
            || !double.TryParse(compact[(at + sign.Length)..], NumberStyles.Float, CultureInfo.InvariantCulture,
                out double limit)
            || !double.IsFinite(limit))
        {
            throw new CommandLine.UsageException(
                $"--fail-if {text}: write METRIC[.ratio] then < > <= or >= then a number, "
                + $"or regression; metrics are {string.Join(' ', Metric.All.Select(known => known.Name))}");
        }

        return new Gate(text, metric, ratio, sign, limit);
    }

    /// <summary>Judges every cell. Ratios need the base; cells it lacks are not judged.</summary>
    public IEnumerable<GateResult> Judge(IReadOnlyList<CellReport> cells, IReadOnlyList<CellReport>? baseline)
    {
        foreach (var cell in cells)
        {
            if (cell.Unsupported is not null) continue;
            if (!IsRatio)
            {
                yield return JudgeAbsolute(cell);
                continue;
            }

            var other = baseline?.FirstOrDefault(candidate =>
                candidate.Axis == cell.Axis
                && (candidate.Target == cell.Target || baseline.All(same => same.Target == candidate.Target)));
            if (other is null || other.Unsupported is not null)
            {
                yield return new GateResult(this, cell, null, GateOutcome.NotJudged, "the base lacks this cell");
                continue;
            }

            foreach (var metric in Metric is null ? Metric.Compared : [Metric])
                yield return JudgeRatio(metric, cell, other);
        }
    }

    private GateResult JudgeAbsolute(CellReport cell)
    {
        double[] values = Metric!.Values(cell);
        if (values.Length == 0) return new GateResult(this, cell, Metric, GateOutcome.NotJudged, "no value");
        if (Metric.IsCount) return Exact(cell, values.Sum(), null);
        if (cell.IsForeignBound()) return new GateResult(this, cell, Metric, GateOutcome.NotJudged, cell.Verdict);

        var sample = Sample.Of(values);
        if (sample.Count < 2) return new GateResult(this, cell, Metric, GateOutcome.NotJudged, OneRepetition);
        return Interval(cell, Metric, sample.Mean, sample.Mean - sample.Interval95, sample.Mean + sample.Interval95,
            Operator, Limit);
    }

    private const string OneRepetition = "one repetition has no interval: use --reps 2 or more";

    private GateResult JudgeRatio(Metric metric, CellReport cell, CellReport baseline)
    {
        double[] now = metric.Values(cell), before = metric.Values(baseline);
        if (now.Length == 0 || before.Length == 0)
            return new GateResult(this, cell, metric, GateOutcome.NotJudged, "no value");
        if (metric.IsCount)
        {
            double sum = now.Sum(), sumBefore = before.Sum();
            return Exact(cell, sum == sumBefore ? 1 : sum / sumBefore, $"{sum} against {sumBefore}");
        }

        if (cell.IsForeignBound() || baseline.IsForeignBound())
        {
            return new GateResult(this, cell, metric, GateOutcome.NotJudged,
                cell.IsForeignBound() ? cell.Verdict : $"base {baseline.Verdict}");
        }

        var ratio = RatioTest.Of(now, before);
        if (!double.IsFinite(ratio.Low))
            return new GateResult(this, cell, metric, GateOutcome.NotJudged, OneRepetition);
        if (Metric is not null) return Interval(cell, metric, ratio.Ratio, ratio.Low, ratio.High, Operator, Limit);

        double line = Math.Max(LineMin, ratio.High - ratio.Low);        // twice half the width
        return metric.MoreIsBetter
            ? Point(cell, metric, ratio, ratio.Ratio < 1 - line)
            : Point(cell, metric, ratio, ratio.Ratio > 1 + line);
    }

    private GateResult Point(CellReport cell, Metric metric, RatioTest ratio, bool fails) =>
        new(this, cell, metric, fails ? GateOutcome.Failed : GateOutcome.Passed,
            Words(ratio.Ratio, ratio.Low, ratio.High));

    private GateResult Exact(CellReport cell, double value, string? words) => new(this, cell, Metric,
        Beyond(value, Operator, Limit) ? GateOutcome.Failed : GateOutcome.Passed,
        words ?? string.Create(CultureInfo.InvariantCulture, $"{value:0.###}"));

    private GateResult Interval(CellReport cell, Metric metric, double value, double low, double high, string sign,
        double limit)
    {
        bool fails = Beyond(low, sign, limit) && Beyond(high, sign, limit);
        return new GateResult(this, cell, metric, fails ? GateOutcome.Failed : GateOutcome.Passed,
            Words(value, low, high));
    }

    private static string Words(double value, double low, double high) =>
        $"{ReportText.Number(value)} [{ReportText.Number(low)}, {ReportText.Number(high)}]";

    private static bool Beyond(double value, string sign, double limit) => sign switch
    {
        ">" => value > limit,
        ">=" => value >= limit,
        "<" => value < limit,
        _ => value <= limit,
    };
}

internal enum GateOutcome
{
    Passed,
    Failed,

    /// <summary>The figures cannot say: shown, never a failure.</summary>
    NotJudged,
}

/// <param name="Words">The value with its interval, or why it was not judged.</param>
internal sealed record GateResult(Gate Gate, CellReport Cell, Metric? Metric, GateOutcome Outcome, string Words);

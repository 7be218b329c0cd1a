using RespBenchmark.Measure;

namespace RespBenchmark.Reports;

/// <summary>One metric of one cell, side A over side B.</summary>
internal sealed record Comparison
{
    /// <summary>Names of the sides: targets, or files.</summary>
    public string A { get; init; } = "";

    public string B { get; init; } = "";

    public CellAxis Axis { get; init; } = new();

    public string Metric { get; init; } = "";

    /// <summary>Values of the sides: means over repetitions.</summary>
    public double ValueA { get; init; }

    public double ValueB { get; init; }

    /// <summary>A over B; null: a side has no positive values.</summary>
    public double? Ratio { get; init; }

    /// <summary>The ends of the 95 % interval of the ratio; null: a side has one repetition.</summary>
    public IReadOnlyList<double>? Ci95 { get; init; }

    /// <summary>Exact Mann-Whitney, two-sided, as it is.</summary>
    public double P { get; init; } = 1;

    /// <summary>Corrected (Holm) for all cells compared by this metric.</summary>
    public double PHolm { get; init; } = 1;

    /// <summary>Repetitions of the side that has fewer.</summary>
    public int N { get; init; }

    /// <summary>Cells compared by this metric: as many tests that p was corrected for.</summary>
    public int Cells { get; init; } = 1;

    public string VerdictA { get; init; } = "";

    public string VerdictB { get; init; } = "";

    /// <summary>A side's spread is more than a tenth of its mean.</summary>
    public bool Unstable { get; init; }

    /// <summary>A side was bound by the client or the machine: shown grey, left out of the mean.</summary>
    public bool IsGrey() => IsForeign(VerdictA) || IsForeign(VerdictB);

    /// <summary>The word may be used: enough repetitions, p below 0.05 after correction, and the figures are the
    /// servers'.</summary>
    public bool IsSignificant() => N >= MannWhitney.CountMin && PHolm < 0.05 && !IsGrey();

    /// <summary>Whether so many repetitions could be significant at all among so many cells.</summary>
    public bool CanBeSignificant() => N >= MannWhitney.CountMin && MannWhitney.SmallestP(N) * Cells < 0.05;

    private static bool IsForeign(string verdict) => verdict is "CLIENT-BOUND" or "HOST-BOUND";
}

/// <summary>Compares cells of two sides that lie at the same place on all axes.</summary>
internal static class Comparisons
{
    /// <summary>Two targets of one report.</summary>
    public static List<Comparison> OfTargets(Report report, string a, string b) =>
        Of([.. report.Cells.Where(cell => cell.Target == a)], a, [.. report.Cells.Where(cell => cell.Target == b)], b);

    /// <summary>Each target with the first, as a side-by-side run reports them.</summary>
    public static List<Comparison> OfAllTargets(Report report) =>
        [.. report.Targets.Skip(1).SelectMany(target => OfTargets(report, report.Targets[0].Name, target.Name))];

    /// <summary>All cells of A that B has too, by each metric; p corrected over the cells of a metric.</summary>
    public static List<Comparison> Of(IReadOnlyList<CellReport> a, string nameA, IReadOnlyList<CellReport> b,
        string nameB)
    {
        var all = new List<Comparison>();
        foreach (var metric in Metric.Compared)
        {
            var some = new List<Comparison>();
            foreach (var cell in a)
            {
                var other = b.FirstOrDefault(candidate => candidate.Axis == cell.Axis);
                if (other is null || cell.Unsupported is not null || other.Unsupported is not null) continue;
                if (Pair(metric, cell, nameA, other, nameB) is { } pair) some.Add(pair);
            }

            // Cells that say nothing of the servers are no tests of them.
            double[] corrected = Holm.Correct([.. some.Select(pair => pair.IsGrey() ? double.NaN : pair.P)]);
            int tests = some.Count(pair => !pair.IsGrey());
            all.AddRange(some.Select((pair, index) =>
                pair with { PHolm = pair.IsGrey() ? 1 : corrected[index], Cells = tests }));
        }

        return all;
    }

    /// <summary>The geometric mean of the ratios of a metric that the servers decided; null: there is none.</summary>
    public static double? GeometricMean(IEnumerable<Comparison> comparisons, string metric)
    {
        double[] logs = [.. comparisons.Where(pair => pair.Metric == metric && !pair.IsGrey() && pair.Ratio > 0)
            .Select(pair => Math.Log(pair.Ratio!.Value))];
        return logs.Length == 0 ? null : Math.Exp(logs.Average());
    }

    private static Comparison? Pair(Metric metric, CellReport a, string nameA, CellReport b, string nameB)
    {
        double[] valuesA = metric.Values(a), valuesB = metric.Values(b);
        if (valuesA.Length == 0 || valuesB.Length == 0) return null;

        var ratio = RatioTest.Of(valuesA, valuesB);
        Sample sampleA = Sample.Of(valuesA), sampleB = Sample.Of(valuesB);
        return new Comparison
        {
            A = nameA,
            B = nameB,
            Axis = a.Axis,
            Metric = metric.Name,
            ValueA = sampleA.Mean,
            ValueB = sampleB.Mean,
            Ratio = double.IsFinite(ratio.Ratio) ? ratio.Ratio : null,
            Ci95 = double.IsFinite(ratio.Low) && double.IsFinite(ratio.High) ? [ratio.Low, ratio.High] : null,
            P = MannWhitney.TwoSided(valuesA, valuesB),
            N = Math.Min(valuesA.Length, valuesB.Length),
            VerdictA = a.Verdict,
            VerdictB = b.Verdict,
            Unstable = sampleA.Unstable || sampleB.Unstable,
        };
    }
}

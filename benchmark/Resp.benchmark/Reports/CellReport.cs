namespace RespBenchmark.Reports;

/// <summary>One cell of one target: where it lies on the axes, its repetitions, what they say.</summary>
internal sealed record CellReport
{
    public CellAxis Axis { get; init; } = new();

    /// <summary>The name of its target.</summary>
    public string Target { get; init; } = "A";

    public IReadOnlyList<Repetition> Reps { get; init; } = [];

    /// <summary>Of ops_s over the repetitions; null: none.</summary>
    public RateSummary? Summary { get; init; }

    /// <summary>Who was saturated: SERVER-BOUND, CLIENT-BOUND, HOST-BOUND, LATENCY-BOUND, RATE-BOUND or
    /// UNKNOWN.</summary>
    public string Verdict { get; init; } = "UNKNOWN";

    /// <summary>What this client shape reaches without a server's work, over what was measured here; null: not
    /// calibrated.</summary>
    public double? Headroom { get; init; }

    public IReadOnlyList<string> Warnings { get; init; } = [];

    /// <summary>Why the target cannot run the cell (n/a, never 0); null: it can.</summary>
    public string? Unsupported { get; init; }

    /// <summary>The figures are the client's or the machine's, not the server's: hatched, and left out of
    /// means.</summary>
    public bool IsForeignBound() => Verdict is "CLIENT-BOUND" or "HOST-BOUND";

    /// <summary>Values of all repetitions that were not what their keys must hold.</summary>
    public long Wrong() => Reps.Sum(rep => rep.Wrong);

    /// <summary>The same with its summary made from its repetitions.</summary>
    public CellReport Summarized() => this with { Summary = RateSummary.Of(Reps) };
}

/// <summary>Where a cell lies: cells of two targets or two files with equal axes are compared.</summary>
internal sealed record CellAxis
{
    /// <summary>An op's name, a mix or a template.</summary>
    public string Op { get; init; } = "";

    public int Conns { get; init; }

    public int Depth { get; init; } = 1;

    /// <summary>batch or window.</summary>
    public string Mode { get; init; } = "window";

    public long Keys { get; init; }

    /// <summary>Value bytes as asked for: 128, 32-1024.</summary>
    public string Value { get; init; } = "";

    public string Dist { get; init; } = "uniform";

    /// <summary>Offered operations a second; null: closed loop.</summary>
    public double? Rate { get; init; }

    public int Loops { get; init; }

    /// <summary>What the server's maxmemory was set to; null: it was left as it was.</summary>
    public long? MaxMemory { get; init; }

    /// <summary>How coordinated omission was dealt with, if not as ever: such latencies are not compared with
    /// others.</summary>
    public string? Co { get; init; }
}

/// <summary>Operations a second over the repetitions of a cell. Null: undefined for so few.</summary>
/// <param name="Ci95">Half the width of the 95 % interval of the mean.</param>
/// <param name="Cv">Standard deviation over mean.</param>
internal sealed record RateSummary(double Median, double Mean, double? Ci95, double? Cv)
{
    public static RateSummary? Of(IReadOnlyCollection<Repetition> reps)
    {
        if (reps.Count == 0) return null;
        var sample = Measure.Sample.Of([.. reps.Select(rep => rep.OpsS)]);
        return new RateSummary(sample.Median, sample.Mean, Finite(sample.Interval95), Finite(sample.Variation));
    }

    public bool Unstable() => Cv > Measure.Sample.UnstableVariation;

    private static double? Finite(double value) => double.IsFinite(value) ? value : null;
}

using RespBenchmark.Measure;

namespace RespBenchmark.Reports;

/// <summary>One measured repetition of a cell.</summary>
internal sealed record Repetition
{
    public double Seconds { get; init; }

    public long Ops { get; init; }

    public double OpsS { get; init; }

    public long BytesOut { get; init; }

    public long BytesIn { get; init; }

    /// <summary>The class of replies whose type their command never gives.</summary>
    public const string TypeMismatch = "type-mismatch";

    /// <summary>Error replies by their first word, and <see cref="TypeMismatch"/>.</summary>
    public IReadOnlyDictionary<string, long> Errors { get; init; } = new Dictionary<string, long>();

    public long Nils { get; init; }

    /// <summary>Values that were not what their keys must hold.</summary>
    public long Wrong { get; init; }

    /// <summary>Sent and never answered.</summary>
    public long Lost { get; init; }

    /// <summary>Reply minus actual send.</summary>
    public LatencySummary Service { get; init; } = new();

    /// <summary>Reply minus intended send; null in a closed loop but for a corrected one.</summary>
    public LatencySummary? Response { get; init; }

    /// <summary>Actual minus intended send; null in a closed loop.</summary>
    public LatencySummary? Lag { get; init; }

    public IReadOnlyList<SeriesPoint> Series { get; init; } = [];

    /// <summary>What happened meanwhile: a save, a restart of the server, a pause.</summary>
    public IReadOnlyList<SeriesEvent> Events { get; init; } = [];

    /// <summary>Busiest loop or thread, 0 to 1; and all of the process, in cores. Null: not visible.</summary>
    public double? ClientHot { get; init; }

    public double? ClientCpu { get; init; }

    public double? ServerHot { get; init; }

    public double? ServerCpu { get; init; }

    /// <summary>Resident bytes of the server.</summary>
    public long? Rss { get; init; }

    /// <summary>Context switches of the client.</summary>
    public long? Ctxt { get; init; }

    /// <summary>The client's processor time, its moves between processors and its page faults. Null: not
    /// visible.</summary>
    public double? TaskClockMs { get; init; }

    public long? Migrations { get; init; }

    public long? Faults { get; init; }

    public CollectionReport Gc { get; init; } = new(0, 0);

    /// <summary>False: the warm-up never became steady.</summary>
    public bool Steady { get; init; } = true;

    public bool GeneratorLate { get; init; }

    /// <summary>What a scenario measured beside its operations; null: it was none.</summary>
    public ScenarioReport? Scenario { get; init; }

    /// <summary>How it ended; completed else a reason.</summary>
    public string End { get; init; } = "completed";

    /// <summary>How coordinated omission was dealt with (--co): none, or expected:US, whose response is corrected.
    /// Null: intended.</summary>
    public string? Co { get; init; }

    /// <summary>What a user waits for: from the intended send where there is one.</summary>
    public LatencySummary Latency() => Co == "none" ? Service : Response ?? Service;

    public long ErrorCount() => Errors.Values.Sum();

    /// <summary>What the engine measured; who samples the processes adds what it saw.</summary>
    public static Repetition Of(Measurement measurement, IReadOnlyList<SeriesPoint>? series = null) => new()
    {
        Seconds = measurement.Elapsed.TotalSeconds,
        Ops = measurement.Counters.Ops,
        OpsS = measurement.OpsPerSecond,
        BytesOut = measurement.Counters.BytesOut,
        BytesIn = measurement.Counters.BytesIn,
        Errors = ErrorsOf(measurement),
        Nils = measurement.Counters.Nils,
        Wrong = measurement.Counters.Wrong,
        Lost = measurement.Counters.Lost,
        Service = LatencySummary.Of(measurement.Service),
        Response = measurement.Response is { } response ? LatencySummary.Of(response) : null,
        Lag = measurement.Lag is { } lag ? LatencySummary.Of(lag) : null,
        Series = series ?? [],
        ClientHot = measurement.LoopOccupancy.Count > 0 ? measurement.LoopOccupancy.Max() : null,
        Gc = new CollectionReport(measurement.Collections, measurement.CollectionPause.TotalMilliseconds),
        GeneratorLate = measurement.GeneratorLate,
        End = EndOf(measurement),
    };

    private static Dictionary<string, long> ErrorsOf(Measurement measurement)
    {
        Dictionary<string, long> errors = measurement.Errors.ToDictionary(error => error.Word, error => error.Count);
        if (measurement.Counters.Mismatches > 0) errors[TypeMismatch] = measurement.Counters.Mismatches;
        return errors;
    }

    private static string EndOf(Measurement measurement)
    {
        if (measurement.Counters.Wrong > 0) return $"verification failed: {measurement.Counters.Wrong} wrong values";
        return measurement.End == RunEnd.Completed ? "completed" : measurement.Failure ?? measurement.End.ToString();
    }
}

/// <summary>A distribution of durations in microseconds. Null: fewer than ten values lie beyond that
/// percentile.</summary>
internal sealed record LatencySummary
{
    public long N { get; init; }

    public double? Mean { get; init; }

    public double? Min { get; init; }

    public double? P50 { get; init; }

    public double? P90 { get; init; }

    public double? P95 { get; init; }

    public double? P99 { get; init; }

    public double? P999 { get; init; }

    public double? P9999 { get; init; }

    public double? Max { get; init; }

    /// <summary>The whole in ns: V2 encoding, base64.</summary>
    public string? Hdr { get; init; }

    public static LatencySummary Of(Histogram histogram, bool withHdr = true)
    {
        if (histogram.Count == 0) return new LatencySummary();
        return new LatencySummary
        {
            N = histogram.Count,
            Mean = histogram.Mean / 1000,
            Min = histogram.Min / 1000.0,
            P50 = At(0.5),
            P90 = At(0.9),
            P95 = At(0.95),
            P99 = At(0.99),
            P999 = At(0.999),
            P9999 = At(0.9999),
            Max = histogram.Max / 1000.0,
            Hdr = withHdr ? HdrEncoding.ToText(histogram) : null,
        };

        double? At(double share) => histogram.Supports(share) ? histogram.ValueAt(share) / 1000.0 : null;
    }

    /// <summary>Several repetitions as one: histograms are added, percentiles never averaged. Null: none holds a
    /// histogram.</summary>
    public static Histogram? Merge(IEnumerable<LatencySummary> summaries)
    {
        Histogram? all = null;
        foreach (var summary in summaries)
        {
            if (summary.Hdr is not { } text) continue;
            all ??= new Histogram();
            all.Add(HdrEncoding.FromText(text));
        }

        return all;
    }
}

/// <summary>An interval of a repetition: where it ends in s, operations a second, latencies in µs, CPU in cores,
/// collections.</summary>
internal sealed record SeriesPoint(double T, double Ops, double? P50, double? P99, double? Max, double? ClientCpu,
    double? ServerCpu, int Gc);

internal sealed record SeriesEvent(double T, string Text);

internal sealed record CollectionReport(int Count, double PauseMs);

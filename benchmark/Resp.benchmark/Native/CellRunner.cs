using RespBenchmark.CommandLine;
using RespBenchmark.Engine;
using RespBenchmark.Measure;
using RespBenchmark.Reports;
using RespBenchmark.Saturation;

namespace RespBenchmark.Native;

/// <summary>Runs one repetition of a cell: warm-up until steady, measurement, verdict.</summary>
internal sealed class CellRunner(Surroundings surroundings, LiveLine live)
{
    private static readonly TimeSpan Second = TimeSpan.FromSeconds(1);

    /// <summary>Length of the intervals of series and .hlog files.</summary>
    public TimeSpan Interval { get; init; } = Second;

    public LiveLine Live => live;

    /// <summary>Where .hlog and .hgrm files go; null: nowhere.</summary>
    public string? HdrFolder { get; init; }

    /// <summary>What is done about coordinated omission; null: as ever.</summary>
    public OmissionCorrection? Omission { get; init; }

    /// <summary>A runner as the options of a verb ask for.</summary>
    /// <exception cref="UsageException">An option's value is off.</exception>
    public static CellRunner Of(RunVerb verb, Surroundings surroundings)
    {
        if (verb.Repetitions < 1) throw new UsageException($"--reps takes a number from 1, not {verb.Repetitions}");
        return new CellRunner(surroundings, LiveLine.Of(verb, surroundings))
        {
            Interval = DurationText.Parse("--interval", verb.Interval),
            HdrFolder = verb.Hdr,
            Omission = OmissionCorrection.Of(verb),
        };
    }

    /// <summary>Measures.</summary>
    /// <param name="label">What the live line and the files call it.</param>
    /// <param name="onInterval">Gets each interval as it ends; null: nobody.</param>
    /// <exception cref="Network.ConnectException">No connection.</exception>
    public (Repetition Repetition, Verdict Verdict) Run(TargetWatch watch, CellPlan plan, string label,
        Action<IntervalSample>? onInterval = null)
    {
        using LoadRun run = LoadRun.Connect(plan);
        using IDisposable attached = surroundings.Interrupt.OnRequest(run.Stop);
        bool steady = WarmUp(run, plan.Warmup);
        using ResourceMonitor monitor = watch.Begin();
        DateTimeOffset started = surroundings.Clock.GetUtcNow();
        if (HdrFolder is not null) run.SplitIntervals();
        run.Begin();
        List<SeriesPoint> series = Follow(run, plan, label, started, onInterval);
        Measurement measurement = run.Finish();
        ResourceUse use = monitor.Stop();
        live.Clear();

        Repetition repetition =
            use.AddTo(Repetition.Of(measurement,
                [.. series.Select((point, second) => With(point, second, use))])) with { Steady = steady };
        return (Omission?.ApplyTo(repetition, measurement) ?? repetition, watch.Judge(plan, measurement, use));
    }

    /// <summary>Drives until the last windows are alike, at least <paramref name="time"/> and at most 30 s beyond.
    /// False: they never were.</summary>
    private bool WarmUp(LoadRun run, TimeSpan time)
    {
        if (time <= TimeSpan.Zero) return true;
        if (time < Steadiness.Windows * Second)
        {
            // Too short to tell: as asked.
            run.WarmUp(time);
            return true;
        }

        var windows = new List<double>();
        for (TimeSpan spent = TimeSpan.Zero;
            spent < time || (spent < Steadiness.WarmupMax && !Steadiness.IsSteady(windows)); spent += Second)
        {
            if (surroundings.Interrupt.Requested) return false;
            long before = run.Counters.Ops;
            run.WarmUp(Second);
            windows.Add(run.Counters.Ops - before);
        }

        return Steadiness.IsSteady(windows) || windows.All(ops => ops == 0);
    }

    private List<SeriesPoint> Follow(LoadRun run, CellPlan plan, string label, DateTimeOffset started,
        Action<IntervalSample>? onInterval)
    {
        var series = new List<SeriesPoint>();
        using IntervalLog? log = HdrFolder is { } folder
            ? new IntervalLog(new HdrFiles(folder, label, started, $"Resp.benchmark {ProgramName.Version}"),
                TimeSpan.Zero, plan.Workload.Kinds) : null;
        TimeSpan next = Interval;
        int collections = GC.CollectionCount(0);
        bool ended;
        do
        {
            ended = run.Wait(live.Period < Interval ? live.Period : Interval);
            live.Show(label, run.Elapsed, plan.Duration, run.Counters, series.Count > 0 ? series[^1].P99 : null);
            if (!ended && run.Elapsed < next) continue;
            IntervalSample sample = run.TakeInterval();
            next = run.Elapsed + Interval;
            log?.Add(sample);
            onInterval?.Invoke(sample);
            if (sample.Length <= TimeSpan.Zero) continue;
            int now = GC.CollectionCount(0);
            series.Add(new SeriesPoint((sample.Start + sample.Length).TotalSeconds,
                sample.Counters.Ops / sample.Length.TotalSeconds,
                At(sample.Service, 0.5), At(sample.Service, 0.99),
                sample.Service.Count > 0 ? sample.Service.Max / 1000.0 : null, null, null, now - collections));
            collections = now;
        }
        while (!ended);
        return series;
    }

    private static SeriesPoint With(SeriesPoint point, int second, ResourceUse use) =>
        second >= use.Series.Count ? point : point with
    {
        ClientCpu = use.Series[second].ClientCpu,
        ServerCpu = use.ServerSeen ? use.Series[second].ServerCpu : null,
    };

    private static double? At(Histogram histogram, double share) =>
        histogram.Supports(share) ? histogram.ValueAt(share) / 1000.0 : null;
}

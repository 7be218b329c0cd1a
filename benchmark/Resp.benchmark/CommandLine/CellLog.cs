using RespBenchmark.Engine;
using RespBenchmark.Measure;
using RespBenchmark.Workload;

namespace RespBenchmark.CommandLine;

/// <summary>The histogram files of a cell of a compatible grammar (--hdr), written while it runs; without --hdr
/// nothing.</summary>
/// <remarks>A file that cannot be written does not end the run: <see cref="Extras.Finish"/> says it after the
/// text.</remarks>
internal sealed class CellLog : IDisposable
{
    private static readonly TimeSpan Interval = TimeSpan.FromSeconds(1);

    private readonly Extras _extras;
    private IntervalLog? _log;

    private CellLog(Extras extras) => _extras = extras;

    /// <summary>How long a run may go unasked: no line then covers more than it must.</summary>
    public TimeSpan Period => _log is null ? Timeout.InfiniteTimeSpan : Interval;

    /// <summary>Opens the files of the next cell; to be called before the run begins.</summary>
    public static CellLog Open(Extras extras, string op, CellPlan plan, LoadRun run)
    {
        CellLog log = Open(extras, op, plan, plan.Workload.Kinds);
        if (log._log is not null) run.SplitIntervals();
        return log;
    }

    /// <summary>The same where intervals come from elsewhere, by kind.</summary>
    public static CellLog Open(Extras extras, string op, CellPlan plan, IReadOnlyList<CommandKind> kinds)
    {
        var log = new CellLog(extras);
        if (extras.HdrFolder is not { } folder) return log;
        // The number first, so that cells differ and keep their order.
        string name = $"{extras.Outcomes.Count + 1:D2} {op} c{plan.Sessions} d{plan.Depth}";
        log.Try(() =>
        {
            var files = new HdrFiles(folder, name, DateTimeOffset.UtcNow, $"Resp.benchmark {ProgramName.Version}");
            log._log = new IntervalLog(files, Interval, kinds);
        });
        return log;
    }

    /// <summary>Waits for the end of a run that nothing else is asked of meanwhile.</summary>
    public void Follow(LoadRun run)
    {
        // Ends: with the run.
        while (!run.Wait(Period)) Take(run);
        Take(run);
    }

    /// <summary>Adds what was measured since the last call, where nobody else takes the run's intervals.</summary>
    public void Take(LoadRun run)
    {
        if (_log is not null) Add(run.TakeInterval());
    }

    public void Add(IntervalSample sample)
    {
        if (_log is { } log) Try(() => log.Add(sample));
    }

    public void Dispose()
    {
        if (_log is { } log) Try(log.Dispose);
        _log = null;
    }

    private void Try(Action write)
    {
        try
        {
            write();
        }
        catch (Exception failure) when (failure is IOException or UnauthorizedAccessException)
        {
            _extras.Unwritten ??= failure.Message;
            _log = null;
        }
    }
}

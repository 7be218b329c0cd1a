using System.Globalization;
using RespBenchmark.Measure;
using RespBenchmark.Native;
using RespBenchmark.Network;
using RespBenchmark.Saturation;

namespace RespBenchmark.CommandLine;

/// <summary>What the compatible grammars say beside the old text: known traps once, and for each cell who was
/// saturated. All of it goes to stderr and to the files.</summary>
/// <remarks>Threads: one; the monitor of a cell has a thread of its own.</remarks>
internal sealed class CellWatch : IDisposable
{
    private const double HeadroomMin = 1.5;

    private readonly Extras _extras;
    private readonly Surroundings _surroundings;
    private readonly TargetWatch? _target;
    private ResourceMonitor? _monitor;

    private CellWatch(Extras extras, Surroundings surroundings, TargetWatch? target)
    {
        _extras = extras;
        _surroundings = surroundings;
        _target = target;
    }

    /// <summary>Looks at a target before it is loaded, and says what will spoil its figures.</summary>
    /// <param name="sessions">The most connections there will be.</param>
    /// <exception cref="ConnectException">It cannot be reached.</exception>
    public static CellWatch Open(Target target, int sessions, Extras extras, Surroundings surroundings)
    {
        try
        {
            var watch = TargetWatch.Open(target, extras.ServerProcess);
            foreach (string warning in watch.Warnings(sessions, canPin: false))
            {
                // The trap that has spoiled published comparisons is said so that nobody passes over it.
                surroundings.Note(warning.StartsWith(Warnings.SpinningThreads, StringComparison.Ordinal)
                    ? $"!!! WARNING !!! {warning}" : $"# WARN {warning}");
                extras.Warnings.Add(warning);
            }

            extras.Target = watch.Report();
            return new CellWatch(extras, surroundings, watch);
        }
        catch (TargetException refused)
        {
            // Whether the load fares better is the load's to say.
            surroundings.Note($"# no verdicts: {refused.Message}");
            return new CellWatch(extras, surroundings, null);
        }
    }

    /// <summary>Begins to watch a cell; what was watched before and not added is forgotten.</summary>
    public void Begin()
    {
        _monitor?.Dispose();
        _monitor = _target?.Begin();
    }

    /// <summary>The cell is over: stops watching, before its text is printed.</summary>
    public ResourceUse? Stop() => _monitor?.Stop();

    /// <summary>Judges a cell, says so, and keeps it for the files.</summary>
    /// <param name="calibrate">Operations a second of the same client against a target that does nothing; null: those
    /// of our engine.</param>
    public void Add(CellOutcome outcome, ResourceUse? use, Func<Target, double>? calibrate = null)
    {
        if (_target is not null && use is not null) outcome = Judge(outcome, _target, use, calibrate);
        _extras.Add(outcome);
    }

    public void Dispose() => _monitor?.Dispose();

    private CellOutcome Judge(CellOutcome outcome, TargetWatch target, ResourceUse use, Func<Target, double>? calibrate)
    {
        Measurement measured = outcome.Measurement;
        bool isLong = measured.Elapsed >= TargetWatch.JudgedMin;
        Verdict verdict = target.Judge(outcome.Plan, measured, use);
        string advice = isLong ? verdict.Advice(use.ServerSeen, measured.GeneratorLate)
            : string.Create(CultureInfo.InvariantCulture,
                $"{measured.Elapsed.TotalMilliseconds:F0} ms are too short to tell");
        string server = use.ServerSeen ? Load(use.ServerHot, use.ServerCpu) : "not seen";
        _surroundings.Note(
            $"# {verdict.Name()}  client {Load(measured.LoopOccupancy.DefaultIfEmpty().Max(), use.ClientCpu)}, server "
            + $"{server}{(advice.Length > 0 ? $": {advice}" : "")}");
        return outcome with { Use = use, Verdict = verdict,
            Headroom = _extras.Calibrate ? Headroom(outcome, calibrate) : null };
    }

    private double? Headroom(CellOutcome outcome, Func<Target, double>? calibrate)
    {
        double measured = outcome.Measurement.OpsPerSecond;
        if (_surroundings.Interrupt.Requested || measured <= 0) return null;
        double alone;
        if (calibrate is not null)
        {
            alone = Calibration.Run(outcome.Plan.Target, calibrate, _surroundings);
        }
        else
        {
            var runner = new CellRunner(_surroundings, new LiveLine(_surroundings, ProgressForm.Off));
            alone = Calibration.Run(runner, outcome.Plan with { AbortOnError = false }, _surroundings);
        }

        double headroom = alone / measured;
        string advice = headroom < HeadroomMin ? ": the client is close to its own limit" : "";
        _surroundings.Note(string.Create(CultureInfo.InvariantCulture, $"# headroom {headroom:F1}x{advice}"));
        return headroom;
    }

    /// <summary>The busiest thread, and all of them in cores.</summary>
    private static string Load(double hot, double all) =>
        string.Create(CultureInfo.InvariantCulture, $"{100 * hot:F0}% / {all:F2}c");
}

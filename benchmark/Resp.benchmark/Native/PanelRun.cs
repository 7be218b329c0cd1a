using System.Globalization;
using RespBenchmark.CommandLine;
using RespBenchmark.Engine;
using RespBenchmark.Network;
using RespBenchmark.Reports;
using RespBenchmark.Saturation;
using RespBenchmark.Scenarios;

namespace RespBenchmark.Native;

/// <summary>Runs the grid of one workload on all targets: load, repetitions, verdicts, rows.</summary>
/// <remarks>Several targets: each cell runs A B B A ..., and only the server that is measured has load.</remarks>
internal sealed class PanelRun(RunVerb verb, TargetSet targets, CellRunner runner, Surroundings surroundings)
{
    private readonly WorkloadReader _workload = new(verb);
    private readonly HashSet<string> _loaded = [];
    private readonly Dictionary<string, Loaded> _loads = [];
    private readonly Dictionary<(string Target, int Depth), int> _ladders = [];

    /// <summary>What reports call the workload; null: as its options say it.</summary>
    public string? Title { get; init; }

    /// <summary>Why targets cannot run the panel, by their names.</summary>
    public IReadOnlyDictionary<string, string> Unsupported { get; init; } = new Dictionary<string, string>();

    /// <summary>Cells that are not run, by their place: another panel did.</summary>
    public Func<CellAxis, bool> IsDone { get; init; } = _ => false;

    /// <summary>What is run instead of operations; null: operations are.</summary>
    public ScenarioRunner? Scenario { get; init; }

    /// <summary>Operations that a session has outstanding are sent and timed as one group.</summary>
    public bool TimesGroups { get; init; }

    /// <summary>Gets the intervals of each cell's first repetition; null: nobody.</summary>
    public Action<CellAxis, Target, IntervalSample>? OnInterval { get; init; }

    /// <summary>The loads that were run, by target.</summary>
    public IReadOnlyDictionary<string, Loaded> Loads => _loads;

    /// <summary>The places of all cells, those that another panel did among them.</summary>
    public IEnumerable<CellAxis> Axes =>
        Grid().SelectMany(place => targets.All.Select(target => AxisOf(place, Plan(target, place)))).Distinct();

    public string Name => Title ?? Scenario?.Name ?? _workload.Name;

    /// <summary>Runs all cells until an interrupt; what was measured by then is returned.</summary>
    public IReadOnlyList<CellReport> Run(ConsoleTable table)
    {
        IReadOnlyList<GridCell> grid = Grid();
        var cells = new List<CellReport>();
        // A suite counts the cells of all its panels.
        if (Title is null) (runner.Live.Cell, runner.Live.CellsInAll) = (0, grid.Count);
        foreach (GridCell place in verb is SweepVerb ? Shuffled(grid) : grid)
        {
            if (surroundings.Interrupt.Requested) break;
            runner.Live.Cell++;
            if (IsDone(AxisOf(place, Plan(targets.All[0], place)))) continue;
            foreach (CellReport cell in Measure(place))
            {
                cells.Add(cell);
                table.Row(cell);
            }
        }

        return cells;
    }

    private IReadOnlyList<GridCell> Grid()
    {
        if (verb is RateVerb rate) return CellGrid.Read(verb, RateLadder(rate));
        return CellGrid.Read(verb, verb.Rate is { } text
            ? [.. text.Split(',').Select(one => CellGrid.ReadRate(one, ClosedLoopMost))] : null);
    }

    private IReadOnlyList<double> RateLadder(RateVerb rate)
    {
        const int autoSteps = 8;
        const double autoFirst = 0.1, autoLast = 0.95;
        if (rate.Sweep == "auto")
        {
            double most = ClosedLoopMost();
            return [.. Enumerable.Range(0, autoSteps)
                .Select(step => most * (autoFirst + (step * (autoLast - autoFirst) / (autoSteps - 1))))];
        }

        string[] words = rate.Sweep.Split(':');
        if (words.Length != 3 || !int.TryParse(words[2], NumberStyles.None, CultureInfo.InvariantCulture, out int steps)
            || steps < 2)
            throw new UsageException($"--rate-sweep takes auto or from:to:steps like 10k:200k:8, not '{rate.Sweep}'");
        double from = CellGrid.ReadRate(words[0], ClosedLoopMost), to = CellGrid.ReadRate(words[1], ClosedLoopMost);
        return [.. Enumerable.Range(0, steps).Select(step => from + (step * (to - from) / (steps - 1)))];
    }

    /// <summary>What the first target does in a closed loop, 3 s.</summary>
    private double ClosedLoopMost()
    {
        Target target = targets.All[0];
        LoadOnce(target);
        GridCell place = CellGrid.Read(verb, null)[0];
        (Repetition repetition, _) = RunOnce(target,
            Plan(target, place) with { Duration = TimeSpan.FromSeconds(3), Commands = 0 }, "closed loop");
        surroundings.Note(string.Create(CultureInfo.InvariantCulture, $"closed loop: {repetition.OpsS:N0} ops/s"));
        return repetition.OpsS;
    }

    private (Repetition Repetition, Verdict Verdict) RunOnce(Target target, CellPlan plan, string label,
        Action<IntervalSample>? onInterval = null) =>
        Scenario is { } scenario ? scenario.Run(targets.WatchOf(target), plan, label)
        : runner.Run(targets.WatchOf(target), plan, label, onInterval);

    /// <summary>One cell on every target.</summary>
    private IEnumerable<CellReport> Measure(GridCell place)
    {
        var reps = targets.All.ToDictionary(target => target.Name,
            _ => new List<(Repetition Repetition, Verdict Verdict)>());
        var warnings = targets.All.ToDictionary(target => target.Name, _ => new List<string>());
        var loops = targets.All.ToDictionary(target => target.Name, _ => 0);
        for (int rep = 0; rep < verb.Repetitions && !surroundings.Interrupt.Requested; rep++)
        {
            // A B, B A, A B ...: what drifts meets both alike.
            foreach (Target target in rep % 2 == 0 ? targets.All : targets.All.Reverse())
            {
                if (surroundings.Interrupt.Requested) break;
                if (Unsupported.ContainsKey(target.Name)) continue;
                if (_loaded.Contains(target.Name) && targets.IsRestarted(target, rep))
                {
                    targets.Restart(target);
                    _loaded.Remove(target.Name);
                }

                if (place.MaxMemory is not null) _loaded.Remove(target.Name);
                using var limit = place.MaxMemory is { } bytes ? new MaxMemory(target, bytes) : null;
                warnings[target.Name].AddRange(LoadOnce(target));
                if (place.Sessions == 0 && Scenario is null && !_ladders.ContainsKey((target.Name, place.Depth)))
                    _ladders[(target.Name, place.Depth)] = SessionLadder.Climb(Plan(target, place), surroundings);
                CellPlan plan = Plan(target, place);
                string label = string.Create(CultureInfo.InvariantCulture,
                    $"{target.Name} {Name} c{plan.Sessions} d{plan.Depth} rep {rep + 1}/{verb.Repetitions}");
                Action<IntervalSample>? onInterval = rep == 0 && OnInterval is { } taker ? sample =>
                    taker(AxisOf(place, plan), target, sample) : null;
                (Repetition Repetition, Verdict Verdict) one = RunOnce(target, plan, label, onInterval);
                reps[target.Name].Add(one);
                if (verb.Probe && rep == 0) warnings[target.Name].AddRange(Probe(target, plan, one.Repetition));
                surroundings.Interrupt.Wait(DurationText.Parse("--cooldown", verb.Cooldown));
            }
        }

        double? nullServer = null;
        foreach (Target target in targets.All)
        {
            List<(Repetition Repetition, Verdict Verdict)> done = reps[target.Name];
            CellPlan plan = Plan(target, place);
            if (Unsupported.TryGetValue(target.Name, out string? reason))
            {
                yield return new CellReport { Axis = AxisOf(place, plan), Target = target.Name, Unsupported = reason };
                continue;
            }

            if (done.Count == 0) continue;
            CellReport cell = Report(target, place, plan, done, warnings[target.Name]);
            if (verb.Calibrate && cell.Summary is { Mean: > 0 } summary)
            {
                nullServer ??= Calibration.Run(runner, plan, surroundings);
                cell = cell with { Headroom = nullServer / summary.Mean };
                if (cell.Headroom < 1.5)
                    cell = cell with { Warnings =
                        [.. cell.Warnings, "headroom below 1.5x: the client is close to its own limit"] };
            }

            yield return cell;
        }
    }

    private CellReport Report(Target target, GridCell place, CellPlan plan,
        List<(Repetition Repetition, Verdict Verdict)> done, List<string> warnings)
    {
        if (done.Any(one => !one.Repetition.Steady)) warnings.Add("not steady after 30 s of warm-up");
        if (done.Any(one => one.Repetition.GeneratorLate))
            warnings.Add("GENERATOR LATE: sends left late; the latencies are the client's too");
        foreach (string end in done.Select(one => one.Repetition.End).Where(end => end != "completed").Distinct())
            warnings.Add(end);
        return new CellReport
        {
            Axis = AxisOf(place, plan),
            Target = target.Name,
            Reps = [.. done.Select(one => one.Repetition)],
            Verdict = done.GroupBy(one => one.Verdict).MaxBy(group => group.Count())!.Key.Name(),
            Warnings = [.. warnings.Distinct()],
        }.Summarized();
    }

    private CellAxis AxisOf(GridCell place, CellPlan plan) => new()
    {
        Op = Name, Conns = plan.Sessions, Depth = plan.Depth, Mode = plan.Mode == DepthMode.Batch ? "batch" : "window",
        Keys = verb.Keys, Value = verb.Value, Dist = verb.Distribution, Rate = place.Rate, Loops = plan.Loops,
        MaxMemory = place.MaxMemory,
        Co = runner.Omission?.Name,
    };

    private CellPlan Plan(Target target, GridCell place)
    {
        CellPlan plan = CellGrid.Common(verb, target, _workload.Workload(place.Depth)) with
        {
            Sessions = place.Sessions > 0 ? place.Sessions : _ladders.GetValueOrDefault((target.Name, place.Depth), 1),
                Depth = place.Depth,
        };
        if (TimesGroups) plan = plan with { Mode = DepthMode.Batch, BatchLatency = place.Depth > 1 };
        if (plan.VerifyShare > 0 && !_workload.IsVerifiable)
            throw new UsageException("--verify needs values that can be checked: load and run with --data verify");
        return place.Rate is { } rate ? plan with { Arrivals = CellGrid.Arrivals(verb, rate) } : plan;
    }

    /// <summary>Twice the sessions for 2 s: more means that the load was the limit.</summary>
    private IEnumerable<string> Probe(Target target, CellPlan plan, Repetition measured)
    {
        (Repetition twice, _) = runner.Run(targets.WatchOf(target),
            plan with { Sessions = plan.Sessions * 2, Duration = TimeSpan.FromSeconds(2), Commands = 0 }, "probe");
        double more = twice.OpsS / measured.OpsS;
        if (more > 1.05)
            yield return string.Create(CultureInfo.InvariantCulture,
                $"limited by load: twice the sessions give {more:F2}x");
    }

    /// <summary>Fills the keys of a target that has none of ours yet.</summary>
    private IReadOnlyList<string> LoadOnce(Target target)
    {
        if (!_loaded.Add(target.Name)) return [];
        if (verb.Flush) LoadCommand.Flush(target);
        if (verb.Load is "none" || Scenario is not null) return [];
        if (LoadCommand.Load(target, _workload, verb, surroundings) is not { } loaded) return [];
        _loads[target.Name] = loaded;
        return loaded.Warnings;
    }

    /// <summary>The same order for the same seed.</summary>
    private IEnumerable<GridCell> Shuffled(IReadOnlyList<GridCell> grid)
    {
        GridCell[] cells = [.. grid];
        new Random((int)verb.Seed).Shuffle(cells);
        return cells;
    }
}

using System.Globalization;
using RespBenchmark.CommandLine;
using RespBenchmark.Native;
using RespBenchmark.Network;
using RespBenchmark.Reports;
using RespBenchmark.Saturation;

namespace RespBenchmark.Suites;

/// <summary>Runs a plan: each pass, each panel, on all targets.</summary>
internal sealed class SuiteRun(Suite suite, SuitePlan plan, TargetSet targets, CellRunner runner, SuiteVerb verb,
    Surroundings surroundings)
{
    private readonly TextWriter _output = verb.Quiet ? TextWriter.Null : surroundings.Output;
    private readonly List<CellReport> _cells = [];
    private readonly List<PanelResult> _results = [];
    private readonly List<string> _warnings = [];
    private readonly HashSet<string> _incomparable = [];

    public IReadOnlyList<CellReport> Cells => _cells;

    public IReadOnlyList<PanelResult> Results => _results;

    /// <summary>What was noticed on the way.</summary>
    public IReadOnlyList<string> Warnings => _warnings;

    public OnlineRecord Online { get; } = new(surroundings.Clock, surroundings.Interrupt);

    /// <summary>False: a target had more io-threads than cores meanwhile, so that the cell compares nothing.</summary>
    public bool IsCompared(CellReport cell) => !_incomparable.Contains(cell.Axis.Op);

    public void Run()
    {
        var table = ConsoleTable.Of(verb, surroundings);
        runner.Live.CellsInAll = plan.Cells;
        foreach (SuitePass pass in suite.Passes)
        {
            if (surroundings.Interrupt.Requested) break;
            Dictionary<string, string> unfit = Prepare(pass);
            foreach (PlannedPanel panel in plan.Panels)
            {
                if (surroundings.Interrupt.Requested) break;
                RunPanel(pass, panel, unfit, table);
            }
        }
    }

    private void RunPanel(SuitePass pass, PlannedPanel panel, Dictionary<string, string> unfit, ConsoleTable table)
    {
        var unsupported = targets.All.Select(target => (target.Name, Reason: unfit.GetValueOrDefault(target.Name)
            ?? CommandProbe.Missing(target, panel.Options)))
            .Where(one => one.Reason is not null).ToDictionary(one => one.Name, one => one.Reason!);
        var run = new PanelRun(panel.Options, targets, runner, surroundings)
        {
            Title = pass.TitleOf(panel.Panel), Unsupported = unsupported, TimesGroups = panel.Panel.IsOnline,
            OnInterval = panel.Panel.IsOnline ? Online.Add : null,
            // Figures of a gathered suite share cells.
            IsDone = axis => _cells.Exists(cell => cell.Axis == axis),
        };
        if (targets.All.Any(target => Spins(targets.WatchOf(target)))) _incomparable.Add(run.Name);
        _output.WriteLine();
        _output.WriteLine(string.Create(CultureInfo.InvariantCulture,
            $"{run.Name}  {panel.Options.Keys:N0} keys, {panel.Options.Value} B values"
            + $"{(plan.Profile.IsAsPublished ? "" : "  (" + Report.ScaledWatermark + ")")}"));
        table.Head();
        IReadOnlyList<CellReport> measured = run.Run(table);
        if (measured.Count == 0 && !surroundings.Interrupt.Requested) _output.WriteLine(" all of its cells are above");
        _cells.AddRange(measured);
        CellAxis[] axes = [.. run.Axes];
        _results.Add(new PanelResult(panel, pass, axes, [.. _cells.Where(cell => axes.Contains(cell.Axis))],
            run.Loads));
    }

    /// <summary>Gives servers with io-threads as many as the pass wants.</summary>
    /// <returns>Why targets cannot take part, by their names.</returns>
    private Dictionary<string, string> Prepare(SuitePass pass)
    {
        var unfit = new Dictionary<string, string>();
        int said = _warnings.Count;
        foreach (Target target in targets.All)
        {
            TargetWatch watch = targets.WatchOf(target);
            if (pass.IoThreads is not { } count || watch.Facts.Setting("io-threads") is not { } have || IsKv(watch))
                continue;
            int want = count(watch.Cores.Count > 0 ? watch.Cores.Count : Environment.ProcessorCount);
            if (have == want || (pass.IsMost && have <= want)) continue;
            if (!targets.IsOurs(target))
            {
                unfit[target.Name] =
                    $"{pass.Name} is io-threads {want}; this one runs with {have}, and was not started here";
                continue;
            }

            string arguments = string.Create(CultureInfo.InvariantCulture, $"--io-threads {want}");
            targets.Restart(target, arguments);
            _warnings.Add($"{target.Name}: {pass.Name}: started with {arguments}");
        }

        foreach (Target target in targets.All.Where(target => !unfit.ContainsKey(target.Name)
            && Spins(targets.WatchOf(target))))
            _warnings.Add(
                $"{target.Name}: {(pass.Name is { } name ? name + ": " : "")}io-threads beyond its cores: no "
                + $"comparison of servers");
        foreach (string warning in _warnings.Skip(said)) _output.WriteLine($"WARN {warning}");
        return unfit;
    }

    private static bool Spins(TargetWatch watch) =>
        watch.Cores.Count > 0 && watch.Facts.Setting("io-threads") > watch.Cores.Count && !IsKv(watch);

    private static bool IsKv(TargetWatch watch) => watch.Facts.Info.ContainsKey("kv_version");
}

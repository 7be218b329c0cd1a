using System.Globalization;
using RespBenchmark.CommandLine;
using RespBenchmark.Engine;
using RespBenchmark.Network;
using RespBenchmark.Reports;
using RespBenchmark.Saturation;
using RespBenchmark.Workload;

namespace RespBenchmark.Native;

/// <summary>Runs a grid of cells on one or several targets: load, repetitions, verdicts, table, files, gates.</summary>
/// <remarks>Several targets: each cell runs A B B A ..., and only the server that is measured has load.</remarks>
internal sealed class RunCommand
{
    private readonly RunVerb _verb;
    private readonly Surroundings _surroundings;
    private readonly IReadOnlyList<Target> _targets;
    private readonly WorkloadReader _workload;
    private readonly Dictionary<string, string> _starts = [];
    private readonly Dictionary<string, StartedServer> _started = [];
    private readonly Dictionary<string, TargetWatch> _watches = [];
    private readonly HashSet<string> _loaded = [];
    private readonly CellRunner _runner;
    private readonly DateTimeOffset _begun;
    private readonly IReadOnlyList<Gate> _gates;
    private readonly int _process;

    /// <exception cref="UsageException">An option's value is off.</exception>
    public RunCommand(RunVerb verb, Surroundings surroundings)
    {
        _verb = verb;
        _surroundings = surroundings;
        _begun = surroundings.Clock.GetUtcNow();
        _targets = TargetReader.Read(verb);
        _workload = new WorkloadReader(verb);
        _gates = [.. verb.FailIf.Select(Gate.Parse)];
        _process = verb.ServerProcess switch
        {
            "auto" => 0,
            "off" => -1,
            _ => int.TryParse(verb.ServerProcess, NumberStyles.None, CultureInfo.InvariantCulture, out int process) ? process
                : throw new UsageException($"--server-pid takes auto, off or a process id, not '{verb.ServerProcess}'"),
        };
        if (verb.Repetitions < 1) throw new UsageException($"--reps takes a number from 1, not {verb.Repetitions}");
        if (verb.Restart is not ("each-rep" or "each-cell" or "never")) throw new UsageException($"--restart takes each-rep, each-cell or never, not '{verb.Restart}'");
        foreach (string start in verb.Start)
        {
            int equals = start.IndexOf('=', StringComparison.Ordinal);
            string name = equals > 0 ? start[..equals] : "";
            if (_targets.All(target => target.Name != name)) throw new UsageException($"--start takes NAME=command with the name of a target, not '{start}'");
            _starts[name] = start[(equals + 1)..];
        }

        ProgressForm form = verb.Progress switch
        {
            null => ProgressForm.Default,
            "tty" => ProgressForm.Tty,
            "plain" => ProgressForm.Plain,
            "off" => ProgressForm.Off,
            _ => throw new UsageException($"--progress takes tty, plain or off, not '{verb.Progress}'"),
        };
        _runner = new CellRunner(surroundings, new LiveLine(surroundings, form))
        {
            Interval = DurationText.Parse("--interval", verb.Interval),
            HdrFolder = verb.Hdr,
        };
    }

    /// <summary>Shown on everything; null: nothing.</summary>
    public string? Watermark { get; init; }

    public string? Title { get; init; }

    /// <returns>The exit code.</returns>
    public int Run()
    {
        if (_verb.PinClient is { } cores) Affinity.Pin(CoreList.Parse("--pin-client", cores));
        try
        {
            foreach (Target target in _targets) Open(target);
            IReadOnlyList<GridCell> grid = Grid();
            var table = new ConsoleTable(_verb.Quiet ? TextWriter.Null : _surroundings.Output, ConsoleTable.ReadShares(_verb.Percentiles), _verb.Digits);
            Head(table);
            var cells = new List<CellReport>();
            foreach (GridCell place in _verb is SweepVerb ? Shuffled(grid) : grid)
            {
                if (_surroundings.Interrupt.Requested) break;
                foreach (CellReport cell in Measure(place))
                {
                    cells.Add(cell);
                    table.Row(cell);
                }
            }

            return Finish(cells);
        }
        finally
        {
            foreach (StartedServer server in _started.Values) server.Dispose();
        }
    }

    private IReadOnlyList<GridCell> Grid()
    {
        if (_verb is RateVerb rate) return CellGrid.Read(_verb, RateLadder(rate));
        return CellGrid.Read(_verb, _verb.Rate is { } text ? [.. text.Split(',').Select(one => CellGrid.ReadRate(one, ClosedLoopMost))] : null);
    }

    private IReadOnlyList<double> RateLadder(RateVerb verb)
    {
        const int autoSteps = 8;
        const double autoFirst = 0.1, autoLast = 0.95;
        if (verb.Sweep == "auto")
        {
            double most = ClosedLoopMost();
            return [.. Enumerable.Range(0, autoSteps).Select(step => most * (autoFirst + (step * (autoLast - autoFirst) / (autoSteps - 1))))];
        }

        string[] words = verb.Sweep.Split(':');
        if (words.Length != 3 || !int.TryParse(words[2], NumberStyles.None, CultureInfo.InvariantCulture, out int steps) || steps < 2)
            throw new UsageException($"--rate-sweep takes auto or from:to:steps like 10k:200k:8, not '{verb.Sweep}'");
        double from = CellGrid.ReadRate(words[0], ClosedLoopMost), to = CellGrid.ReadRate(words[1], ClosedLoopMost);
        return [.. Enumerable.Range(0, steps).Select(step => from + (step * (to - from) / (steps - 1)))];
    }

    /// <summary>What the first target does in a closed loop, 3 s.</summary>
    private double ClosedLoopMost()
    {
        Target target = _targets[0];
        LoadOnce(target);
        GridCell place = CellGrid.Read(_verb, null)[0];
        (Repetition repetition, _) = _runner.Run(_watches[target.Name], Plan(target, place) with { Duration = TimeSpan.FromSeconds(3), Commands = 0 }, "closed loop");
        _surroundings.Note(string.Create(CultureInfo.InvariantCulture, $"closed loop: {repetition.OpsS:N0} ops/s"));
        return repetition.OpsS;
    }

    /// <summary>One cell on every target.</summary>
    private IEnumerable<CellReport> Measure(GridCell place)
    {
        var reps = _targets.ToDictionary(target => target.Name, _ => new List<(Repetition Repetition, Verdict Verdict)>());
        var warnings = _targets.ToDictionary(target => target.Name, _ => new List<string>());
        var loops = _targets.ToDictionary(target => target.Name, _ => 0);
        for (int rep = 0; rep < _verb.Repetitions && !_surroundings.Interrupt.Requested; rep++)
        {
            // A B, B A, A B ...: what drifts meets both alike.
            foreach (Target target in rep % 2 == 0 ? _targets : _targets.Reverse())
            {
                if (_surroundings.Interrupt.Requested) break;
                Restart(target, rep);
                warnings[target.Name].AddRange(LoadOnce(target));
                CellPlan plan = Plan(target, place);
                string label = string.Create(CultureInfo.InvariantCulture, $"{target.Name} {_workload.Name} c{plan.Sessions} d{plan.Depth} rep {rep + 1}/{_verb.Repetitions}");
                (Repetition Repetition, Verdict Verdict) one = _runner.Run(_watches[target.Name], plan, label);
                reps[target.Name].Add(one);
                if (_verb.Probe && rep == 0) warnings[target.Name].AddRange(Probe(target, plan, one.Repetition));
                _surroundings.Interrupt.Wait(DurationText.Parse("--cooldown", _verb.Cooldown));
            }
        }

        double? nullServer = null;
        foreach (Target target in _targets)
        {
            List<(Repetition Repetition, Verdict Verdict)> done = reps[target.Name];
            if (done.Count == 0) continue;
            CellPlan plan = Plan(target, place);
            CellReport cell = Report(target, place, plan, done, warnings[target.Name]);
            if (_verb.Calibrate && cell.Summary is { Mean: > 0 } summary)
            {
                nullServer ??= Calibration.Run(_runner, plan, _surroundings);
                cell = cell with { Headroom = nullServer / summary.Mean };
                if (cell.Headroom < 1.5) cell = cell with { Warnings = [.. cell.Warnings, "headroom below 1.5x: the client is close to its own limit"] };
            }

            yield return cell;
        }
    }

    private CellReport Report(Target target, GridCell place, CellPlan plan, List<(Repetition Repetition, Verdict Verdict)> done, List<string> warnings)
    {
        if (done.Any(one => !one.Repetition.Steady)) warnings.Add("not steady after 30 s of warm-up");
        if (done.Any(one => one.Repetition.GeneratorLate)) warnings.Add("GENERATOR LATE: sends left late; the latencies are the client's too");
        foreach (string end in done.Select(one => one.Repetition.End).Where(end => end != "completed").Distinct()) warnings.Add(end);
        return new CellReport
        {
            Axis = new CellAxis
            {
                Op = _workload.Name, Conns = plan.Sessions, Depth = plan.Depth, Mode = plan.Mode == DepthMode.Batch ? "batch" : "window",
                Keys = _verb.Keys, Value = _verb.Value, Dist = _verb.Distribution, Rate = place.Rate, Loops = plan.Loops,
            },
            Target = target.Name,
            Reps = [.. done.Select(one => one.Repetition)],
            Verdict = done.GroupBy(one => one.Verdict).MaxBy(group => group.Count())!.Key.Name(),
            Warnings = [.. warnings.Distinct()],
        }.Summarized();
    }

    private CellPlan Plan(Target target, GridCell place)
    {
        CellPlan plan = CellGrid.Common(_verb, target, _workload.Workload(place.Depth)) with { Sessions = place.Sessions, Depth = place.Depth };
        if (plan.VerifyShare > 0 && !_workload.IsVerifiable) throw new UsageException("--verify needs values that can be checked: load and run with --data verify");
        return place.Rate is { } rate ? plan with { Arrivals = CellGrid.Arrivals(_verb, rate) } : plan;
    }

    /// <summary>Twice the sessions for 2 s: more means that the load was the limit.</summary>
    private IEnumerable<string> Probe(Target target, CellPlan plan, Repetition measured)
    {
        (Repetition twice, _) = _runner.Run(_watches[target.Name], plan with { Sessions = plan.Sessions * 2, Duration = TimeSpan.FromSeconds(2), Commands = 0 }, "probe");
        double more = twice.OpsS / measured.OpsS;
        if (more > 1.05) yield return string.Create(CultureInfo.InvariantCulture, $"limited by load: twice the sessions give {more:F2}x");
    }

    private void Open(Target target)
    {
        if (_starts.TryGetValue(target.Name, out string? command) && !_started.ContainsKey(target.Name))
            _started[target.Name] = StartedServer.Start(command, target, _verb.PinServer);
        _watches[target.Name] = TargetWatch.Open(target, _started.TryGetValue(target.Name, out StartedServer? started) ? started.ProcessId : _process);
    }

    private void Restart(Target target, int rep)
    {
        if (!_starts.ContainsKey(target.Name) || _verb.Restart == "never" || (_verb.Restart == "each-cell" && rep > 0)) return;
        if (!_loaded.Contains(target.Name)) return;     // fresh as it is
        _started[target.Name].Dispose();
        _started.Remove(target.Name);
        _loaded.Remove(target.Name);
        Open(target);
    }

    /// <summary>Fills the keys of a target that has none of ours yet.</summary>
    private IReadOnlyList<string> LoadOnce(Target target)
    {
        if (_verb.Load is "none" || !_loaded.Add(target.Name)) return [];
        return LoadCommand.Load(target, _workload, _verb, _surroundings);
    }

    private void Head(ConsoleTable table)
    {
        TextWriter output = _verb.Quiet ? TextWriter.Null : _surroundings.Output;
        foreach (Target target in _targets)
        {
            TargetWatch watch = _watches[target.Name];
            string seen = watch.Process is { } process ? string.Create(CultureInfo.InvariantCulture, $"pid {process}, cpus {string.Join(',', watch.Cores)}") : "process not seen";
            output.WriteLine($"Resp.benchmark  {_workload.Name}  {_verb.Distribution} over {_verb.Keys:N0} keys, {_verb.Value} B values  target {target.Name} {target.Address} ({watch.Facts.Name}, {seen})");
            foreach (string warning in watch.Warnings(CellGrid.Read(_verb, null).Max(cell => cell.Sessions))) output.WriteLine($"WARN {target.Name}: {warning}");
        }

        output.WriteLine(_verb.Rate is null && _verb is not RateVerb
            ? "closed loop: latencies are service times"
            : "open loop: latencies are from the intended send");
        if (Watermark is { } watermark) output.WriteLine(watermark);
        table.Head();
    }

    private int Finish(List<CellReport> cells)
    {
        var report = new Report
        {
            Tool = $"Resp.benchmark {ProgramName.Version}",
            Title = Title,
            Argv = _surroundings.Words,
            Started = _begun,
            Watermark = Watermark,
            Host = HostFacts.Read(),
            Targets = [.. _targets.Select(TargetReportOf)],
            Cells = cells,
        };
        if (_targets.Count > 1) report = report with { Comparisons = Comparisons.OfAllTargets(report) };
        ReportFiles.Write(report, new ReportPaths
        {
            Json = _verb.Json, Csv = _verb.Csv, CsvAsRedisBenchmark = _verb.CsvFormat == "rb", Markdown = _verb.Markdown, Html = _verb.Html,
        });

        if (cells.Any(cell => cell.Reps.Any(rep => rep.End.Contains("verification", StringComparison.Ordinal)))) return ExitCode.VerificationFailed;
        if (_gates.Count > 0 || _verb.Baseline is not null)
        {
            int judged = CompareRun.Judge(report, _verb.Baseline is { } file ? ReportFiles.Read(file) : null, _gates, _surroundings.Output);
            if (judged != ExitCode.Ok) return judged;
        }

        if (_verb.FailOnSaturation && cells.Any(cell => cell.IsForeignBound())) return ExitCode.Saturated;
        bool failed = _verb.OnError == "abort" && cells.Any(cell => cell.Reps.Any(rep => rep.ErrorCount() > 0));
        return failed || cells.Count == 0 ? ExitCode.RunError : ExitCode.Ok;
    }

    private TargetReport TargetReportOf(Target target)
    {
        TargetWatch watch = _watches[target.Name];
        string[] fields = ["redis_version", "garnet_version", "kv_version", "os", "arch_bits", "multiplexing_api", "process_id"];
        string[] options = ["io-threads", "save", "appendonly", "maxmemory", "maxmemory-policy", "worker-threads"];
        return new TargetReport
        {
            Name = target.Name, Addr = target.Address, Product = watch.Facts.Name, Pid = watch.Process,
            Cpus = watch.Cores.Count > 0 ? string.Join(',', watch.Cores) : null,
            Start = _starts.GetValueOrDefault(target.Name),
            Info = watch.Facts.Info.Where(pair => fields.Contains(pair.Key)).ToDictionary(),
            Config = watch.Facts.Config.Where(pair => options.Contains(pair.Key)).ToDictionary(),
        };
    }

    /// <summary>The same order for the same seed.</summary>
    private IEnumerable<GridCell> Shuffled(IReadOnlyList<GridCell> grid)
    {
        GridCell[] cells = [.. grid];
        new Random((int)_verb.Seed).Shuffle(cells);
        return cells;
    }
}

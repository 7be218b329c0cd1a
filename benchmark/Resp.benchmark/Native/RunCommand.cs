using System.Globalization;
using RespBenchmark.CommandLine;
using RespBenchmark.Network;
using RespBenchmark.Saturation;
using RespBenchmark.Scenarios;

namespace RespBenchmark.Native;

/// <summary>The verbs run, sweep and rate: one panel, its table, files, gates.</summary>
internal sealed class RunCommand
{
    private readonly RunVerb _verb;
    private readonly Surroundings _surroundings;
    private readonly TargetSet _targets;
    private readonly CellRunner _runner;
    private readonly ScenarioRunner? _scenario;
    private readonly RunReport _report;

    /// <exception cref="UsageException">An option's value is off.</exception>
    public RunCommand(RunVerb verb, Surroundings surroundings)
    {
        _verb = verb;
        _surroundings = surroundings;
        CellGrid.Read(verb, null);      // what is wrong in its lists is said before anybody is connected to
        _targets = new TargetSet(verb);
        _report = new RunReport(verb, surroundings, _targets);
        _runner = CellRunner.Of(verb, surroundings);
        if (verb.Scenario is { } scenario)
            _scenario = new ScenarioRunner(Scenario.Find(scenario), verb, surroundings, _runner.Live);
        else if (verb.Peers is not null) throw new UsageException("--peers is for --scenario");
    }

    /// <returns>The exit code.</returns>
    public int Run()
    {
        if (_verb.PinClient is { } cores) Affinity.Pin(CoreList.Parse("--pin-client", cores));
        using (_targets)
        {
            _targets.Open();
            var panel = new PanelRun(_verb, _targets, _runner, _surroundings) { Scenario = _scenario,
                Unsupported = Missing() };
            var table = ConsoleTable.Of(_verb, _surroundings);
            Head(table, panel.Name);
            return _report.Finish(panel.Run(table));
        }
    }

    /// <summary>Targets that lack a command of the scenario, and which.</summary>
    private Dictionary<string, string> Missing() => _scenario is not { } scenario ? []
        : _targets.All.Select(target => (target.Name, Reason: scenario.Missing(target)))
            .Where(one => one.Reason is not null)
            .ToDictionary(one => one.Name, one => one.Reason!);

    private void Head(ConsoleTable table, string name)
    {
        TextWriter output = _verb.Quiet ? TextWriter.Null : _surroundings.Output;
        foreach (Target target in _targets.All)
        {
            TargetWatch watch = _targets.WatchOf(target);
            string seen = watch.Process is { } process
                ? string.Create(CultureInfo.InvariantCulture, $"pid {process}, cpus {string.Join(',', watch.Cores)}")
                : "process not seen";
            string load = _scenario?.About
                ?? $"{_verb.Distribution} over {_verb.Keys:N0} keys, {_verb.Value} B values";
            output.WriteLine($"Resp.benchmark  {name}  {load}  "
                + $"target {target.Name} {target.Address} ({watch.Facts.Name}, {seen})");
            foreach (string warning in watch.Warnings(CellGrid.Read(_verb, null).Max(cell => cell.Sessions)))
                output.WriteLine($"WARN {target.Name}: {warning}");
        }

        bool isOpen = _verb.Rate is not null || _verb is RateVerb;
        output.WriteLine((isOpen ? "open loop: latencies are from the intended send"
            : "closed loop: latencies are service times") + _runner.Omission?.About);
        table.Head();
    }
}

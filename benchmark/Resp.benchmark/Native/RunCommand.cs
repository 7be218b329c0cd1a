using System.Globalization;
using RespBenchmark.CommandLine;
using RespBenchmark.Network;
using RespBenchmark.Reports;
using RespBenchmark.Saturation;

namespace RespBenchmark.Native;

/// <summary>The verbs run, sweep and rate: one panel, its table, files, gates.</summary>
internal sealed class RunCommand
{
    private readonly RunVerb _verb;
    private readonly Surroundings _surroundings;
    private readonly TargetSet _targets;
    private readonly PanelRun _panel;
    private readonly RunReport _report;

    /// <exception cref="UsageException">An option's value is off.</exception>
    public RunCommand(RunVerb verb, Surroundings surroundings)
    {
        _verb = verb;
        _surroundings = surroundings;
        _targets = new TargetSet(verb);
        _report = new RunReport(verb, surroundings, _targets);
        _panel = new PanelRun(verb, _targets, CellRunner.Of(verb, surroundings), surroundings);
    }

    /// <returns>The exit code.</returns>
    public int Run()
    {
        if (_verb.PinClient is { } cores) Affinity.Pin(CoreList.Parse("--pin-client", cores));
        using (_targets)
        {
            _targets.Open();
            var table = ConsoleTable.Of(_verb, _surroundings);
            Head(table);
            return _report.Finish(_panel.Run(table));
        }
    }

    private void Head(ConsoleTable table)
    {
        TextWriter output = _verb.Quiet ? TextWriter.Null : _surroundings.Output;
        foreach (Target target in _targets.All)
        {
            TargetWatch watch = _targets.WatchOf(target);
            string seen = watch.Process is { } process ? string.Create(CultureInfo.InvariantCulture, $"pid {process}, cpus {string.Join(',', watch.Cores)}") : "process not seen";
            output.WriteLine($"Resp.benchmark  {_panel.Name}  {_verb.Distribution} over {_verb.Keys:N0} keys, {_verb.Value} B values  target {target.Name} {target.Address} ({watch.Facts.Name}, {seen})");
            foreach (string warning in watch.Warnings(CellGrid.Read(_verb, null).Max(cell => cell.Sessions))) output.WriteLine($"WARN {target.Name}: {warning}");
        }

        output.WriteLine(_verb.Rate is null && _verb is not RateVerb
            ? "closed loop: latencies are service times"
            : "open loop: latencies are from the intended send");
        table.Head();
    }
}

using System.Globalization;
using Kv.Protocol;
using RespBenchmark.CommandLine;
using RespBenchmark.Native;
using RespBenchmark.Network;
using RespBenchmark.Reports;
using RespBenchmark.Saturation;

namespace RespBenchmark.Suites;

/// <summary>The verb suite: plan, refusal, panels on all targets, one report.</summary>
internal sealed class SuiteCommand(SuiteVerb verb, Surroundings surroundings)
{
    private readonly TextWriter _output = verb.Quiet ? TextWriter.Null : surroundings.Output;

    /// <returns>The exit code.</returns>
    /// <exception cref="UsageException">An option's value is off.</exception>
    public int Run()
    {
        if (verb.Name == CacheSuite.Name && !verb.List) return new CacheSuite(verb, surroundings).Run();
        SuiteProfile profile = SuiteProfile.Of(verb.Profile, verb.Scale);
        if (verb.List) return List(profile);
        if (verb.Name is not { } name) throw new UsageException("suite: which? suite NAME, or suite --list");
        Suite suite = SuiteTable.Find(name)
            ?? throw new UsageException($"suite: there is no {name}; suite --list names all");
        if (verb.Rate is not null)
            throw new UsageException("suite: the published figures are of a closed loop, --rate is not taken");
        if (verb.Scenario is not null)
            throw new UsageException("suite: the published figures are of plain operations, --scenario is not taken");
        if (!verb.DryRun) return Measure(suite, profile);
        Print(suite, new SuitePlan(suite, profile, verb,
            [.. TargetReader.Read(verb).Select(target => new PlannedTarget(target.Name))]));
        return ExitCode.Ok;
    }

    private int List(SuiteProfile profile)
    {
        surroundings.Output.WriteLine(
            $"{"suite",-16} {"seed",-5} {"cells",5} {"time",8} {"server",9} {"client",9}  shows  (--profile "
            + $"{profile.Name}, one target)");
        foreach (Suite suite in SuiteTable.All)
        {
            var plan = new SuitePlan(suite, profile, verb, [new PlannedTarget("A")]);
            surroundings.Output.WriteLine(string.Create(CultureInfo.InvariantCulture,
                $"{suite.Name,-16} {suite.Seed,-5} {plan.Cells,5} {Minutes(plan.Time),8} "
                + $"{SuitePlan.Size(plan.ServerBytes[0]),9} {SuitePlan.Size(plan.ClientBytes),9}  {suite.Shows}"));
        }

        surroundings.Output.WriteLine(
            $"{CacheSuite.Name,-16} {"-",-5} {"20",5} {"",8} {"",9} {"",9}  {CacheSuite.Shows}");
        return ExitCode.Ok;
    }

    private void Print(Suite suite, SuitePlan plan)
    {
        _output.WriteLine(
            $"Resp.benchmark suite {suite.Name}, profile {plan.Profile.Name}: {suite.Shows} (document {suite.Seed})");
        if (!plan.Profile.IsAsPublished) _output.WriteLine(Reports.Report.ScaledWatermark);
        foreach (PlannedPanel panel in plan.Panels)
        {
            RunVerb options = panel.Options;
            string how = options.Ops is { } commands
                ? string.Create(CultureInfo.InvariantCulture, $"{commands:N0} commands") : options.Duration;
            _output.WriteLine(string.Create(CultureInfo.InvariantCulture,
                $"  {panel.Panel.Title,-14} {options.Keys,13:N0} keys {panel.Panel.ValueBytes,9:N0} B  conns "
                + $"{options.Sessions}  depth {options.Depths} ({options.Mode})  {how}  {Minutes(panel.Time)}"));
        }

        if (suite.Passes.Count > 1)
            _output.WriteLine(
                $"  all of it {suite.Passes.Count} times: {string.Join("; ", suite.Passes.Select(pass => pass.Name))}");
        foreach (string note in suite.Notes) _output.WriteLine($"  note: {note}");
        _output.WriteLine(
            $"plan: {plan.Cells} cells a target, about {Minutes(plan.Time)}; the client "
            + $"{SuitePlan.Size(plan.ClientBytes)}, "
            + $"servers {string.Join(" + ", plan.ServerBytes.Select(SuitePlan.Size))}; "
                + $"{SuitePlan.Size(AvailableMemory.Bytes())} available here");
    }

    private int Measure(Suite suite, SuiteProfile profile)
    {
        if (verb.PinClient is { } cores) Affinity.Pin(CoreList.Parse("--pin-client", cores));
        using var targets = new TargetSet(verb);
        CellRunner runner = CellRunner.Of(verb, surroundings);
        var report = new RunReport(verb, surroundings, targets)
        {
            Title = $"{suite.Name}, {profile.Name}: {suite.Shows}",
            Watermark = Watermark(profile),
            LogThroughput = suite.IsLogarithmic,
            Counters = suite.ShowsCounters,
        };
        targets.Open();
        var plan = new SuitePlan(suite, profile, verb,
            [.. targets.All.Select(target => Planned(targets.WatchOf(target)))]);
        Print(suite, plan);
        if (plan.Refusal(AvailableMemory.Bytes()) is { } refusal) return Refuse(refusal);
        foreach (Target target in targets.All)
            if (Occupied(target) is { } occupied) return Refuse(occupied);

        report.Warnings = [.. suite.Notes, .. Warn(targets, plan)];
        var run = new SuiteRun(suite, plan, targets, runner, verb, surroundings);
        run.Run();
        report.IsCompared = run.IsCompared;
        report.Warnings = [.. report.Warnings, .. run.Warnings];
        report.Published = PublishedForms.Of(suite, run.Results, [.. targets.All.Select(targets.ReportOf)], run.Online,
            Watermark(profile));
        foreach (PublishedText text in report.Published)
            _output.Write($"\n--- as document {suite.Seed} has it --- {text.Title}\n{text.Text}");
        return report.Finish(run.Cells);
    }

    private static string? Watermark(SuiteProfile profile) =>
        profile.IsAsPublished ? null : Reports.Report.ScaledWatermark;

    private int Refuse(string reason)
    {
        surroundings.Note($"suite refused: {reason}");
        return ExitCode.Usage;
    }

    /// <summary>A suite empties what it measures: never what holds data of others.</summary>
    private string? Occupied(Target target)
    {
        if (verb.Flush) return null;
        using ControlConnection control = ControlConnection.Open(target);
        RespValue size = control.Send("DBSIZE");
        return !size.IsError && size.Integer > 0
            ? $"{target.Name} holds {size.Integer} keys and a suite empties its targets; --flush allows it" : null;
    }

    private List<string> Warn(TargetSet targets, SuitePlan plan)
    {
        var warnings = new List<string>();
        int sessions = plan.Panels.Max(panel => plan.Profile.SessionsOf(panel.Panel).Max());
        foreach (Target target in targets.All)
        {
            TargetWatch watch = targets.WatchOf(target);
            _output.WriteLine(string.Create(CultureInfo.InvariantCulture,
                $"target {target.Name} {target.Address} ({watch.Facts.Name}, "
                + $"{(watch.Process is { } process ? $"pid {process}" : "process not seen")})"));
            warnings.AddRange(watch.Warnings(sessions).Select(warning => $"{target.Name}: {warning}"));
        }

        foreach (string warning in warnings) _output.WriteLine($"WARN {warning}");
        return warnings;
    }

    private static PlannedTarget Planned(TargetWatch watch) => new(watch.Target.Name,
        watch.Facts.Info.ContainsKey("kv_version") ? PlannedTarget.KvOverhead : PlannedTarget.UsualOverhead,
        ServerProcess.IsHere(watch.Target));

    private static string Minutes(TimeSpan time) => time.TotalSeconds < 90
        ? string.Create(CultureInfo.InvariantCulture, $"{Math.Max(1, time.TotalSeconds):F0} s")
        : string.Create(CultureInfo.InvariantCulture, $"{time.TotalMinutes:F0} min");
}

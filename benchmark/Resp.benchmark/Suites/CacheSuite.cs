using System.Globalization;
using RespBenchmark.CommandLine;
using RespBenchmark.Native;
using RespBenchmark.Network;
using RespBenchmark.Reports;
using RespBenchmark.Saturation;
using RespBenchmark.Scenarios;

namespace RespBenchmark.Suites;

/// <summary>The suite cache: the hit ratios of servers at the same maxmemory, at several sizes, for what caches meet:
/// popular keys, very popular ones, somebody who reads everything beside them, popularity that moves, keys that
/// expire.</summary>
/// <remarks>Of no document, so nothing is scaled from what was published: --profile says how many keys, --maxmemory
/// other sizes. Each server's policy is its own to set, where it is started.</remarks>
internal sealed class CacheSuite(SuiteVerb verb, Surroundings surroundings)
{
    public const string Name = "cache";
    public const string Shows = "hit ratios of caches at several sizes (scenario cache)";

    private const int LeastBytes = 64, MostBytes = 1024, KeyBytes = 24;

    /// <summary>What a cell is called, its popularity, and how long its keys live.</summary>
    private static readonly (string Title, string Popularity, string? Ttl)[] Panels =
    [
        ("zipf 0.99", "zipf:0.99", null),
        ("zipf 1.2", "zipf:1.2", null),
        ("zipf 0.99 and a scan", "zipf:0.99+scan:20%", null),
        ("hot set that moves", "zipf:0.99+move:$period", null),
        ("zipf 0.99, keys expire", "zipf:0.99", "$period"),
    ];

    /// <summary>maxmemory, of the bytes of all keys and values.</summary>
    private static readonly double[] Shares = [0.05, 0.1, 0.2, 0.4];

    private readonly TextWriter _output = verb.Quiet ? TextWriter.Null : surroundings.Output;

    private sealed record Size(long Keys, int Seconds);

    /// <returns>The exit code.</returns>
    public int Run()
    {
        Size size = verb.Profile switch
        {
            "full" => new Size(10_000_000, 90),
            "laptop" => new Size(1_000_000, 20),
            "smoke" => new Size(200_000, 3),
            _ => throw new UsageException($"--profile takes full, laptop or smoke, not '{verb.Profile}'"),
        };
        RunVerb[] panels = [.. Panels.Select(panel => OptionsOf(panel.Popularity, panel.Ttl, size))];
        using var targets = new TargetSet(verb);
        int cells = panels.Sum(panel => CellGrid.Read(panel, null).Count) * targets.All.Count;
        _output.WriteLine(string.Create(CultureInfo.InvariantCulture,
            $"Resp.benchmark suite {Name}, profile {verb.Profile}: {Shows}; {cells} cells of {panels[0].Duration}"));
        if (verb.DryRun) return ExitCode.Ok;
        if (verb.PinClient is { } cores) Affinity.Pin(CoreList.Parse("--pin-client", cores));
        return Measure(panels, targets);
    }

    private int Measure(RunVerb[] panels, TargetSet targets)
    {
        var report = new RunReport(verb, surroundings, targets) { Title = $"{Name}, {verb.Profile}: {Shows}" };
        targets.Open();
        if (!verb.Flush && targets.All.FirstOrDefault(HoldsKeys) is { } occupied)
        {
            surroundings.Note(
                $"suite refused: {occupied.Name} holds keys and a suite empties its targets; --flush allows it");
            return ExitCode.Usage;
        }

        foreach (Target target in targets.All)
        {
            TargetWatch watch = targets.WatchOf(target);
            string policy = watch.Facts.Config.GetValueOrDefault("maxmemory-policy") ?? "unknown";
            _output.WriteLine($"target {target.Name} {target.Address} ({watch.Facts.Name}, {policy})");
            if (policy == "noeviction") report.Warnings = [.. report.Warnings,
                $"{target.Name}: maxmemory-policy is noeviction: what does not fit is refused"];
        }

        foreach (string warning in report.Warnings) _output.WriteLine($"WARN {warning}");
        CellRunner runner = CellRunner.Of(verb, surroundings);
        var table = ConsoleTable.Of(verb, surroundings);
        var cells = new List<CellReport>();
        foreach ((RunVerb options, string title) in panels.Zip(Panels, (options, panel) => (options, panel.Title)))
        {
            if (surroundings.Interrupt.Requested) break;
            _output.WriteLine($"\n{title}");
            table.Head();
            var scenario = new ScenarioRunner(Scenario.Find(Name), options, surroundings, runner.Live);
            var panel = new PanelRun(options, targets, runner, surroundings) { Scenario = scenario, Title = title };
            cells.AddRange(panel.Run(table));
        }

        return report.Finish(cells);
    }

    private RunVerb OptionsOf(string popularity, string? ttl, Size size)
    {
        RunVerb options = verb.Copy();
        int period = Math.Max(1, size.Seconds / 4);
        options.Scenario = Name;
        options.Flush = true;
        options.Keys = size.Keys;
        options.Value = string.Create(CultureInfo.InvariantCulture, $"{LeastBytes}-{MostBytes}");
        options.Distribution = popularity.Replace("$period", $"{period}s", StringComparison.Ordinal);
        options.Ttl = ttl?.Replace("$period", $"{period}-{2 * period}", StringComparison.Ordinal);
        if (options.Sessions == "1") options.Sessions = "8";
        if (options.Depths == "1") options.Depths = "16";
        if (options.Duration == "15s") options.Duration = $"{size.Seconds}s";
        options.Warmup = "0";
        double bytes = size.Keys * (KeyBytes + ((LeastBytes + MostBytes) / 2.0));
        options.MaxMemory ??= string.Join(',', Shares.Select(share => $"{(long)(share * bytes / (1 << 20))}mb"));
        return options;
    }

    private static bool HoldsKeys(Target target)
    {
        using ControlConnection control = ControlConnection.Open(target);
        return control.Send("DBSIZE") is { IsError: false, Integer: > 0 };
    }
}

using System.Globalization;
using RespBenchmark.CommandLine;
using RespBenchmark.Native;

namespace RespBenchmark.Suites;

/// <summary>A server as far as a plan must know it.</summary>
/// <param name="RecordOverhead">Bytes that it keeps beside key and value.</param>
/// <param name="IsHere">Its memory is this machine's.</param>
internal sealed record PlannedTarget(string Name, long RecordOverhead = PlannedTarget.UsualOverhead, bool IsHere = true)
{
    public const long UsualOverhead = 90, KvOverhead = 34;
}

/// <summary>A panel at its scale: the options it runs with, and what it takes.</summary>
/// <param name="Cells">For each target.</param>
/// <param name="Seconds">Of a cell.</param>
internal sealed record PlannedPanel(SuitePanel Panel, RunVerb Options, int Cells, int Seconds, TimeSpan Time,
    IReadOnlyList<long> ServerBytes, long ClientBytes);

/// <summary>What a suite takes, before it runs.</summary>
internal sealed class SuitePlan
{
    // Assumed of any server: a plan that is wrong by half is still a plan.
    private const double LoadPerSecond = 1_000_000, LoadByTemplatePerSecond = 200_000, GrowthPerSecond = 200_000;
    private const long SketchBytes = 12 * 1024, ClientBaseBytes = 64 << 20, SessionBytes = 64 * 1024,
        InflightBytes = 16, LoadCommandBytes = 16 << 20;
    private const int LoadBatch = 4096, ScaleMax = 1 << 24;

    private readonly Suite _suite;
    private readonly RunVerb _verb;
    private readonly IReadOnlyList<PlannedTarget> _targets;

    public SuitePlan(Suite suite, SuiteProfile profile, RunVerb verb, IReadOnlyList<PlannedTarget> targets)
    {
        (_suite, Profile, _verb, _targets) = (suite, profile, verb, targets);
        Panels = [.. suite.Panels.Select(Plan)];
        long[] held = new long[targets.Count], most = new long[targets.Count];
        foreach (PlannedPanel panel in Panels)
        {
            for (int target = 0; target < held.Length; target++)
            {
                held[target] = panel.ServerBytes[target] + (panel.Panel.KeepsData ? held[target] : 0);
                most[target] = Math.Max(most[target], held[target]);
            }
        }

        ServerBytes = most;
    }

    public SuiteProfile Profile { get; }

    public IReadOnlyList<PlannedPanel> Panels { get; }

    public TimeSpan Time => new(_suite.Passes.Count * Panels.Sum(panel => panel.Time.Ticks));

    /// <summary>Of each target.</summary>
    public int Cells => _suite.Passes.Count * Panels.Sum(panel => panel.Cells);

    /// <summary>The most that each target holds at a time.</summary>
    public IReadOnlyList<long> ServerBytes { get; }

    public long ClientBytes => Panels.Max(panel => panel.ClientBytes);

    /// <summary>Of this machine: the client and the targets that run here, which hold their data until it is their turn
    /// again.</summary>
    public long BytesHere =>
        ClientBytes + _targets.Select((target, index) => target.IsHere ? ServerBytes[index] : 0).Sum();

    /// <summary>Why the plan cannot run in this much memory, and what could; null: it can.</summary>
    public string? Refusal(long available)
    {
        if (BytesHere <= available) return null;
        string needs =
            $"{_suite.Name} --profile {Profile.Name} needs about {Size(BytesHere)}, {Size(available)} are available";
        for (long scale = 2; scale <= ScaleMax; scale *= 2)
        {
            if (scale <= Profile.Divisor) continue;
            var smaller = new SuitePlan(_suite, Profile with { Divisor = scale }, _verb, _targets);
            if (smaller.BytesHere <= available)
                return string.Create(CultureInfo.InvariantCulture,
                    $"{needs}; --scale {scale} fits ({Size(smaller.BytesHere)})");
        }

        return needs + "; no scale fits";
    }

    public static string Size(long bytes) => bytes >= 1 << 30
        ? string.Create(CultureInfo.InvariantCulture, $"{bytes / (double)(1 << 30):F1} GiB")
        : string.Create(CultureInfo.InvariantCulture, $"{Math.Max(1, bytes >> 20)} MiB");

    private PlannedPanel Plan(SuitePanel panel)
    {
        RunVerb options = Options(panel);
        IReadOnlyList<int> sessions = Profile.SessionsOf(panel);
        int cells = sessions.Count * panel.Depths.Count;
        long keys = Profile.KeysOf(panel), stored = panel.LoadTemplate is null ? keys : Profile.NumbersOf(panel)
            .Of(panel.LoadSize);
        double seconds = Profile.SecondsOf(panel) + Seconds(options.Warmup) + Seconds(options.Cooldown);
        double load = panel.SkipsLoad
            ? 0 : stored / (panel.LoadTemplate is null ? LoadPerSecond : LoadByTemplatePerSecond);
        double time = _targets.Count * ((cells * _verb.Repetitions * seconds) + load);

        long record = panel.KeyBytes + panel.ValueBytes;
        double grown = panel.Grows ? GrowthPerSecond * cells * _verb.Repetitions * (
            Profile.SecondsOf(panel) + Seconds(options.Warmup)) * (panel.ValueBytes + 16) : 0;
        long[] server =
            [.. _targets.Select(target =>
                (panel.IsHyperLogLog ? keys * SketchBytes : stored * (record + target.RecordOverhead)) + (long)grown)];
        long batch = panel.SkipsLoad ? 0 : Math.Min(LoadCommandBytes, Math.Min(LoadBatch, stored) * (record + 32));
        long client = ClientBaseBytes + (sessions.Max() * (SessionBytes + (panel.Depths.Max() * InflightBytes)))
            + (_verb.LoadSessions * batch);
        return new PlannedPanel(panel, options, cells, Profile.SecondsOf(panel), TimeSpan.FromSeconds(time),
            server, client);
    }

    /// <summary>The options that run a panel, on top of the suite's own.</summary>
    private RunVerb Options(SuitePanel panel)
    {
        TemplateNumbers numbers = Profile.NumbersOf(panel);
        RunVerb options = _verb.Copy();
        options.Op = panel.Mix is null && panel.Template is null ? panel.Op : null;
        options.Mix = panel.Mix;
        options.Commands = panel.Template is { } template ? [numbers.In(template)] : [];
        options.CommandFile = null;
        options.Keys = numbers.Keys;
        options.KeyFormat = panel.KeyFormat;
        options.KeyLength = panel.KeyFormat == "garnet" ? panel.KeyBytes : null;
        options.Distribution = "uniform";
        options.Value = Text(panel.ValueBytes);
        options.Data = "random";
        options.Ttl = null;
        options.Load = panel.SkipsLoad ? "none" : "auto";
        options.LoadCommand = panel.LoadTemplate is { } load ? numbers.In(load) : null;
        options.LoadCount = panel.LoadTemplate is null ? null : numbers.Of(panel.LoadSize);
        options.Flush = !panel.KeepsData;
        options.Sessions = _verb.Sessions == "1" ? string.Join(',', Profile.SessionsOf(panel)) : _verb.Sessions;
        options.Depths = string.Join(',', panel.Depths);
        options.Mode = panel.IsBatch ? "batch" : "window";
        options.Loops = panel.Loops > 0 && Profile.Name == "full" ? Text(panel.Loops) : _verb.Loops;
        options.Duration = Text(Profile.SecondsOf(panel)) + "s";
        options.Ops = Profile.CommandsOf(panel);
        options.Warmup = Profile.Warmup;
        options.Cooldown = Profile.Cooldown;
        options.Rate = null;
        return options;
    }

    private static double Seconds(string duration) => DurationText.Parse("--duration", duration).TotalSeconds;

    private static string Text(long number) => number.ToString(CultureInfo.InvariantCulture);
}

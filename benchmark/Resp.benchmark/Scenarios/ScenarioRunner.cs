using System.Globalization;
using RespBenchmark.CommandLine;
using RespBenchmark.Engine;
using RespBenchmark.Measure;
using RespBenchmark.Native;
using RespBenchmark.Network;
using RespBenchmark.Reports;
using RespBenchmark.Saturation;
using RespBenchmark.Suites;
using RespBenchmark.Workload;

namespace RespBenchmark.Scenarios;

/// <summary>Runs repetitions of a scenario as the options of a verb say.</summary>
internal sealed class ScenarioRunner
{
    private const int ValueBytesMax = 1 << 24;

    private readonly Scenario _scenario;
    private readonly RunVerb _verb;
    private readonly Surroundings _surroundings;
    private readonly LiveLine _live;
    private readonly int? _peers;
    private readonly int _valueBytes;
    private readonly Sizes _sizes;
    private readonly Sizes? _ttl;
    private readonly Trace? _trace;
    private readonly Distribution _distribution;

    /// <exception cref="UsageException">An option does not go with it.</exception>
    public ScenarioRunner(Scenario scenario, RunVerb verb, Surroundings surroundings, LiveLine live)
    {
        (_scenario, _verb, _surroundings, _live) = (scenario, verb, surroundings, live);
        Refuse(verb.Op is not null || verb.Mix is not null || verb.Commands.Any()
            || verb.CommandFile is not null, "it says itself what is sent: not --op, --mix, --cmd");
        Refuse(verb.Calibrate || verb.Probe, "--calibrate and --probe are for plain operations");
        Refuse(verb.Verify != "frame",
            "--verify is for plain operations; txn, lua and lock count lost updates by themselves");
        Refuse(verb.Omission != "intended", "--co is for plain operations");
        Refuse(!OperatingSystem.IsLinux(), "it needs Linux");
        Refuse(verb.Peers is not null && !scenario.HasPeers,
            "it has one role, --peers is for pubsub, blocking and stream-group");
        Refuse(verb.Peers is < 1 or > 100_000, "--peers takes a number from 1 to 100000");
        Refuse(!scenario.TakesDepth && verb.Depths != "1", "a session does one thing at a time: not --depth");
        Refuse(verb.Sessions == "auto", "--conns takes numbers here");
        Refuse(verb.Keys < 1, "--keys takes a number from 1");
        _peers = verb.Peers;
        Refuse(!scenario.TakesSizes && (verb.Ttl is not null || verb.Trace is not null),
            "--ttl and --trace are for cache");
        if (scenario.TakesSizes)
        {
            _sizes = Sizes.Parse(verb.Value);
            Refuse(_sizes.Max > ValueBytesMax, $"--value takes bytes to {ValueBytesMax} here, not '{verb.Value}'");
            _ttl = verb.Ttl is { } ttl ? Sizes.Parse(ttl) : null;
            _trace = verb.Trace is { } path ? Trace.Open(path) : null;
        }
        else
        {
            _valueBytes = int.TryParse(verb.Value, NumberStyles.None, CultureInfo.InvariantCulture, out int bytes)
                && bytes <= ValueBytesMax ? bytes
                : throw Wrong($"--value takes bytes to {ValueBytesMax} here, not '{verb.Value}'");
            _sizes = Sizes.Of(_valueBytes);
        }

        _distribution = Distribution.Parse(verb.Distribution);
    }

    public string Name => _scenario.Name;

    /// <summary>Who does what with what.</summary>
    public string About => _trace is { } trace
        ? string.Create(CultureInfo.InvariantCulture, $"{trace.Count:N0} requests of {_verb.Trace}")
        : _scenario.TakesSizes ? string.Create(CultureInfo.InvariantCulture,
            $"{_verb.Distribution} over {_verb.Keys:N0} keys, {_verb.Value} B values"
            + $"{(_verb.Ttl is { } ttl ? $", {ttl} s to live" : "")}")
        : _scenario.Keyed
        ? string.Create(CultureInfo.InvariantCulture, $"{_verb.Distribution} over {_verb.Keys:N0} keys")
        : string.Create(CultureInfo.InvariantCulture,
            $"{(_peers is { } peers ? $"{peers}" : "as many")} {_scenario.PeerName}, messages of "
            + $"{Math.Max(Stamp.BytesMin, _valueBytes)} B");

    /// <summary>Why a target cannot run it; null: it can.</summary>
    /// <exception cref="ConnectException">The target cannot be reached.</exception>
    public string? Missing(Target target)
    {
        Refuse(target.Tls is not null, "it needs plain TCP or a unix socket, not TLS");
        return CommandProbe.Missing(target, _scenario.Commands);
    }

    /// <summary>Measures once.</summary>
    /// <param name="plan">Everything but what is sent.</param>
    public (Repetition Repetition, Verdict Verdict) Run(TargetWatch watch, CellPlan plan, string label)
    {
        if (_trace is not null)
        {
            // Whole, from its begin: it is its own warm-up.
            _trace.Rewind();
            plan = plan with { Warmup = TimeSpan.Zero };
            if (_verb.Ops is null) plan = plan with { Duration = TimeSpan.Zero, Commands = _trace.Count };
        }

        using ScenarioRun run = ScenarioRun.Connect(_scenario, plan, StageOf(plan));
        using IDisposable attached = _surroundings.Interrupt.OnRequest(run.Stop);
        run.WarmUp(plan.Warmup);
        using ResourceMonitor monitor = watch.Begin();
        DateTimeOffset started = _surroundings.Clock.GetUtcNow();
        ShareLog? shares = _scenario.Share is { } share
            ? new ShareLog(share, DurationText.Parse("--interval", _verb.Interval)) : null;
        run.Begin();
        while (!run.Wait(_live.Period))
        {
            shares?.Look(run.Elapsed, run.CountOf);
            _live.Show(label, run.Elapsed, plan.Duration, run.Counters);
        }

        shares?.Look(run.Elapsed, run.CountOf, isLast: true);
        ResourceUse use = monitor.Stop();
        _live.Clear();
        Measurement measured = run.Finish();
        if (_verb.Hdr is { } folder)
        {
            using var files = new HdrFiles(folder, label, started, $"Resp.benchmark {ProgramName.Version}");
            files.Add(measured.Kinds[0].Name, TimeSpan.Zero, measured.Elapsed, measured.Service);
        }

        Repetition repetition = use.AddTo(Repetition.Of(measured)) with
        {
            Scenario = new ScenarioReport
            {
                Name = _scenario.Name,
                Figures = Figures(run.Figures(measured), shares),
                Share = shares?.Report(),
                Latencies = measured.Kinds.ToDictionary(kind => kind.Name, kind => LatencySummary.Of(kind.Service)),
            },
        };
        return (repetition, watch.Judge(plan, measured, use));
    }

    private static Dictionary<string, double> Figures(IReadOnlyDictionary<string, double> figures, ShareLog? shares)
    {
        var all = shares?.Figures().ToDictionary() ?? [];
        foreach ((string name, double value) in figures) all[name] = value;
        return all;
    }

    private ScenarioStage StageOf(CellPlan plan) => new(plan.Sessions, _scenario.HasPeers ? _peers ?? plan.Sessions : 0,
        plan.Arrivals is { } arrivals && _scenario.TakesDepth ? arrivals.InflightMax : plan.Depth, _valueBytes,
        _verb.Keys, _distribution, plan.Seed,
        // Not from the seed: two clients with the same options may load one server.
        Guid.NewGuid().ToString("N")[..8])
    {
        Sizes = _sizes, Ttl = _ttl, Trace = _trace,
    };

    private void Refuse(bool isWrong, string why)
    {
        if (isWrong) throw Wrong(why);
    }

    private UsageException Wrong(string why) => new($"--scenario {_scenario.Name}: {why}");
}

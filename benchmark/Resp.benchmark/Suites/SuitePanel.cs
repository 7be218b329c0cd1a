namespace RespBenchmark.Suites;

/// <summary>One panel of a suite as it was published: an operation, its data and the axis that is drawn.</summary>
/// <param name="Op">Without <see cref="Mix"/> and <see cref="Template"/> the operation's name.</param>
internal sealed record SuitePanel(string Op)
{
    /// <summary>What reports call it.</summary>
    public string Title { get; init; } = Op.ToUpperInvariant();

    /// <summary>Latency of a mix on an empty database, in rows of two seconds; several operations outstanding are timed
    /// as one group.</summary>
    public bool IsOnline { get; init; }

    /// <summary>GET:80,SET:20; null: none.</summary>
    public string? Mix { get; init; }

    /// <summary>A command with $keys, $outer, $inner, $members in the place of scaled numbers; null: the operation says
    /// it.</summary>
    public string? Template { get; init; }

    /// <summary>What loads, in the same form; null: the operation's own load.</summary>
    public string? LoadTemplate { get; init; }

    /// <summary>How many commands the load is; of <see cref="LoadTemplate"/> only.</summary>
    public LoadSize LoadSize { get; init; }

    /// <summary>Keys; members of all keys where a key holds many.</summary>
    public long Keys { get; init; } = 1024;

    public string KeyFormat { get; init; } = "garnet";

    public int KeyBytes { get; init; } = 8;

    public int ValueBytes { get; init; } = 8;

    public IReadOnlyList<int> Sessions { get; init; } = SuiteTable.ToAHundredAndTwentyEight;

    public IReadOnlyList<int> Depths { get; init; } = [1];

    /// <summary>Send the whole batch, then wait for all; else keep as much outstanding.</summary>
    public bool IsBatch { get; init; } = true;

    public int Seconds { get; init; } = 15;

    /// <summary>Commands instead of seconds, in the full profile; null: seconds.</summary>
    public long? Commands { get; init; }

    public bool SkipsLoad { get; init; }

    /// <summary>Goes on with what the panel before left.</summary>
    public bool KeepsData { get; init; }

    /// <summary>Each command adds to what is stored: the time bounds it, not the keys.</summary>
    public bool Grows { get; init; }

    /// <summary>Each key becomes a dense HyperLogLog.</summary>
    public bool IsHyperLogLog { get; init; }

    /// <summary>Client threads; 0: as many as fit.</summary>
    public int Loops { get; init; }
}

/// <summary>Commands of a load by template.</summary>
internal enum LoadSize
{
    /// <summary>One a key.</summary>
    Keys,

    /// <summary>One for each pair of $outer and $inner, which have no common divisor: every pair is written
    /// once.</summary>
    Pairs,

    /// <summary>$members for each of $outer lists.</summary>
    Lists,
}

/// <summary>A named set of panels that reproduces a published table or figure.</summary>
/// <param name="Seed">The document: 000 to 004.</param>
/// <param name="Shows">What it reproduces.</param>
internal sealed record Suite(string Name, string Seed, string Shows, IReadOnlyList<SuitePanel> Panels)
{
    /// <summary>What a reader must know: what was inferred, what is shown otherwise.</summary>
    public IReadOnlyList<string> Notes { get; init; } = [];

    /// <summary>How often all panels run, and what differs.</summary>
    public IReadOnlyList<SuitePass> Passes { get; init; } = [SuitePass.Only];

    /// <summary>Drawn over a logarithmic axis, as the original's figure is.</summary>
    public bool IsLogarithmic { get; init; }

    /// <summary>Shows what perf stat counts of the client.</summary>
    public bool ShowsCounters { get; init; }
}

/// <summary>One run of a suite's panels.</summary>
/// <param name="Name">Added to what panels are called; null: nothing, there is only one.</param>
/// <param name="IoThreads">Of servers that have them, by the cores they may use; null: as they are.</param>
/// <param name="IsMost">Fewer are as good.</param>
internal sealed record SuitePass(string? Name, Func<int, int>? IoThreads = null, bool IsMost = false)
{
    public static readonly SuitePass Only = new(null, null);

    public string TitleOf(SuitePanel panel) => Name is null ? panel.Title : $"{panel.Title}, {Name}";
}

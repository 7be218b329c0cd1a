namespace RespBenchmark.Reports;

// The classes of this file and the next are the JSON file, schema 1: a property's name in snake case is the field's.
// Fields are only ever added, and may be absent when read: whoever reads an old file gets the default.

/// <summary>All that a run measured, about whom, and under which circumstances.</summary>
internal sealed record Report
{
    public const int SchemaVersion = 1;
    public const string ScaledWatermark = "scaled: not comparable with the published figures";

    public int Schema { get; init; } = SchemaVersion;

    /// <summary>Name and version of this program.</summary>
    public string Tool { get; init; } = "";

    /// <summary>What heads the pages; null: the command line.</summary>
    public string? Title { get; init; }

    public IReadOnlyList<string> Argv { get; init; } = [];

    public string Grammar { get; init; } = "native";

    public DateTimeOffset Started { get; init; }

    /// <summary>Shown on every table and chart; null: none.</summary>
    public string? Watermark { get; init; }

    public HostReport Host { get; init; } = new();

    public IReadOnlyList<TargetReport> Targets { get; init; } = [];

    public IReadOnlyList<CellReport> Cells { get; init; } = [];

    public IReadOnlyList<Comparison> Comparisons { get; init; } = [];

    /// <summary>Of the run as a whole; a cell has its own.</summary>
    public IReadOnlyList<string> Warnings { get; init; } = [];

    /// <summary>The results in the words of the document that a suite reproduces.</summary>
    public IReadOnlyList<PublishedText> Published { get; init; } = [];

    /// <summary>Throughput is drawn over a logarithmic axis, however close the figures are.</summary>
    public bool LogThroughput { get; init; }

    /// <summary>Tables show what perf stat counts of the client.</summary>
    public bool Counters { get; init; }
}

/// <summary>A text as a published benchmark printed it, of ours.</summary>
/// <param name="Title">Of which server, and the command line that it stands for.</param>
internal sealed record PublishedText(string Title, string Text);

/// <summary>The machine the client ran on. Null: not known.</summary>
internal sealed record HostReport
{
    public string? Cpu { get; init; }

    public int Cores { get; init; }

    public string? Governor { get; init; }

    public string? Kernel { get; init; }

    /// <summary>Kind of virtual machine or container.</summary>
    public string? Virt { get; init; }

    /// <summary>The share of time taken by other guests, 0 to 1.</summary>
    public double? Steal { get; init; }
}

/// <summary>A server that was loaded.</summary>
internal sealed record TargetReport
{
    public string Name { get; init; } = "A";

    public string Addr { get; init; } = "";

    /// <summary>Product and version in words.</summary>
    public string? Product { get; init; }

    /// <summary>Chosen fields of INFO and CONFIG GET, as the server spells them.</summary>
    public IReadOnlyDictionary<string, string> Info { get; init; } = new Dictionary<string, string>();

    public IReadOnlyDictionary<string, string> Config { get; init; } = new Dictionary<string, string>();

    public int? Pid { get; init; }

    /// <summary>The cores it may use, as the system writes lists.</summary>
    public string? Cpus { get; init; }

    /// <summary>What started it, if we did.</summary>
    public string? Start { get; init; }
}

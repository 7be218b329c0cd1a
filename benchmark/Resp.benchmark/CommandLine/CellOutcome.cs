using RespBenchmark.Engine;
using RespBenchmark.Measure;
using RespBenchmark.Saturation;

namespace RespBenchmark.CommandLine;

/// <summary>A cell that was run: what files about the run are written from.</summary>
internal sealed record CellOutcome
{
    /// <summary>An operation's name, a mix or a template.</summary>
    public required string Op { get; init; }

    public required CellPlan Plan { get; init; }

    public required Measurement Measurement { get; init; }

    public long Keys { get; init; }

    /// <summary>Value bytes as asked for.</summary>
    public string Value { get; init; } = "";

    public string Distribution { get; init; } = "uniform";

    /// <summary>What both sides used meanwhile; null: not watched.</summary>
    public ResourceUse? Use { get; init; }

    public Verdict Verdict { get; init; }

    /// <summary>What the client alone reaches, over what was measured; null: not calibrated.</summary>
    public double? Headroom { get; init; }
}

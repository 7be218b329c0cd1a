using System.Text.Json.Serialization;

namespace RespBenchmark.Reports.Page;

/// <summary>A part of the page: its charts, in variants of which one is shown at a time.</summary>
internal sealed record ChartSection(string Id, string Title, string Note, IReadOnlyList<ChartVariant> Variants);

internal sealed record ChartVariant(string Name, IReadOnlyList<Chart> Charts);

/// <summary>What report.js draws: bars and stack over categories, lines over numbers, ratio as points with
/// intervals.</summary>
internal sealed record Chart
{
    /// <summary>bars, stack, lines or ratio.</summary>
    public required string Kind { get; init; }

    public string Title { get; init; } = "";

    public required string XLabel { get; init; }

    public required string YLabel { get; init; }

    public bool XLog { get; init; }

    public bool YLog { get; init; }

    /// <summary>The names of x 0, 1, 2 …; null: x is a number.</summary>
    public IReadOnlyList<string>? Categories { get; init; }

    /// <summary>Where x is marked, if not at round numbers.</summary>
    public IReadOnlyList<ChartMark>? XTicks { get; init; }

    /// <summary>Upright lines with a word.</summary>
    public IReadOnlyList<ChartMark>? Markers { get; init; }

    public required IReadOnlyList<ChartSeries> Series { get; init; }
}

/// <param name="Color">Which of the page's eight.</param>
/// <param name="Dash">0 full, 1 dashed, 2 dotted.</param>
internal sealed record ChartSeries(string Name, int Color, int Dash, IReadOnlyList<ChartPoint> Points);

/// <param name="Low">The ends of the interval; null: none is known.</param>
/// <param name="Hatched">Not the server's figure.</param>
/// <param name="Label">x in words, where it is no category and not to be read as a number.</param>
internal sealed record ChartPoint(double X, double? Y, double? Low = null, double? High = null, bool Hatched = false,
    string? Note = null, string? Label = null);

internal sealed record ChartMark(double X, string Label);

// The default encoder, unlike that of files: it escapes <, so that no text can end the script element it lies in.
[JsonSourceGenerationOptions(PropertyNamingPolicy = JsonKnownNamingPolicy.SnakeCaseLower,
    DefaultIgnoreCondition = JsonIgnoreCondition.WhenWritingNull)]
[JsonSerializable(typeof(IReadOnlyList<ChartSection>))]
internal sealed partial class ChartContext : JsonSerializerContext;

namespace RespBenchmark.Workload;

/// <summary>A stretch of a command that is drawn and written as one: all of a simple command; of an MSET its beginning,
/// then each key and value.</summary>
internal sealed class Section
{
    public required IReadOnlyList<Field> Fields { get; init; }

    /// <summary>The place of its first field among the unit's draws.</summary>
    public required int FirstPlace { get; init; }

    public required Step[] Steps { get; init; }

    /// <summary>How often it stands in the command.</summary>
    public required long Times { get; init; }

    /// <summary>The command it belongs to, by its number in the unit; and whether that ends with it.</summary>
    public required int Command { get; init; }

    public bool EndsCommand { get; set; }

    public bool BeginsCommand { get; set; }

    /// <summary>The number of its first piece in the unit: each time counts as one.</summary>
    public long FirstPiece { get; set; }

    /// <summary>The place of the command's key among the draws; −1: this section has none.</summary>
    public int KeyPlace { get; set; } = -1;

    /// <summary>All its bytes with gaps for the fields, when every field has a constant width and all fit one image;
    /// else null.</summary>
    public byte[]? Fixed { get; set; }

    /// <summary>Where in <see cref="Fixed"/> each field stands, and its width.</summary>
    public (int Offset, int Width)[] Gaps { get; set; } = [];

    /// <summary>The most bytes it takes once.</summary>
    public long BytesMax { get; set; }
}

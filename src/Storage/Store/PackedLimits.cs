namespace Kv.Storage;

/// <summary>Up to what size a collection is kept packed in its record, as Redis' options of the same names say. May
/// change at any time.</summary>
/// <remarks>Threads: written by one, read by any; a change counts for what is written afterwards.</remarks>
public sealed class PackedLimits
{
    /// <summary>Most fields of a packed hash, and most bytes of a field or value.</summary>
    public long HashEntries { get; set; } = 512;
    public long HashBytes { get; set; } = 64;

    /// <summary>Most members of a set of integers that is kept as an array.</summary>
    public long IntegerSetEntries { get; set; } = 512;

    /// <summary>Most members of a packed set, and most bytes of one.</summary>
    public long SetEntries { get; set; } = 128;
    public long SetBytes { get; set; } = 64;

    /// <summary>Most members of a packed sorted set, and most bytes of one.</summary>
    public long SortedSetEntries { get; set; } = 128;
    public long SortedSetBytes { get; set; } = 64;

    /// <summary>Size of a list's node: positive: elements, -1 to -5: 4 KB to 64 KB.</summary>
    public long ListSize { get; set; } = -2;

    /// <summary>Most bytes, as Redis counts them, and most entries of a stream's leaf; 0: any number.</summary>
    public long StreamNodeBytes { get; set; } = 4096;
    public long StreamNodeEntries { get; set; } = 100;

    /// <summary>What a value may hold until its command ends: some of what is added may be there already.</summary>
    public static long Twice(long limit) => limit > long.MaxValue / 2 ? long.MaxValue : 2 * limit;

    /// <summary>Limits of its own with the same values.</summary>
    public PackedLimits Copy() => (PackedLimits)MemberwiseClone();
}

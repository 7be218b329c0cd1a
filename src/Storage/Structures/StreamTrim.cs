namespace Kv.Storage;

/// <summary>What to remove from the front of a stream.</summary>
internal struct StreamTrim
{
    /// <summary>By ids below <see cref="MinId"/>; else down to <see cref="MaxLength"/> entries.</summary>
    public bool IsByAge;

    /// <summary>Whole leaves only, and stop where one would have to be divided.</summary>
    public bool IsApproximate;

    public long MaxLength;

    public StreamId MinId;

    /// <summary>Look at no more entries than these; 0: any number.</summary>
    public long Limit;
}

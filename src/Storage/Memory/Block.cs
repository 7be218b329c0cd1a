namespace Kv.Storage;

/// <summary>A handle of one large value in memory of its own: counted references, received and sent without a copy.</summary>
public readonly unsafe struct Block
{
    internal readonly byte* Start;
    internal Block(byte* start) => Start = start;
    public bool IsNone => Start == null;
    /// <summary>Bytes of content.</summary>
    public long Length { get => throw null!; }
    /// <summary>First byte of the content; stable while a reference is held.</summary>
    public byte* Content => throw null!;
    /// <summary>Bytes that the content may grow to without moving.</summary>
    public long Capacity => throw null!;
    public ReadOnlySpan<byte> Span => throw null!;
    public void AddReference() => throw null!;
}

namespace Kv.Storage;

/// <summary>Counts, and writes what it found into the header.</summary>
internal struct CountHyperLogLog : IValueUpdate
{
    private long _cardinality;

    public HyperLogLogStatus Status { get; private set; }

    public readonly long Cardinality => _cardinality;

    /// <inheritdoc/>
    public Change Decide(in ValueView current, ref NewValue next)
    {
        Status = HyperLogLogStatus.Ok;
        _cardinality = 0;
        if (!current.Exists) return Change.None;
        ReadOnlySpan<byte> text = RegisterUnion.TextOf(current);
        if (HyperLogLog.TryReadEncoding(text, out _) && HyperLogLog.TryReadCardinality(text, out _cardinality))
            return Change.None;
        Status = HyperLogLog.Count(text, out _cardinality);
        return Status == HyperLogLogStatus.Ok ? HyperLogLogChange.InPlace(current, ref next) : Change.None;
    }

    /// <inheritdoc/>
    public readonly void Write(Span<byte> destination) => HyperLogLog.WriteCardinality(destination, _cardinality);
}

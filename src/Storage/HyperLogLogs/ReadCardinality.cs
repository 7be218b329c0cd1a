namespace Kv.Storage;

/// <summary>The cardinality that a header knows.</summary>
internal struct ReadCardinality : IValueRead
{
    public HyperLogLogStatus Status { get; set; }

    public long Cardinality { get; set; }

    /// <summary>False: the value is good, but has to be counted.</summary>
    public bool IsKnown { get; private set; }

    /// <inheritdoc/>
    public void Read(in ValueView value)
    {
        ReadOnlySpan<byte> text = RegisterUnion.TextOf(value);
        bool isOne = HyperLogLog.TryReadEncoding(text, out _);
        Status = isOne ? HyperLogLogStatus.Ok : HyperLogLogStatus.NotOne;
        long cardinality = 0;
        IsKnown = !isOne || HyperLogLog.TryReadCardinality(text, out cardinality);
        Cardinality = cardinality;
    }
}

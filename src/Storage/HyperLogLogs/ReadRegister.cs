namespace Kv.Storage;

/// <summary>Whether the register of one element is high enough already; only of a dense value.</summary>
internal struct ReadRegister : IValueRead
{
    /// <summary>What the element is to a HyperLogLog.</summary>
    public HyperLogLog.Observation Seen;

    public bool IsHighEnough { get; private set; }

    /// <inheritdoc/>
    public void Read(in ValueView value)
    {
        ReadOnlySpan<byte> text = RegisterUnion.TextOf(value);
        IsHighEnough = text.Length == HyperLogLog.DenseBytes
            && HyperLogLog.TryReadEncoding(text, out var encoding) && encoding == HyperLogLogEncoding.Dense
            && DenseRegisters.Get(text[HyperLogLog.HeaderBytes..], Seen.Register) >= Seen.Rank;
    }
}

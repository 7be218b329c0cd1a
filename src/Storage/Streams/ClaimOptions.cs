namespace Kv.Storage;

/// <summary>What a claim makes of the entries that it takes over. The default: just delivered, once more than
/// before.</summary>
public readonly record struct ClaimOptions
{
    /// <summary>When they were delivered, unix ms, as it is to be said; not later than now. Null: now.</summary>
    public long? DeliveredMs { get; init; }

    /// <summary>How often they were delivered, as it is to be said. Null: once more than before.</summary>
    public long? Deliveries { get; init; }

    /// <summary>Claims entries of the stream that are not pending with anybody, too, where they are named.</summary>
    public bool AlsoNotPending { get; init; }
}

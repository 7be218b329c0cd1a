namespace Kv.Storage;

/// <summary>Which pending entries a claim takes over, and what is said of them then.</summary>
internal struct StreamClaimTerms
{
    /// <summary>How many pending entries a walk looks at for each that it may give.</summary>
    public const int LooksEach = 10;

    /// <summary>Only what was delivered so long ago, at least.</summary>
    public long IdleMs;

    /// <summary>When it was delivered, to be noted.</summary>
    public long DeliveredMs;

    /// <summary>How often, to be noted; -1: what it was, and <see cref="IsDelivery"/>.</summary>
    public long Deliveries;

    /// <summary>Counts as delivered once more.</summary>
    public bool IsDelivery;

    /// <summary>What is not pending becomes so.</summary>
    public bool IsForced;
}

/// <summary>What became of an entry that was to be claimed.</summary>
internal enum StreamClaimOutcome
{
    /// <summary>It stays as it is.</summary>
    Passed,

    /// <summary>It was deleted, and is pending no more.</summary>
    Gone,

    /// <summary>It is the consumer's.</summary>
    Claimed,
}

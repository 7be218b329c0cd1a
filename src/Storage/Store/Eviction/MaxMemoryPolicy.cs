namespace Kv.Storage;

/// <summary>What happens when a write would exceed the store's memory.</summary>
public enum MaxMemoryPolicy
{
    /// <summary>Keys with an expiry that have not been used of late are evicted.</summary>
    VolatileLru,

    /// <summary>Keys with an expiry that are seldom used are evicted.</summary>
    VolatileLfu,

    /// <summary>Any keys with an expiry are evicted.</summary>
    VolatileRandom,

    /// <summary>Keys whose time passes soon are evicted.</summary>
    VolatileTtl,

    /// <summary>Keys that have not been used of late are evicted.</summary>
    AllKeysLru,

    /// <summary>Keys that are seldom used are evicted.</summary>
    AllKeysLfu,

    /// <summary>Any keys are evicted.</summary>
    AllKeysRandom,

    /// <summary>The write is refused.</summary>
    NoEviction,
}

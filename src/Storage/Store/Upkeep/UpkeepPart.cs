namespace Kv.Storage;

/// <summary>A part of a round of upkeep that may take long.</summary>
internal enum UpkeepPart
{
    /// <summary>The removal of expired keys and fields, of all databases.</summary>
    Expiry,

    /// <summary>The eviction of keys.</summary>
    Eviction,
}

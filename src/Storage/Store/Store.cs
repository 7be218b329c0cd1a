namespace Kv.Storage;

/// <summary>A store: databases of keys and values in native memory, for any number of threads.</summary>
public sealed class Store : IDisposable
{
    public Store(StoreOptions options) => throw null!;
    public StoreOptions Options => throw null!;
    /// <summary>A session for a thread that stays; dispose it. Throws InvalidOperationException past SessionsMax.</summary>
    public StoreSession CreateSession() => throw null!;
    /// <summary>A session for a few operations on this thread: dispose at the end, not held across an await.</summary>
    public StoreGuard Enter() => throw null!;

    public long MaxMemoryBytes { get; set; }
    /// <summary>Index, log, blocks, and what others charged with <see cref="Charge"/>.</summary>
    public long UsedBytes => throw null!;
    public long PeakUsedBytes => throw null!;
    public bool IsOverBudget => throw null!;
    /// <summary>Accounts for memory that others hold for this store's clients (buffers): positive or negative.</summary>
    public void Charge(long bytes) => throw null!;

    public long Count(int database) => throw null!;
    public long CountWithExpiry(int database) => throw null!;
    /// <summary>Mean milliseconds left of the keys with an expiry, an estimate.</summary>
    public long AverageTtlMs(int database) => throw null!;
    public void Flush(int database) => throw null!;
    public void FlushAll() => throw null!;
    public void Swap(int first, int second) => throw null!;
    public bool ActiveExpiry { get; set; }
    public StoreStats Stats => throw null!;
    /// <summary>One round of expiry, reclaim and freeing, as the store's thread does them.</summary>
    public void Maintain() => throw null!;
    /// <summary>Walks index and log and throws with a description when they disagree. For tests and debugging; writers must be quiet.</summary>
    public void CheckIntegrity() => throw null!;
    public void Dispose() => throw null!;
}

/// <summary>A leased session, given back on dispose.</summary>
public readonly ref struct StoreGuard
{
    public StoreSession Session => throw null!;
    public void Dispose() => throw null!;
}

/// <summary>Counters of a store since its start.</summary>
public readonly record struct StoreStats(
    long IndexBytes, long LogBytes, long BlockBytes, long LiveBytes, long ExpiredKeys, long ReclaimedSegments, long IndexGrowths);

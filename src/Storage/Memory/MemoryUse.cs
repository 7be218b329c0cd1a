namespace Kv.Storage;

/// <summary>What a store's memory is used for, in bytes; the parts of its account are its sum
/// (<see cref="Store.UsedBytes"/>).</summary>
/// <param name="IndexBytes">Buckets of all indexes, overflow too.</param>
/// <param name="LogBytes">Segments in use, counted in steps of 64 KB.</param>
/// <param name="BlockBytes">Values over 64 KB, large collections, long keys, and values that are arriving.</param>
/// <param name="ClientBytes">What clients hold and their commands work with.</param>
/// <param name="FeedBytes">Changes on their way to the disk and to replicas.</param>
/// <param name="TableBytes">What is remembered of keys for eviction.</param>
/// <param name="HeapBytes">What else is alive in the managed heap, where the process is this store's.</param>
/// <param name="RetiredBytes">Segments that wait until nobody can be reading them: in no account.</param>
/// <param name="WarmBytes">Free segments that have not been given back to the system: in no account.</param>
public readonly record struct MemoryUse(
    long IndexBytes, long LogBytes, long BlockBytes, long ClientBytes, long FeedBytes, long TableBytes, long HeapBytes,
    long RetiredBytes, long WarmBytes)
{
    /// <summary>The sum of what is in the account.</summary>
    public long UsedBytes => IndexBytes + LogBytes + BlockBytes + ClientBytes + FeedBytes + TableBytes + HeapBytes;
}

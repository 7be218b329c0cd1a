namespace Kv.Storage;

/// <summary>What a store holds, in bytes, and what it has done since its start.</summary>
/// <param name="IndexBytes">Buckets of all indexes, overflow too.</param>
/// <param name="LogBytes">Segments in use, counted in steps of 64 KB.</param>
/// <param name="BlockBytes">Values over 64 KB, long keys, and values that are arriving.</param>
/// <param name="ExternalBytes">What others charged with <see cref="Store.Charge"/>.</param>
/// <param name="ExpiredKeys">Keys removed because their time had passed.</param>
/// <param name="ExpiredFields">Fields of hashes removed because their time had passed.</param>
/// <param name="ReclaimedSegments">Segments of 2 MB that were emptied and freed.</param>
/// <param name="IndexGrowths">Doublings of an index.</param>
/// <param name="IndexHalvings">Halvings of an index that few keys were left in.</param>
/// <param name="PendingFrees">Things that wait for an epoch to pass.</param>
/// <param name="Stalls">Turns of a session that held memory back for more than 100 ms.</param>
/// <param name="EvictedKeys">Keys let go of to make room.</param>
/// <param name="Hits">Reads that found their key.</param>
/// <param name="Misses">Reads that did not.</param>
/// <param name="ShadowHits">Reads that would have found their key with twice the memory, as estimated.</param>
public readonly record struct StoreStats(
    long IndexBytes, long LogBytes, long BlockBytes, long ExternalBytes,
    long ExpiredKeys, long ExpiredFields, long ReclaimedSegments, long IndexGrowths, long IndexHalvings,
    long PendingFrees, long Stalls, long EvictedKeys, long Hits, long Misses, long ShadowHits);

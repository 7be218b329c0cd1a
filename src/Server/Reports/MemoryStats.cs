namespace Kv.Server.Reports;

/// <summary>The fields of MEMORY STATS, a row each, in the reference's order; our own parts of the account after
/// them.</summary>
/// <remarks>Where the reference counts what is not here (a cluster), or not by itself (replicas among the clients), it
/// is 0. The sums are those of docs/memory.md.</remarks>
internal static class MemoryStats
{
    /// <summary>Before the databases.</summary>
    public static readonly (string Name, Func<ServerReading, MetricValue> Read)[] Head =
    [
        ("peak.allocated", r => r.PeakBytes),
        ("total.allocated", r => r.UsedBytes),
        ("startup.allocated", r => r.Use.HeapBytes),
        ("replication.backlog", r => r.Server.Replicas.KeptBytes),
        ("clients.slaves", r => r.ReplicaBytes),
        ("clients.normal", r => r.Clients.Buffers),
        ("cluster.links", r => 0),
        ("aof.buffer", r => r.Server.Aof.TailBytes),
        ("lua.caches", r => r.Server.Scripts.Cache.Bytes),
        ("functions.caches", r => r.Server.Scripts.Functions.Bytes),
    ];

    /// <summary>Of each database that has keys.</summary>
    public static readonly (string Name, Func<ServerReading, int, long> Read)[] OfDatabase =
    [
        ("overhead.hashtable.main", (r, database) => r.Store.IndexBytes(database)),
        ("overhead.hashtable.expires", (r, database) => 0),         // an expiry lies in its record
        ("overhead.hashtable.slot-to-keys", (r, database) => 0),
    ];

    /// <summary>After the databases.</summary>
    public static readonly (string Name, Func<ServerReading, MetricValue> Read)[] Tail =
    [
        ("overhead.total", r => r.UsedBytes - r.DatasetBytes),
        ("keys.count", r => Keys(r)),
        ("keys.bytes-per-key", r => Keys(r) == 0 ? 0 : Math.Max(0, r.UsedBytes - r.Use.HeapBytes) / Keys(r)),
        ("dataset.bytes", r => r.DatasetBytes),
        ("dataset.percentage", r => Percent(r.DatasetBytes, r.UsedBytes - r.Use.HeapBytes)),
        ("peak.percentage", r => Percent(r.UsedBytes, r.PeakBytes)),
        ("allocator.allocated", r => r.UsedBytes),
        ("allocator.active", r => r.UsedBytes),
        ("allocator.resident", r => r.ResidentBytes),
        ("allocator-fragmentation.ratio", r => Ratio(1, 1)),
        ("allocator-fragmentation.bytes", r => 0),
        ("allocator-rss.ratio", r => Ratio(r.ResidentBytes, r.UsedBytes)),
        ("allocator-rss.bytes", r => r.ResidentBytes - r.UsedBytes),
        ("rss-overhead.ratio", r => Ratio(1, 1)),
        ("rss-overhead.bytes", r => 0),
        ("fragmentation", r => Ratio(r.ResidentBytes, r.UsedBytes)),
        ("fragmentation.bytes", r => r.ResidentBytes - r.UsedBytes),
        ("kv.log", r => r.Use.LogBytes),
        ("kv.index", r => r.Use.IndexBytes),
        ("kv.blocks", r => r.Use.BlockBytes),
        ("kv.clients", r => r.Use.ClientBytes),
        ("kv.feed", r => r.Use.FeedBytes),
        ("kv.tables", r => r.Use.TableBytes),
        ("kv.managed", r => r.Use.HeapBytes),
        ("kv.retired", r => r.Use.RetiredBytes),
        ("kv.warm", r => r.WarmBytes),
        ("kv.collector", r => r.CollectorBytes),
        ("kv.program", r => r.ProgramBytes),
        ("kv.resident", r => r.ResidentBytes),
    ];

    public static long Keys(ServerReading reading) => reading.Databases(0).Sum(reading.Store.Count);

    private static MetricValue Percent(long part, long whole) => MetricValue.Fraction(100.0 * part / whole, 2);

    private static MetricValue Ratio(long part, long whole) => MetricValue.Fraction((double)part / whole, 2);
}

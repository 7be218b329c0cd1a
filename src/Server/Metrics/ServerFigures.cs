namespace Kv.Server.Metrics;

/// <summary>Everything that metrics are made of, gathered at one moment.</summary>
/// <remarks>Plain data: who gathers it knows where the figures are kept, the rows of <see cref="MetricTable"/> know
/// what they mean.</remarks>
internal sealed class ServerFigures
{
    // Server
    public string RedisVersion { get; init; } = "";
    public string KvVersion { get; init; } = "";
    public string RunId { get; init; } = "";
    public string Transport { get; init; } = "";
    public string ConfigFile { get; init; } = "";
    public int TcpPort { get; init; }
    public int Hz { get; init; }
    public int Workers { get; init; }
    public long UptimeSeconds { get; init; }
    public long UnixMicroseconds { get; init; }

    // Clients
    public long ConnectedClients { get; init; }
    public long MaxClients { get; init; }
    public long ReservedClients { get; init; }
    public long LingeringConnections { get; init; }
    public long LogLinesDropped { get; init; }
    public long LogLinesSuppressed { get; init; }
    public long BlockedClients { get; init; }
    public long TimedClients { get; init; }
    public long PubSubClients { get; init; }
    public long WatchingClients { get; init; }
    public long WatchedKeys { get; init; }
    public long AwaitedKeys { get; init; }
    public long KeysEndingWaits { get; init; }
    public long InputBytesMax { get; init; }
    public long OutputBytesMax { get; init; }

    // Memory
    public long StoreBytes { get; init; }
    public long StorePeakBytes { get; init; }
    public long IndexBytes { get; init; }
    public long LogBytes { get; init; }
    public long BlockBytes { get; init; }
    public long ClientBytes { get; init; }
    public long MessageBytes { get; init; }
    public long ManagedBytes { get; init; }
    public long WarmBytes { get; init; }
    public long Mappings { get; init; }
    public long MappingsMax { get; init; }
    public long MemoryRefusals { get; init; }
    public long ResidentBytes { get; init; }
    public long SystemBytes { get; init; }
    public long Scripts { get; init; }
    public long ScriptBytes { get; init; }
    public long ScriptMachineBytes { get; init; }
    public long Functions { get; init; }
    public long Libraries { get; init; }
    public long LibraryBytes { get; init; }
    public long ScriptsAlone { get; init; }
    public long MaxMemory { get; init; }
    public long UncountedBytes { get; init; }
    public string MaxMemoryPolicy { get; init; } = "";

    // Stats
    public long Connections { get; init; }
    public long Rejected { get; init; }
    public long Reserved { get; init; }
    public long Commands { get; init; }
    public long InputBytes { get; init; }
    public long OutputBytes { get; init; }
    public long OpsPerSecond { get; init; }
    public double InputKbps { get; init; }
    public double OutputKbps { get; init; }
    public long ExpiredKeys { get; init; }
    public long EvictedKeys { get; init; }
    public long ExpiredFields { get; init; }
    public long KeyspaceHits { get; init; }
    public long KeyspaceMisses { get; init; }
    public long Channels { get; init; }
    public long Patterns { get; init; }
    public long ShardChannels { get; init; }
    public long ErrorReplies { get; init; }
    public long Reads { get; init; }
    public long Writes { get; init; }
    public long OutputLimitCloses { get; init; }
    public long EvictedClients { get; init; }
    public long InputLimitCloses { get; init; }
    public long AuthTimeouts { get; init; }
    public long PendingFrees { get; init; }
    public long ReclaimedSegments { get; init; }
    public long IndexGrowths { get; init; }
    public long Stalls { get; init; }

    // Replication
    public string ReplicationId { get; init; } = "";

    // Cpu
    public TimeSpan CpuSystem { get; init; }
    public TimeSpan CpuUser { get; init; }
    public long Collections { get; init; }
    public long FullCollections { get; init; }
    public TimeSpan CollectionPause { get; init; }

    public IReadOnlyList<KeyspaceFigures> Keyspace { get; init; } = [];
    public IReadOnlyList<CommandFigures> CommandCalls { get; init; } = [];
    public IReadOnlyList<ErrorFigures> Errors { get; init; } = [];

    /// <summary>used_memory: the store's account, by which writes are refused, too.</summary>
    public long UsedBytes => StoreBytes;

    public long PeakBytes => Math.Max(StorePeakBytes, StoreBytes);

    public long DatasetBytes => LogBytes + BlockBytes;
}

/// <summary>One database that has keys.</summary>
internal readonly record struct KeyspaceFigures(int Database, long Keys, long Expires, long AverageTtlMs,
    long WithFieldExpiry);

/// <summary>How often a command ran (by its name in lower case, subcommands as client|list), was refused before it ran,
/// and failed.</summary>
internal readonly record struct CommandFigures(string Name, long Calls, long Microseconds, long Rejected, long Failed);

/// <summary>How often an error with this first word was answered.</summary>
internal readonly record struct ErrorFigures(string Code, long Count);

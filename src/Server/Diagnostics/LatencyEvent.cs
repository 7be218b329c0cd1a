namespace Kv.Server.Diagnostics;

/// <summary>What may keep clients waiting, as LATENCY names it.</summary>
internal enum LatencyEvent
{
    /// <summary>A command, or its part of one turn, that does not have the flag fast.</summary>
    Command,

    /// <summary>A command with the flag fast.</summary>
    FastCommand,

    /// <summary>The removal of expired keys, a round of the store's thread.</summary>
    ExpireCycle,

    /// <summary>The eviction of keys, a round of the store's thread.</summary>
    EvictionCycle,

    /// <summary>A collection of the managed heap, while which all threads stand still.</summary>
    GcPause,

    /// <summary>A turn of a worker: what it did between two looks at its connections.</summary>
    WorkerTurn,

    /// <summary>A write of the append-only file to the system, which takes it at once as a rule.</summary>
    AofWrite,

    /// <summary>A sync of the append-only file with `appendfsync always`: whoever has written waits for it.</summary>
    AofFsyncAlways,

    /// <summary>A sync of it beside clients.</summary>
    AofFsync,

    /// <summary>Clients that write were held up, since too much waited for a sync (aof-buffer-limit).</summary>
    AofPending,
}

/// <summary>The names of <see cref="LatencyEvent"/>: the reference's where the cause is the same.</summary>
internal static class LatencyEvents
{
    private static readonly string[] Names =
    [
        "command", "fast-command", "expire-cycle", "eviction-cycle", "gc-pause", "worker-turn", "aof-write",
        "aof-fsync-always", "aof-fsync", "aof-write-pending-fsync",
    ];

    public static int Count => Names.Length;

    public static string NameOf(LatencyEvent cause) => Names[(int)cause];

    /// <summary>The event of a name, in lower case.</summary>
    /// <returns>Null when there is no such event.</returns>
    public static LatencyEvent? Find(ReadOnlySpan<char> name)
    {
        for (int i = 0; i < Names.Length; i++)
            if (name.SequenceEqual(Names[i])) return (LatencyEvent)i;
        return null;
    }
}

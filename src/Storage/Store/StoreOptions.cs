namespace Kv.Storage;

/// <summary>How a <see cref="Store"/> is made. Copied by the store.</summary>
public sealed record StoreOptions
{
    /// <summary>Number of databases, 1 to 65,536. Each costs nothing until its first write.</summary>
    public int Databases { get; init; } = 16;

    /// <summary>Initial bytes of the index of database 0, rounded up to a power of two; at least 64 KB.</summary>
    public long IndexBytes { get; init; } = 64 * 1024;

    /// <summary>What the store may hold, in bytes; 0: no limit. Writers ask <see cref="Store.IsOverBudget"/>.</summary>
    public long MaxMemoryBytes { get; init; }

    /// <summary>Up to what size collections are kept packed; what it says may change later.</summary>
    public PackedLimits PackedLimits { get; init; } = new();

    /// <summary>The clock of expiry. Tests bring their own.</summary>
    public TimeProvider Time { get; init; } = TimeProvider.System;

    /// <summary>Whether a thread of the store's own expires, reclaims and frees; tests say false and call
    /// <see cref="Store.Maintain"/>.</summary>
    public bool Background { get; init; } = true;

    /// <summary>What the secrets of the hash function follow from, for tests that repeat; null: nobody can know
    /// them.</summary>
    internal ulong? HashSeed { get; init; }

    /// <summary>Called, at most once a second and on the thread that maintains the store, when a session has stood
    /// still for 100 ms while memory waits to be freed. It must not throw or wait.</summary>
    public Action<StoreStall>? Stalled { get; init; }

    /// <summary>Called on the thread that maintains the store, with the bytes that its file has got, when a snapshot
    /// was given up since that takes no more while writers wait. It must not throw or wait.</summary>
    internal Action<long>? SnapshotGivenUp { get; init; }

    /// <summary>Called with an exception that a round of the store's thread ended with; the next round begins anew. A
    /// defect of the store.</summary>
    public Action<Exception>? UpkeepFailed { get; init; }

    /// <summary>Called on the thread that maintains the store, after each part of a round that may take long, with how
    /// long it took. It must not throw or wait.</summary>
    internal Action<UpkeepPart, TimeSpan>? Took { get; init; }

    /// <summary>Most sessions at one time, each an epoch slot of 64 bytes.</summary>
    public int SessionsMax { get; init; } = 1024;
}

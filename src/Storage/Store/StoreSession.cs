namespace Kv.Storage;

/// <summary>One thread's access to the store: an epoch slot, a segment writer, the clock, a stripe of the counters.</summary>
/// <remarks>Threads: used by one thread at a time. Leased by <see cref="Store.Enter"/>, or owned by a worker.</remarks>
public sealed unsafe class StoreSession : IDisposable
{
    /// <summary>Starts a turn: announces the epoch (what was retired before may be freed), reads the clock.</summary>
    public void BeginTurn() => throw null!;
    /// <summary>Ends the turn for good, before sleeping: holds nothing of the store back.</summary>
    public void GoOffline() => throw null!;
    /// <summary>Unix milliseconds at the start of the turn; never goes back.</summary>
    public long NowMs => throw null!;
    /// <summary>The database that operations act on from here on. Cheap: call it for each command.</summary>
    public void Select(int database) => throw null!;

    public Key Key(ReadOnlySpan<byte> bytes) => throw null!;
    /// <summary>The same with what the look-ahead found: hash and hint.</summary>
    internal Key Key(ReadOnlySpan<byte> bytes, ulong hash, ulong hint) => throw null!;

    // Look-ahead, for the window of parsed commands. hint = 0: nothing found.
    internal ulong HashKey(byte* key, int length) => throw null!;
    internal void PrefetchBucket(int database, ulong hash) => throw null!;
    /// <summary>Probes the bucket by tag, prefetches the record found, and returns its address as a hint (0: none).</summary>
    internal ulong Probe(int database, ulong hash) => throw null!;

    // Single keys, each linearizable.
    public StoreStatus Read<TRead>(in Key key, DataType type, ref TRead read) where TRead : struct, IValueRead, allows ref struct => throw null!;
    public bool Exists(in Key key) => throw null!;
    /// <summary>Plain SET: the value as a string, without expiry.</summary>
    public StoreStatus Set(in Key key, ReadOnlySpan<byte> value) => throw null!;
    public StoreStatus Update<TUpdate>(in Key key, DataType type, ref TUpdate update) where TUpdate : struct, IValueUpdate, allows ref struct => throw null!;
    /// <summary>Whether there was such a key.</summary>
    public bool Delete(in Key key) => throw null!;

    // Several keys at once.
    /// <summary>Scratch list of keys for <see cref="Hold"/> and <see cref="ReadMany"/>; cleared by the caller. The keys' memory must stay put (arguments do).</summary>
    public KeyList Keys => throw null!;
    /// <summary>Holds all keys of the list for the caller alone until disposed; absent keys too.</summary>
    public HeldKeys Hold(KeyList keys) => throw null!;
    /// <summary>Reads all keys as of one instant.</summary>
    public void ReadMany<TRead>(KeyList keys, ref TRead read) where TRead : struct, IManyRead, allows ref struct => throw null!;

    // Iteration.
    /// <summary>Visits one bucket and returns the next cursor, 0 when done. Every key that stays is visited at least once.</summary>
    public ulong Scan<TVisit>(ulong cursor, ref TVisit visit) where TVisit : struct, IRecordVisit, allows ref struct => throw null!;
    /// <summary>Visits one random key; false when the database is empty.</summary>
    public bool RandomKey<TVisit>(ref TVisit visit) where TVisit : struct, IRecordVisit, allows ref struct => throw null!;

    // Blocks.
    /// <summary>Memory for a value of the given length, reserved but paid for as it is touched. One reference, the caller's. None when refused.</summary>
    public Block AllocateBlock(long length) => throw null!;
    public void Release(Block block) => throw null!;

    public void Dispose() => throw null!;
}

/// <summary>Keys of a command over several keys, with their database.</summary>
public sealed unsafe class KeyList
{
    public int Count => throw null!;
    public void Clear() => throw null!;
    public void Add(byte* key, int length, int database) => throw null!;
}

/// <summary>Keys that the caller alone may read and change until it disposes this. Indexes are those of the <see cref="KeyList"/>; a key that is there twice is one.</summary>
public readonly ref struct HeldKeys
{
    /// <summary>Ok, or why nothing is held (OutOfMemory).</summary>
    public StoreStatus Status => throw null!;
    public bool Exists(int index) => throw null!;
    /// <summary>The current value; stable until this key is next changed.</summary>
    public ValueView View(int index) => throw null!;
    public StoreStatus Update<TUpdate>(int index, DataType type, ref TUpdate update) where TUpdate : struct, IValueUpdate, allows ref struct => throw null!;
    public StoreStatus Set(int index, ReadOnlySpan<byte> value) => throw null!;
    public bool Delete(int index) => throw null!;
    /// <summary>Makes the value of one key (of any type) that of another, with the given expiry (unix ms or -1).</summary>
    public StoreStatus Copy(int from, int to, long expiryMs) => throw null!;
    /// <summary>Publishes and lets go.</summary>
    public void Dispose() => throw null!;
}

namespace Kv.Storage;

/// <summary>A key that somebody watches (WATCH), or waits for (BLPOP).</summary>
/// <remarks>Threads: any; changed under its stripe's lock (<see cref="WatchTable"/>).</remarks>
internal sealed class WatchedKey(int number, int databaseId, ReadOnlySpan<byte> key, ulong hash)
{
    private long _changes;
    private int _databaseId = databaseId;
    private object? _queue;

    /// <summary>The number by which the watchers call its database.</summary>
    public int Number { get; } = number;

    public ulong Hash { get; } = hash;

    // Pinned: lists of keys to hold need them to stay put.
    public byte[] Bytes { get; } = Pinned(key);

    /// <summary>Which database has that number now; 0 for none.</summary>
    // Volatile: read without the lock by who holds the key, and again once another table has been published.
    public int DatabaseId
    {
        get => Volatile.Read(ref _databaseId);
        set => Volatile.Write(ref _databaseId, value);
    }

    /// <summary>The databases that had <see cref="Number"/> before, each with the epoch in which it lost the number;
    /// only those that somebody may still work on. Under the stripe's lock.</summary>
    public List<(int Id, ulong Epoch)>? Former { get; private set; }

    /// <summary>How often it has changed. Who has the key locked sees all of them.</summary>
    public long Changes => Volatile.Read(ref _changes);

    public int Watchers { get; set; }

    /// <summary>How many wait for something at the key: changes of it are then arrivals of the session that makes
    /// them.</summary>
    public int Waiters { get; set; }

    /// <summary>The queue of those who wait, which is the affair of whoever serves them; null: nobody has waited
    /// yet.</summary>
    // Interlocked: of two who come first at the same time, one brings the queue.
    public object? Queue => Volatile.Read(ref _queue);

    /// <summary>Sets the queue, unless there is one.</summary>
    /// <returns>The one that is there then.</returns>
    public object ProvideQueue(object queue) => Interlocked.CompareExchange(ref _queue, queue, null) ?? queue;

    /// <summary>The next key of this hash.</summary>
    public WatchedKey? Next { get; set; }

    /// <summary>Notes that another database has the number from here on. After its table was published.</summary>
    public void MoveTo(int databaseId, EpochTable epochs)
    {
        ulong safe = epochs.SafeBelow();
        Former?.RemoveAll(former => former.Epoch < safe);
        (Former ??= new(1)).Add((DatabaseId, epochs.Current));
        DatabaseId = databaseId;
    }

    public void CountChange() => Volatile.Write(ref _changes, _changes + 1);

    private static byte[] Pinned(ReadOnlySpan<byte> bytes)
    {
        byte[] copy = GC.AllocateUninitializedArray<byte>(bytes.Length, pinned: true);
        bytes.CopyTo(copy);
        return copy;
    }
}

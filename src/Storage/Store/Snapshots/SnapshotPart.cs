namespace Kv.Storage;

/// <summary>One database of a snapshot: how far the walk has come in it, and which keys were kept ahead of
/// it.</summary>
/// <remarks>Threads: the walk's, but for what says otherwise.</remarks>
internal sealed class SnapshotPart(int number, Database database, MemoryBudget budget) : IDisposable
{
    private readonly Lock _end = new();
    private ulong _passed;
    private bool _isDone, _isDropped;

    /// <summary>The number that it had at the instant.</summary>
    public int Number => number;

    public Database Database => database;

    /// <summary>Keys at the instant, and how many of them expire.</summary>
    public (long All, long Expiring) Keys { get; } = (database.Keys, database.WithExpiry);

    /// <summary>Any thread.</summary>
    public KeptKeys Kept { get; } = new(budget);

    /// <summary>Whether the walk has passed a key. Asked by the owner of its record, from any thread: once it says yes
    /// the key has been kept, if it was there.</summary>
    // Volatile: who sees it sees what was kept before.
    public bool HasPassed(ulong hash) =>
        Volatile.Read(ref _isDone) || IndexCursor.ReverseBits(hash) < Volatile.Read(ref _passed);

    /// <summary>The walk has passed all keys before a cursor of the index.</summary>
    public void Pass(ulong cursor)
    {
        ulong passed = IndexCursor.ReverseBits(cursor);
        Volatile.Write(ref _passed, passed);
        Kept.Pass(passed);
    }

    /// <summary>The walk has passed all keys.</summary>
    /// <returns>Whether the database was flushed meanwhile: then it is the caller's to free.</returns>
    public bool End()
    {
        lock (_end)
        {
            bool isDropped = _isDropped;
            _isDropped = false;
            Volatile.Write(ref _isDone, true);
            return isDropped;
        }
    }

    /// <summary>The database has been flushed: if the walk is not done with it, it is freed when it is. From any
    /// thread.</summary>
    public bool TryKeepDropped()
    {
        lock (_end) return _isDropped = !_isDone;
    }

    public void Dispose() => Kept.Dispose();
}

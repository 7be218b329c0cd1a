namespace Kv.Storage;

/// <summary>Takes in keys as they were at the instant of a snapshot.</summary>
/// <remarks>
/// Called with the key's record locked, by the thread that walks the keys, and by whoever is about to change one: it
/// waits for nobody. What it throws ends the snapshot, not the caller's work.
/// </remarks>
internal interface ISnapshotSink
{
    /// <summary>Whether so much waits in memory that writers should wait. From any thread.</summary>
    bool IsBehind { get; }

    /// <summary>Bytes of blocks that it shares with the store until they are in the file: what writers and the evictor
    /// have let go of since, and what the walk has just come by. From any thread.</summary>
    long PinnedBytes { get; }

    /// <summary>Bytes that its file has got: whoever reads it twice sees whether it goes on. From any
    /// thread.</summary>
    long WrittenBytes { get; }

    /// <summary>Takes in a key. Each key comes once.</summary>
    /// <param name="slot">Of the session that calls: one thread at a time.</param>
    /// <param name="database">The number of its database at the instant.</param>
    /// <param name="key">Valid during the call.</param>
    /// <param name="value">As it was at the instant.</param>
    void Keep(int slot, int database, ReadOnlySpan<byte> key, in ValueView value);

    /// <summary>Takes in a piece of a key whose value is a large collection, from where it left off: one key at a time,
    /// which nobody changes from the first piece to the last, but which may move.</summary>
    /// <returns>True when it has all of it.</returns>
    bool KeepSome(int database, ReadOnlySpan<byte> key, in ValueView value);

    /// <summary>Makes room for more pieces. By the walk, with no key locked: it may wait for the disk.</summary>
    void MoveSome();
}

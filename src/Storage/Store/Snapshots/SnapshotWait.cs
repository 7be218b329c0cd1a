using System.Diagnostics;
using System.Runtime.CompilerServices;

namespace Kv.Storage;

/// <summary>Has a snapshot keep large collections before a session changes them (<see cref="LargeKeys"/>).</summary>
/// <remarks>
/// Who can come again lets go of the key, and comes when it is kept; who cannot keeps it itself, at once, when it
/// changes it. Threads: the session's.
/// </remarks>
internal sealed unsafe class SnapshotWait(StoreSession session, Store store)
{
    private readonly WatchTable _watches = store.Watches;

    /// <summary>Whether a snapshot is made that may have yet to keep something.</summary>
    public bool MayHaveTo => _watches.KeepsValues;

    /// <summary>Lets go of a record, which has just been locked, if a snapshot has yet to keep what it has, and the
    /// session can come again: then it is kept first.</summary>
    /// <param name="hash">Of its key, in the selected database.</param>
    /// <exception cref="KeyInUseException">The session is to come again.</exception>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void Await(byte* record, ulong word, ulong hash)
    {
        if (RecordWord.HoldsRegion(word) && _watches.IsAny) AwaitSlow(record, word, hash);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private void AwaitSlow(byte* record, ulong word, ulong hash)
    {
        Debug.Assert(Record.IsLocked(record), "the caller has just locked the record");
        if (!session.MayComeAgain || !TryAwait(session.SelectedDatabase!, record, word, hash)) return;
        Record.WriteWord(record, word);     // as it was: readers have nothing to notice
        throw new KeyInUseException(isOfOthers: true);
    }

    /// <summary>Whether a snapshot has yet to keep a large collection, and does so now. Asked by the owner of its
    /// record.</summary>
    public bool TryAwait(Database database, byte* record, ulong word, ulong hash) =>
        _watches.KeepsValues && store.Snapshot is { } snapshot && snapshot.TryAwait(database, hash, record, word);

    /// <summary>Whether a snapshot has yet to keep the large collection of a key, and does so now: for work that is not
    /// given up once it has begun, and can begin later.</summary>
    public bool TryAwait(in Key key) => _watches.IsAny && TryAwaitSlow(session.SelectedDatabase, key);

    /// <inheritdoc cref="TryAwait(in Key)"/>
    public bool TryAwait(KeyList keys)
    {
        if (!_watches.KeepsValues || session.Transaction != null) return false;
        bool isAwaited = false;
        Database?[] table = session.Table;
        foreach (ref KeyList.Entry item in keys.Items)
            isAwaited |= TryAwaitSlow(table[item.Database], new Key(item.Bytes, item.Hash));
        return isAwaited;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private bool TryAwaitSlow(Database? database, in Key key)
    {
        Debug.Assert(store.Epochs.IsOnline(session.Slot), "a turn has begun");
        if (!_watches.KeepsValues || session.Transaction != null || database == null) return false;
        // Ends: a round is repeated only when the record died in this very moment.
        while (database.Index.Find(key.Bytes, key.Hash) is var record && record != null)
        {
            if (!session.TryLock(record, out ulong word)) continue;
            bool isAwaited = TryAwait(database, record, word, key.Hash);
            Record.WriteWord(record, word);     // as it was
            return isAwaited;
        }

        return false;
    }
}

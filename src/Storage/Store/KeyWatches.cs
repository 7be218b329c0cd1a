using System.Diagnostics;
using System.Runtime.InteropServices;

namespace Kv.Storage;

/// <summary>The keys that one client watches: whether any of them has changed since.</summary>
/// <remarks>
/// Threads: the client's own; others may read <see cref="Count"/> and <see cref="HaveChanged"/>.
/// A key that has expired is a changed one, though nobody has removed it yet: who asks for the last time locks the keys
/// (or has stopped all others), which removes what has expired.
/// </remarks>
internal sealed unsafe class KeyWatches(Store store) : IDisposable
{
    private const int SearchMax = 16;

    /// <summary>Of a watch: its places in the array and in the set, each a third of which is free.</summary>
    private const int WatchBytes = 64;

    private Watch[] _watches = [];
    private HashSet<WatchedKey>? _known;

    public int Count { get; private set; }

    /// <summary>Whether a key has changed, as of the changes that this thread sees.</summary>
    public bool HaveChanged
    {
        get
        {
            // From another thread it may be the last list, or an emptied one, which is as good.
            foreach (ref Watch watch in Watches)
                if (watch.Key is { } key && key.Changes != watch.Seen) return true;
            return false;
        }
    }

    private Span<Watch> Watches => _watches.AsSpan(0, Math.Min(Count, _watches.Length));

    /// <summary>Watches a key from here on, unless it is watched already.</summary>
    /// <param name="session">On that database.</param>
    public void Add(StoreSession session, int database, in Key key)
    {
        session.Exists(key);        // removes it if its time has passed: that it goes later is no change
        WatchedKey watched = store.Databases.Watch(database, key, out long changes);
        if (IsKnown(watched))
        {
            store.Watches.Remove(watched);
            return;
        }

        if (Count == _watches.Length) Array.Resize(ref _watches, Math.Max(4, Count * 2));
        _watches[Count++] = new Watch { Key = watched, Seen = changes };
        _known?.Add(watched);
        store.ChargeManaged(WatchBytes);
    }

    /// <summary>Adds the keys to a list of keys to be held.</summary>
    public void AddTo(KeyList keys)
    {
        foreach (ref Watch watch in Watches)
            keys.Add(watch.Key.Bytes, watch.Key.Number);
    }

    /// <summary>Adds <paramref name="count"/> of the watched keys, from <paramref name="first"/> on, to the keys to
    /// hold.</summary>
    public void AddTo(KeyOrder keys, int first, int count)
    {
        foreach (ref Watch watch in Watches[first..(first + count)])
            fixed (byte* start = &MemoryMarshal.GetArrayDataReference(watch.Key.Bytes)) keys.Add(
                start, watch.Key.Bytes.Length, watch.Key.Number);
    }

    /// <summary>Whether whoever published a table has told the watchers all about it: the ids, and then what has
    /// changed.</summary>
    /// <remarks>
    /// Asked by one who has the keys locked in that table. The report: else the keys may be others than they were, and
    /// nobody has counted that yet. The ids: else a writer in it may have found none of his, where he counts for no
    /// epoch, and who publishes the next table has still to look.
    /// </remarks>
    public bool AreOf(Database?[] table)
    {
        if (Count != 0 && !store.Databases.HasReported(table)) return false;
        foreach (ref Watch watch in Watches)
            if (watch.Key.DatabaseId != (table[watch.Key.Number]?.Id ?? 0)) return false;
        return true;
    }

    /// <summary>Removes those keys whose time has passed. For one who is alone.</summary>
    public void RemoveExpired(StoreSession session)
    {
        Debug.Assert(Count == 0 || session.Presence.PausesOthers, "all others stand still");
        foreach (ref Watch watch in Watches)
        {
            session.Select(watch.Key.Number);
            session.Exists(new Key(watch.Key.Bytes, watch.Key.Hash));
        }
    }

    /// <summary>Watches nothing any more.</summary>
    public void Dispose()
    {
        foreach (ref Watch watch in Watches) store.Watches.Remove(watch.Key);
        if (Count != 0) store.ChargeManaged(-WatchBytes * (long)Count);
        Count = 0;
        _known = null;
        if (_watches.Length > SearchMax) _watches = [];
        else Array.Clear(_watches);
    }

    /// <summary>Tells the watchers (and those who wait) of keys whose databases are others in a new table. Under the
    /// table's lock, when it is published.</summary>
    /// <remarks>
    /// First what has expired in the new databases goes, so that its going is no change to those who meet it only now.
    /// Then all learn the new id, then the keys are looked for: a writer in the new database either finds the id, or
    /// came before, and then his key is found here. Who locks keys in the new table before this is through sees ids
    /// that differ. As in Redis an absent key that stays absent has not changed; but one that somebody holds at this
    /// moment has: EXEC may fail for it.
    /// </remarks>
    public static void ReportTable(WatchTable watches, Database?[] old, Database?[] table, StoreSession? session,
        KeyArrivals arrivals)
    {
        List<(WatchedKey Key, Database? Old, Database? New)> moved = [];
        for (int number = 0; number < table.Length; number++)
        {
            if (old[number] == table[number] || table[number] is not { } after) continue;
            if (session == null) continue;
            foreach (WatchedKey key in watches.Of(number))
                ExpiredKeys.TryDelete(session, after, new Key(key.Bytes, key.Hash));
        }

        for (int number = 0; number < table.Length; number++)
        {
            if (old[number] == table[number]) continue;
            foreach (WatchedKey key in watches.MoveTo(number, table[number]?.Id ?? 0))
                moved.Add((key, old[number], table[number]));
        }

        Interlocked.MemoryBarrier();    // the ids before any read of the index
        foreach (var (key, before, after) in moved)
            if (session == null || Has(before, key) || Has(after, key)) watches.Note(key, arrivals);
    }

    // Expired or not: what had expired before has gone, and what was written since is a change even if it has expired
    // by now.
    private static bool Has(Database? database, WatchedKey key)
    {
        if (database == null) return false;
        // Ends: a record that has died is found no more.
        while (true)
        {
            byte* record = database.Index.Find(key.Bytes, key.Hash);
            if (record == null) return false;
            // The placeholder of a key that is absent yet counts, too: its owner may have asked whether the key is
            // watched before the watchers had the id of his database. Then nobody has told them, and he has not let go.
            if (!RecordWord.IsDead(Record.ReadWord(record))) return true;
        }
    }

    private bool IsKnown(WatchedKey watched)
    {
        if (Count > SearchMax && _known == null)
        {
            _known = [];
            foreach (ref Watch watch in Watches) _known.Add(watch.Key);
        }

        if (_known != null) return _known.Contains(watched);
        foreach (ref Watch watch in Watches)
            if (watch.Key == watched) return true;
        return false;
    }

    private struct Watch
    {
        public WatchedKey Key;
        public long Seen;
    }
}

using System.Diagnostics;

namespace Kv.Storage;

/// <summary>The databases of a store by number: one table that is replaced whole, so FLUSHALL and SWAPDB are one
/// step.</summary>
/// <remarks>Threads: any. A table is published under the lock and read without it; who watches keys is told under the
/// lock, too.</remarks>
internal sealed class DatabaseTable
{
    private readonly Store _store;
    private readonly Lock _lock = new();
    private Database?[] _table, _reported;
    private int _ids;
    private long _expiredByDropped, _expiredFieldsByDropped, _growthsByDropped, _halvingsByDropped;

    public DatabaseTable(Store store, int databases)
    {
        _store = store;
        _table = _reported = new Database?[databases];
    }

    /// <summary>The databases by number; null: never written to since it was last flushed.</summary>
    public Database?[] Current => Volatile.Read(ref _table);

    /// <summary>What those that there are and were have counted: keys and fields that have expired, doublings and
    /// halvings of indexes.</summary>
    public (long Expired, long ExpiredFields, long Growths, long Halvings) Counts
    {
        get
        {
            lock (_lock)
            {
                (long expired, long expiredFields, long growths, long halvings) =
                    (_expiredByDropped, _expiredFieldsByDropped, _growthsByDropped, _halvingsByDropped);
                foreach (Database? database in _table)
                {
                    expired += database?.Expired ?? 0;
                    expiredFields += database?.ExpiredFields ?? 0;
                    growths += database?.Index.Growth.Doublings ?? 0;
                    halvings += database?.Index.Halving.Halvings ?? 0;
                }

                return (expired, expiredFields, growths, halvings);
            }
        }
    }

    /// <summary>Empties a database.</summary>
    /// <param name="session">The caller's, in a turn; without one, who watches an absent key is told that it has
    /// changed.</param>
    public void Flush(int database, StoreSession? session)
    {
        lock (_lock)
        {
            var table = (Database?[])_table.Clone();
            Database? dropped = table[database];
            table[database] = null;
            Fault.Point("flush.publish");       // after it nothing throws
            Publish(table, session);
            _store.Watches.Tracker?.NoteFlush();
            if (dropped != null) Drop(dropped);
        }

        _store.TryWake();
    }

    /// <inheritdoc cref="Store.FlushAll"/>
    public void FlushAll(StoreSession? session)
    {
        lock (_lock)
        {
            Database?[] old = _table, table = new Database?[old.Length];
            Fault.Point("flush.publish");
            Publish(table, session);
            _store.Watches.Tracker?.NoteFlush();
            foreach (Database? dropped in old)
                if (dropped != null) Drop(dropped);
        }

        _store.TryWake();
    }

    /// <inheritdoc cref="Store.Swap"/>
    public void Swap(int first, int second, StoreSession? session)
    {
        lock (_lock)
        {
            var table = (Database?[])_table.Clone();
            (table[first], table[second]) = (table[second], table[first]);
            Fault.Point("swap.publish");
            Publish(table, session);
        }
    }

    /// <returns>The database, made when there was none; null when the system refused the memory.</returns>
    public Database? GetOrCreate(int number, StoreSession session)
    {
        lock (_lock)
        {
            if (_table[number] is { } found) return found;
            var table = (Database?[])_table.Clone();        // before there is a database that would be lost
            long indexBytes = number == 0 ? _store.Options.IndexBytes : 0;
            if (Database.TryCreate(_store, _ids + 1, indexBytes) is not { } database) return null;
            _ids++;
            table[number] = database;
            Publish(table, session);
            return database;
        }
    }

    private void Publish(Database?[] table, StoreSession? session)
    {
        Debug.Assert(_lock.IsHeldByCurrentThread, "the table is the lock's");
        Debug.Assert(table != _table && table.Length == _table.Length, "the table is replaced whole");
        Database?[] old = _table;
        Volatile.Write(ref _table, table);
        if (_store.Watches.IsAny)
        {
            var arrivals = session?.Arrivals ?? new KeyArrivals();
            KeyWatches.ReportTable(_store.Watches, old, table, session, arrivals);
            _store.Epochs.Advance();    // turns that begin from here on see this table, and show it (WatchTable.Note)
            if (session == null) _store.HandOver(arrivals);
        }

        Volatile.Write(ref _reported, table);       // release: the counts before it
    }

    /// <summary>Whether all who watch keys have been told of a table, and of none after it.</summary>
    public bool HasReported(Database?[] table) => Volatile.Read(ref _reported) == table;

    /// <summary>Watches a key: of the database that has that number at this moment, and then of whichever has
    /// it.</summary>
    public WatchedKey Watch(int database, in Key key, out long changes)
    {
        lock (_lock) return _store.Watches.Add(database, _table[database]?.Id ?? 0, key.Bytes, key.Hash, out changes);
    }

    /// <summary>Puts one who waits for a key into the table of those: likewise. Ended by
    /// <see cref="WatchTable.RemoveWaiter"/>.</summary>
    public WatchedKey Await(int database, in Key key)
    {
        lock (_lock) return _store.Watches.AddWaiter(database, _table[database]?.Id ?? 0, key.Bytes, key.Hash);
    }

    /// <summary>Whether somebody waits for a key.</summary>
    public bool IsAwaited(int database, in Key key) => _store.Watches.IsAwaited(database, key.Bytes, key.Hash);

    /// <summary>Waits until whoever publishes another table has told those who watch keys.</summary>
    public void WaitForReport()
    {
        lock (_lock)
        {
        }
    }

    /// <summary>What must wait to be freed for this session is what it lets go of from here on. For one who holds no
    /// address of the store but those of records that it has locked, in databases of that table.</summary>
    /// <returns>False when the table is being replaced, or has been: then a database may be on its way out that only
    /// this session's epoch keeps.</returns>
    /// <remarks>Nobody is waited for. Whoever drops a database does so under the table's lock: after this, and in an
    /// epoch that this session shows.</remarks>
    public bool TryTick(int slot, Database?[] table)
    {
        if (!_lock.TryEnter()) return false;
        try
        {
            if (_table != table) return false;
            _store.Epochs.Advance();
            _store.Epochs.Announce(slot);
            Interlocked.MemoryBarrier();        // the slot before the lock is free again
        }
        finally
        {
            _lock.Exit();
        }

        return true;
    }

    private void Drop(Database database)
    {
        Debug.Assert(_lock.IsHeldByCurrentThread && Array.IndexOf(_table, database) < 0,
            "only what is in no table is dropped");
        Debug.Assert(!database.IsDropped, "a database is dropped once");
        _expiredByDropped += database.Expired;
        _expiredFieldsByDropped += database.ExpiredFields;
        _growthsByDropped += database.Index.Growth.Doublings;
        _halvingsByDropped += database.Index.Halving.Halvings;
        database.Segments.MarkDropped();
        if (_store.Snapshot?.TryKeepDropped(database) != true) FreeDropped(database);
    }

    /// <summary>Frees a database that is in no table any more, once nobody can reach it.</summary>
    public void FreeDropped(Database database)
    {
        Debug.Assert(database.IsDropped, "it is in no table");
        _store.Deferred.Defer(static (target, _) => ((Database)target!).Free(), database, 0, database.Segments.Bytes,
            isLong: true);
    }
}

using System.Diagnostics;

namespace Kv.Storage;

//   instant (all others stopped) --------------- walk: bucket by bucket, database by database ------------- end
//
//   A key is kept by whoever comes first, with its record locked:   the walk, or a writer before its first change.

/// <summary>All keys of a store as of one instant, while others go on changing them.</summary>
/// <remarks>
/// How it holds together. At the instant nobody is in the middle of anything (<see cref="StorePause"/>), and from it on
/// every change of a key asks <see cref="WatchTable.IsAny"/>, with the record locked and before it changes anything,
/// and comes to <see cref="BeforeChange"/>. There, as in the walk, a key is kept once: whoever has its record locked
/// asks whether the walk has passed it or somebody has kept it (<see cref="SnapshotPart"/>), else keeps it as it is and
/// says so before unlocking it. So the first to lock a key after the instant keeps it, unchanged. A key that was not
/// there is noted as kept before it is published, so that the walk passes it over; it was absent at the instant, or
/// somebody kept it when it was deleted. The walk's order is SCAN's, in which what has been passed stays passed while
/// the index grows or is halved, so a key that it has not met was absent from the instant until the walk was there.
/// Large collections are kept in steps (<see cref="LargeKeys"/>), ahead of their turn when somebody is about to change
/// them.
/// A database that is flushed meanwhile is freed when the walk is done with it.
/// A failure ends the snapshot, and nothing else.
/// Threads: one walks, any may change keys.
/// </remarks>
internal sealed unsafe class StoreSnapshot : IDisposable
{
    /// <summary>How long a turn of the walk takes, about: others wait for memory that was let
    /// go of.</summary>
    private static readonly long TicksPerTurn = Stopwatch.Frequency / 4000;

    /// <summary>With more the walk's turn ends, so that it goes to the file.</summary>
    private const long PinnedBytesMax = 1 << 20;

    private readonly Store _store;
    private readonly ISnapshotSink _sink;
    private readonly SnapshotPart[] _parts;
    private readonly LargeKeys _large;
    private Exception? _failure;

    /// <summary>Begins one: this is its instant. All others are stopped.</summary>
    public StoreSnapshot(Store store, ISnapshotSink sink)
    {
        Debug.Assert(store.Pause.IsRequested, "all others are stopped");
        Debug.Assert(store.Snapshot == null, "one at a time");
        (_store, _sink) = (store, sink);
        _large = new LargeKeys(this, sink);
        List<SnapshotPart> parts = [];
        Database?[] table = store.Table;
        for (int number = 0; number < table.Length; number++)
            if (table[number] is { Keys: > 0 } database) parts.Add(new SnapshotPart(number, database, store.Budget));
        _parts = [.. parts];
        store.Snapshot = this;
    }

    /// <summary>The databases that there are keys in.</summary>
    public IReadOnlyList<SnapshotPart> Parts => _parts;

    /// <summary>What has ended it; null: nothing. From any thread.</summary>
    public Exception? Failure => Volatile.Read(ref _failure);

    /// <summary>Whether writers should wait, since what they keep for it is not on the disk yet. From any
    /// thread.</summary>
    public bool IsBehind => _sink.IsBehind && Failure == null;

    /// <summary>Bytes that it alone still needs, and soon no more, as good as free; and a little that the walk has just
    /// come by. From any thread.</summary>
    public long PinnedBytes => Failure == null ? _sink.PinnedBytes : 0;

    /// <inheritdoc cref="ISnapshotSink.WrittenBytes"/>
    public long WrittenBytes => _sink.WrittenBytes;

    /// <summary>Ends it before its end. From any thread: the first reason stays.</summary>
    public void Fail(Exception reason) => Interlocked.CompareExchange(ref _failure, reason, null);

    /// <summary>Keeps all keys of a database that nobody has kept.</summary>
    /// <param name="session">The walk's own.</param>
    /// <param name="between">Called between two turns, offline.</param>
    /// <returns>False when it has failed.</returns>
    public bool Walk(SnapshotPart part, StoreSession session, Action between)
    {
        Debug.Assert(Array.IndexOf(_parts, part) >= 0, "it is a part of this snapshot");
        var index = part.Database.Index;
        var visit = new KeepKeys(this, part, session);
        ulong cursor = 0;
        // Ends: the cursor comes round.
        do
        {
            // The memory of a database that has been flushed stays while the part is not done; the epoch is for what
            // is replaced in it.
            session.BeginTurn();
            long end = Stopwatch.GetTimestamp() + TicksPerTurn;
            // Ends: with the cursor, or the turn. What it has come by may be evicted before it is in the file: of large
            // values there is only a little of that.
            do
            {
                // Also what has expired: readers of the file see to that.
                cursor = IndexCursor.Scan(index, nowMs: 0, cursor, ref visit);
                if (cursor != 0 && !_large.IsAny) part.Pass(cursor);
            }
            while (cursor != 0 && Failure == null && !_large.IsAny && _sink.PinnedBytes < PinnedBytesMax
                && Stopwatch.GetTimestamp() < end);
            session.GoOffline();
            if (Failure != null) return false;
            between();
            // Large ones that it has met are kept before they are passed.
            _large.KeepAll(session);
            if (Failure != null) return false;
            if (cursor != 0) part.Pass(cursor);
            // Where a worker waits for this processor it is not to wait for more than a turn.
            Thread.Yield();
        }
        while (cursor != 0);

        if (part.End()) _store.Databases.FreeDropped(part.Database);
        part.Dispose();
        return true;
    }

    /// <summary>Keeps a key that is about to be changed, by the owner of its record.</summary>
    /// <param name="word">Of the record; a placeholder's if the key is absent.</param>
    public void BeforeChange(int slot, Database database, ulong hash, byte* record, ulong word)
    {
        Debug.Assert(Record.IsLocked(record), "only who holds a key changes it");
        if (Failure != null || PartOf(database) is not { } part || part.HasPassed(hash) || part.Kept.Has(hash)) return;
        Keep(part, slot, hash, record, word);
    }

    /// <summary>Whether a large collection, about to be changed, has yet to be kept: then it will be, ahead of its
    /// turn, and who can wait for it should let go of its key. Asked by the owner of its record.</summary>
    public bool TryAwait(Database database, ulong hash, byte* record, ulong word)
    {
        if (!LargeKeys.Has(record, word) || Failure != null || PartOf(database) is not { } part || part.HasPassed(hash)
            || part.Kept.Has(hash)) return false;
        _large.Want(part, hash, Record.KeyOf(record, word));
        return true;
    }

    /// <summary>Notes a key that was absent, before it is published.</summary>
    public void BeforeInsert(Database database, ulong hash)
    {
        if (Failure != null || PartOf(database) is not { } part || part.HasPassed(hash)) return;
        try
        {
            part.Kept.Add(hash);
        }
        catch (OutOfMemoryException exception)
        {
            Fail(exception);
        }
    }

    /// <summary>Whether a database that has been flushed is to be freed by the walk, later.</summary>
    public bool TryKeepDropped(Database database) => PartOf(database)?.TryKeepDropped() ?? false;

    /// <summary>Ends it: changes are no longer told of. Databases that it has kept are freed.</summary>
    public void Dispose()
    {
        Fail(new ObjectDisposedException(nameof(StoreSnapshot)));
        _store.Snapshot = null;
        foreach (SnapshotPart part in _parts)
        {
            if (part.End()) _store.Databases.FreeDropped(part.Database);
            part.Dispose();
        }
    }

    // A handful of databases at most; nearly always one.
    private SnapshotPart? PartOf(Database database)
    {
        foreach (SnapshotPart part in _parts)
            if (part.Database == database) return part;
        return null;
    }

    private void Keep(SnapshotPart part, int slot, ulong hash, byte* record, ulong word)
    {
        Debug.Assert(Record.IsLocked(record), "what is kept stands still");
        try
        {
            if (RecordWord.Kind(word) != ValueKind.Placeholder && !_large.TryEnd(part, hash, record, word))
            {
                // By the word in memory, as the owner of the lock looks at a value.
                _sink.Keep(slot, part.Number, Record.KeyOf(record, word),
                    new ValueView(record, Record.ReadWord(record)));
            }

            part.Kept.Add(hash);
        }
        catch (Exception exception)
        {
            Fail(exception);        // whatever it is: the caller's change goes on
        }
    }

    /// <summary>Keeps what the walk comes by.</summary>
    private readonly struct KeepKeys(StoreSnapshot snapshot, SnapshotPart part, StoreSession session) : IRecordVisit
    {
        public void Visit(ReadOnlySpan<byte> key, in ValueView value)
        {
            var index = part.Database.Index;
            ulong hash = index.Hash.Of(key);
            byte* record = value.RecordStart;
            // Ends: a round is repeated only when the record died in this very moment; a key that is gone was kept by
            // who deleted it.
            while (record != null && snapshot.Failure == null)
            {
                if (session.TryLock(record, out ulong word))
                {
                    try
                    {
                        // Passed: it is visited once more, its bucket having been merged into one that was.
                        if (part.HasPassed(hash) || part.Kept.Has(hash)) return;
                        if (LargeKeys.Has(record, word)) snapshot._large.Want(part, hash, key);
                        else snapshot.Keep(part, session.Slot, hash, record, word);
                    }
                    finally
                    {
                        Record.WriteWord(record, word);     // as it was: readers have nothing to notice
                    }

                    return;
                }

                record = index.Find(key, hash);
            }
        }
    }
}

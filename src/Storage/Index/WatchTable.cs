using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Kv.Storage;

//  counts, native:   | keys here 32 | ... |    a line further: keys of stripe 0 32 | stripe 1 32 | ... |
//                      ^ what every write looks at: 0 nearly always

/// <summary>Keys that somebody watches (WATCH), each with a count of its changes, or waits for (BLPOP).</summary>
/// <remarks>
/// A write looks here once it owns the key (the record's lock, or the bucket's latch), and before anybody can see what
/// it does; a watcher has the key in here before it reads the key. So a write that does not find the key was there
/// first: a read after WATCH waits for it. A write that finds the key has counted before it lets go: who locks the key
/// afterwards sees the count. Likewise a client that waits for a key is in here before it looks whether there is
/// something for it, and a write that finds it leaves the key with the writing session, which serves the client once
/// the write is done.
/// Threads: any. The stripes' locks are the innermost: nobody waits while holding one.
/// Cost: of a write, one load of a line that hardly ever changes; while any key is watched, another one.
/// </remarks>
internal sealed unsafe class WatchTable : IDisposable
{
    private const int StripeCount = 1024, LineInts = 16;

    /// <summary>What a key's object, its place in a dictionary and a watcher's take.</summary>
    private const int KeyBytes = 200;

    /// <summary>What an empty stripe keeps.</summary>
    private const int KeptPlaces = 16;

    private readonly MemoryBudget _budget;
    private readonly EpochTable _epochs;
    private readonly Dictionary<ulong, WatchedKey>?[] _stripes = new Dictionary<ulong, WatchedKey>?[StripeCount];
    private readonly Lock[] _locks = new Lock[StripeCount];
    private readonly int* _counts;
    private int _watched, _awaited;
    private int _heard;
    private IKeyTracker? _tracker;
    private int _keepsValues;
    private KeyBeginnings? _told;

    public WatchTable(MemoryBudget budget, EpochTable epochs)
    {
        _budget = budget;
        _epochs = epochs;
        Tracked = new TrackedKeys(budget);
        _counts = (int*)NativeMemory.AlignedAlloc((StripeCount + LineInts) * sizeof(int), 64);
        NativeMemory.Clear(_counts, (StripeCount + LineInts) * sizeof(int));
        for (int i = 0; i < StripeCount; i++) _locks[i] = new Lock();
    }

    /// <summary>Keys that are watched by at least one.</summary>
    public int Count => Volatile.Read(ref _watched);

    /// <summary>Keys that at least one waits for.</summary>
    public int AwaitedCount => Volatile.Read(ref _awaited);

    /// <summary>Whether a write has to say what it changes. Asked by the owner of the key.</summary>
    // After the full fence of the owner's compare-and-swap: see above.
    public bool IsAny
    {
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        get => Volatile.Read(ref *_counts) != 0;
    }

    /// <summary>What is listened to of all keys (<see cref="IKeyListener"/>). With changes among it
    /// <see cref="IsAny"/> is true; the rest is asked for where it happens, and costs no write anything.</summary>
    public HeardNotes Heard
    {
        get => (HeardNotes)Volatile.Read(ref _heard);
        // Exchange: of two who set the same only one counts.
        set
        {
            var before = (HeardNotes)Interlocked.Exchange(ref _heard, (int)value);
            int more = (int)(value & HeardNotes.Changes) - (int)(before & HeardNotes.Changes);
            if (more != 0) Interlocked.Add(ref *_counts, more);
        }
    }

    /// <summary>Whether somebody wants values as they are before they change (a snapshot). With it
    /// <see cref="IsAny"/> is true.</summary>
    /// <remarks>Set by one thread at a time.</remarks>
    public bool KeepsValues
    {
        get => Volatile.Read(ref _keepsValues) != 0;
        // Exchange, as for Heard.
        set
        {
            int more = (value ? 1 : 0) - Interlocked.Exchange(ref _keepsValues, value ? 1 : 0);
            if (more != 0) Interlocked.Add(ref *_counts, more);
        }
    }

    /// <summary>Whether somebody listens to any of these.</summary>
    public bool Hears(HeardNotes notes) => (Volatile.Read(ref _heard) & (int)notes) != 0;

    /// <summary>Is told of every change of a key, and of flushes; null: nobody keeps copies of keys.</summary>
    /// <remarks>Set by one thread at a time.</remarks>
    public IKeyTracker? Tracker
    {
        get => Volatile.Read(ref _tracker);
        set
        {
            // The tracker before the count, which writers ask for first; its full fence is before any read of a key by
            // whoever asked for tracking.
            var before = Interlocked.Exchange(ref _tracker, value);
            if (before == null != (value == null)) Interlocked.Add(ref *_counts, value == null ? -1 : 1);
        }
    }

    /// <summary>The keys that <see cref="Tracker"/> is told of.</summary>
    public TrackedKeys Tracked { get; }

    /// <summary>How keys begin that the tracker is told of, whoever has read them; null: it is told of none of
    /// those.</summary>
    // Volatile: set before the full fence of whoever asked for it; a writer that owns a key later sees it.
    public KeyBeginnings? Told
    {
        get => Volatile.Read(ref _told);
        set => Volatile.Write(ref _told, value);
    }

    /// <summary>Whether anybody may want to know of a change of a key, behind <see cref="IsAny"/>: without a lock, and
    /// from what stays in the nearest cache.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public bool Concerns(ulong hash) =>
        Hears(HeardNotes.Changes) | Volatile.Read(ref _counts[LineInts + StripeOf(hash)]) != 0 | Tracked.MayHave(hash)
        | KeepsValues;

    /// <summary>Whether the tracker may want to know of a change of a key because of how that begins.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public bool Tells(ReadOnlySpan<byte> key) => Told is { } told && told.MayHave(key);

    /// <summary>Counts a change of a key. Called by the key's owner, before it lets go.</summary>
    /// <param name="slot">Of the session that makes the change.</param>
    /// <param name="databaseId">Where the key is.</param>
    /// <param name="hash">The key's.</param>
    /// <param name="key">Its bytes.</param>
    /// <param name="arrivals">The session's that makes the change; null where it cannot be what somebody waits
    /// for.</param>
    /// <param name="cause">None: those who watch it need not know, only those who wait.</param>
    [MethodImpl(MethodImplOptions.NoInlining)]
    public void Note(int slot, int databaseId, ulong hash, ReadOnlySpan<byte> key, KeyArrivals? arrivals = null,
        ChangeCause cause = ChangeCause.Command)
    {
        bool isChange = cause != ChangeCause.None;
        if (isChange && (Tracked.MayHave(hash) || Tells(key)))
            Tracker?.NoteChange(cause == ChangeCause.Time ? IKeyTracker.Nobody : slot, hash, key);
        int stripe = StripeOf(hash);
        if (Volatile.Read(ref _counts[LineInts + stripe]) == 0) return;
        lock (_locks[stripe])
        {
            for (var one = First(stripe, hash); one != null; one = one.Next)
            {
                if ((one.DatabaseId != databaseId && !WasOf(one, databaseId, slot))
                    || !one.Bytes.AsSpan().SequenceEqual(key)) continue;
                if (isChange) one.CountChange();
                if (one.Waiters != 0) arrivals?.Add(one);
            }
        }
    }

    /// <summary>Watches a key of a database. Under the lock of the table of databases, so that number and id belong
    /// together.</summary>
    /// <param name="changes">How often it had changed before.</param>
    public WatchedKey Add(int number, int databaseId, ReadOnlySpan<byte> key, ulong hash, out long changes)
    {
        int stripe = StripeOf(hash);
        WatchedKey watched;
        lock (_locks[stripe])
        {
            watched = Find(stripe, number, key, hash) ?? Insert(stripe, number, databaseId, key, hash);
            if (watched.Watchers++ == 0) Interlocked.Increment(ref _watched);
            changes = watched.Changes;
        }

        Interlocked.MemoryBarrier();    // the counts before any read of the key
        return watched;
    }

    /// <summary>Waits for a key of a database. Under the lock of the table of databases.</summary>
    public WatchedKey AddWaiter(int number, int databaseId, ReadOnlySpan<byte> key, ulong hash)
    {
        int stripe = StripeOf(hash);
        WatchedKey watched;
        lock (_locks[stripe])
        {
            watched = Find(stripe, number, key, hash) ?? Insert(stripe, number, databaseId, key, hash);
            if (watched.Waiters++ == 0) Interlocked.Increment(ref _awaited);
        }

        Interlocked.MemoryBarrier();    // the counts before any read of the key
        return watched;
    }

    /// <summary>Whether somebody waits for a key of the database with that number.</summary>
    public bool IsAwaited(int number, ReadOnlySpan<byte> key, ulong hash)
    {
        int stripe = StripeOf(hash);
        if (!IsAny || Volatile.Read(ref _counts[LineInts + stripe]) == 0) return false;
        lock (_locks[stripe]) return Find(stripe, number, key, hash) is { Waiters: > 0 };
    }

    /// <summary>Ends the watching of one watcher.</summary>
    public void Remove(WatchedKey watched)
    {
        lock (_locks[StripeOf(watched.Hash)])
        {
            Debug.Assert(watched.Watchers > 0, "it is watched");
            if (--watched.Watchers != 0) return;
            Interlocked.Decrement(ref _watched);
            if (watched.Waiters == 0) Forget(watched);
        }
    }

    /// <summary>Ends the waiting of one client.</summary>
    public void RemoveWaiter(WatchedKey watched)
    {
        lock (_locks[StripeOf(watched.Hash)])
        {
            Debug.Assert(watched.Waiters > 0, "somebody waits for it");
            if (--watched.Waiters != 0) return;
            Interlocked.Decrement(ref _awaited);
            if (watched.Watchers == 0) Forget(watched);
        }
    }

    // Under the stripe's lock.
    private void Forget(WatchedKey watched)
    {
        int stripe = StripeOf(watched.Hash);
        Debug.Assert(_locks[stripe].IsHeldByCurrentThread, "the stripe is locked");
        Debug.Assert(watched is { Watchers: 0, Waiters: 0 }, "nobody wants it");
        var stripeKeys = _stripes[stripe]!;
        var first = stripeKeys[watched.Hash];
        if (first != watched)
        {
            // Ends: it is in the list.
            while (first.Next != watched) first = first.Next!;
            first.Next = watched.Next;
        }
        else if (watched.Next != null)
        {
            stripeKeys[watched.Hash] = watched.Next;
        }
        else
        {
            stripeKeys.Remove(watched.Hash);
            if (stripeKeys.Count == 0 && stripeKeys.Capacity > KeptPlaces) _stripes[stripe] = null;
        }

        _counts[LineInts + stripe]--;
        Interlocked.Decrement(ref *_counts);
        _budget.ChargeManaged(-(KeyBytes + watched.Bytes.Length));
    }

    /// <summary>The keys of the database with that number. Under the lock of the table of databases.</summary>
    public List<WatchedKey> Of(int number)
    {
        List<WatchedKey> found = [];
        for (int stripe = 0; stripe < StripeCount; stripe++)
        {
            lock (_locks[stripe]) AddKeysOf(number, stripe, found);
        }

        return found;
    }

    /// <summary>Notes that a number stands for another database from here on. Under the lock of the table of
    /// databases.</summary>
    public List<WatchedKey> MoveTo(int number, int databaseId)
    {
        List<WatchedKey> moved = [];
        for (int stripe = 0; stripe < StripeCount; stripe++)
        {
            lock (_locks[stripe])
            {
                int before = moved.Count;
                AddKeysOf(number, stripe, moved);
                for (int i = before; i < moved.Count; i++) moved[i].MoveTo(databaseId, _epochs);
            }
        }

        return moved;
    }

    // Under the stripe's lock.
    private void AddKeysOf(int number, int stripe, List<WatchedKey> found)
    {
        Debug.Assert(_locks[stripe].IsHeldByCurrentThread, "the stripe is locked");
        if (_stripes[stripe] is not { } keys) return;
        foreach (var first in keys.Values)
        {
            for (var one = first; one != null; one = one.Next)
                if (one.Number == number) found.Add(one);
        }
    }

    /// <summary>Counts a change that came with another table of databases.</summary>
    public void Note(WatchedKey watched, KeyArrivals? arrivals)
    {
        lock (_locks[StripeOf(watched.Hash)])
        {
            watched.CountChange();
            if (watched.Waiters != 0) arrivals?.Add(watched);
        }
    }

    public void Dispose()
    {
        Tracked.Dispose();
        NativeMemory.AlignedFree(_counts);
    }

    // A command that began before another table was published still works on the database of before, and so may a read
    // of the watcher's own: then the two are before the exchange, and what is written counts. A session that shows a
    // later epoch than that of the exchange has begun its turn after the publishing: what it writes there is of that
    // database as it is called now.
    private bool WasOf(WatchedKey watched, int databaseId, int slot) =>
        watched.Former is { } former && WasOf(former, databaseId, slot);

    [MethodImpl(MethodImplOptions.NoInlining)]
    private bool WasOf(List<(int Id, ulong Epoch)> former, int databaseId, int slot)
    {
        ulong shown = _epochs.ShownBy(slot);
        foreach (var (id, epoch) in former)
            if (id == databaseId && shown <= epoch) return true;
        return false;
    }

    // Not the bits that choose a bucket, which the tables of databases share.
    private static int StripeOf(ulong hash) => (int)(hash >> 54);

    private WatchedKey? First(int stripe, ulong hash) =>
        _stripes[stripe] is { } keys && keys.TryGetValue(hash, out var first) ? first : null;

    private WatchedKey? Find(int stripe, int number, ReadOnlySpan<byte> key, ulong hash)
    {
        Debug.Assert(_locks[stripe].IsHeldByCurrentThread, "the stripe is locked");
        for (var one = First(stripe, hash); one != null; one = one.Next)
            if (one.Number == number && one.Bytes.AsSpan().SequenceEqual(key)) return one;
        return null;
    }

    private WatchedKey Insert(int stripe, int number, int databaseId, ReadOnlySpan<byte> key, ulong hash)
    {
        Debug.Assert(_locks[stripe].IsHeldByCurrentThread, "the stripe is locked");
        var keys = _stripes[stripe] ??= [];
        keys.TryGetValue(hash, out var next);
        var watched = new WatchedKey(number, databaseId, key, hash) { Next = next };
        keys[hash] = watched;
        Volatile.Write(ref _counts[LineInts + stripe], _counts[LineInts + stripe] + 1);
        Interlocked.Increment(ref *_counts);
        _budget.ChargeManaged(KeyBytes + watched.Bytes.Length);
        return watched;
    }
}

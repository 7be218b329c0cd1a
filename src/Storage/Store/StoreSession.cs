using System.Diagnostics;
using System.Runtime.CompilerServices;

namespace Kv.Storage;

/// <summary>One thread's access to the store: an epoch slot, segment writers, the clock, a stripe of the
/// counters.</summary>
/// <remarks>
/// Its turns are in StoreSession.Turns.cs, the short ways of strings in StoreSession.Strings.cs.
/// Threads: used by one thread at a time. Owned by a worker, or leased by <see cref="Store.Enter"/>. Between
/// <see cref="BeginTurn"/> and <see cref="GoOffline"/> nothing that the session can reach is freed, so turns are short.
/// </remarks>
public sealed unsafe partial class StoreSession : IDisposable
{
    /// <summary>Readings that a writer may disturb before a reader locks.</summary>
    internal const int OptimisticReadsMax = 3;

    private readonly Store _store;
    private readonly DatabaseTable _databases;
    private readonly int _slot;
    private readonly SegmentedLog _log;
    private readonly KeyHash _hash;
    private readonly RecordChanges _changes;
    private readonly KeyLocks _locks;
    private SelectedDatabase _selected = new();
    private readonly WatchTable _watches;
    private readonly LockingReader _lockingReader;
    private readonly ManyReader _manyReader;
    private readonly KeyArrivals _arrivals;
    private UseMeter _uses;

    internal StoreSession(Store store, int slot)
    {
        _store = store;
        _databases = store.Databases;
        _slot = slot;
        _log = store.Log;
        _hash = store.Hash;
        _watches = store.Watches;
        _changes = new RecordChanges(store, slot);
        _arrivals = _changes.Notices.Arrivals;
        _locks = NewLocks();
        Single = new SingleHold(this, _changes, _locks, store);
        Transacting = new SessionTransaction(this, _changes, store.SteppedHolds);
        Presence = new SessionPresence(store, slot);
        SnapshotWait = new SnapshotWait(this, store);
        Freeing = new TurnFreeing(this, store);
        _lockingReader = new LockingReader(this, store.SteppedHolds);
        _manyReader = new ManyReader(this, store);
        LookAhead = new LookAhead(store.Log);
        _uses = new UseMeter((uint)slot * 0x9E3779B9, store.Uses);
        Keys = NewKeyList();
    }

    /// <summary>Unix milliseconds as of the start of the turn; never goes back.</summary>
    public long NowMs => _changes.NowMs;

    /// <summary>What expiries are compared with in place of the clock, from the next turn on; 0: the clock. For what is
    /// replayed: a key that a later command would make live longer must not expire before that.</summary>
    internal long FrozenClockMs { get; set; }

    /// <summary>How members of collections are hashed.</summary>
    internal ref readonly KeyHash MemberHash => ref _store.Hash;

    /// <summary>Scratch list for <see cref="Hold"/> and <see cref="ReadMany"/>; its user clears it first.</summary>
    public KeyList Keys { get; }

    /// <summary>Scratch for HyperLogLogs that are being changed; its user loads it first.</summary>
    internal HyperLogLogDraft Draft => field ??= new HyperLogLogDraft();

    internal int Slot => _slot;

    /// <summary>Says what the session is used for; null for an embedder's.</summary>
    // A reference, written and read whole: the log's line may name the work of a moment ago.
    internal ISessionUser? User { get; set; }

    /// <summary>The thread that came online last, and what the session is used for. From any thread: a stale one was
    /// right a moment ago.</summary>
    internal string Holder => User?.WorkName is { } work ? $"{Presence.HolderThread}, {work}"
        : Presence.HolderThread;

    /// <summary>Whether it is in a turn, and what pauses mean to it.</summary>
    internal SessionPresence Presence { get; }

    internal RecordChanges Changes => _changes;

    /// <summary>Keys that somebody waits for and that this session has changed. Whoever runs its commands looks here
    /// after each.</summary>
    internal KeyArrivals Arrivals => _arrivals;

    /// <summary>Whether there are any, or notes of its listener.</summary>
    internal bool HasArrivals
    {
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        get => _arrivals.Pending != 0;
    }

    /// <inheritdoc cref="KeyNotices.Listener"/>
    internal IKeyListener? Listener
    {
        get => _changes.Notices.Listener;
        set => _changes.Notices.Listener = value;
    }

    internal KeyLocks Locks => _locks;

    /// <summary>Whether it holds no key by itself, outside of transactions. Known in builds with assertions.</summary>
    internal bool HoldsNothing => _locks.IsEmpty && !Single.SeesHeld;

    internal KeyLocks NewLocks() => new(this, _changes, _store.SteppedHolds);

    internal KeyList NewKeyList() => new(_hash);

    /// <summary>The databases as of now, or as of when a transaction began.</summary>
    internal Database?[] Table => Transaction?.Table ?? _databases.Current;

    /// <summary>The databases as of the last <see cref="Select"/>.</summary>
    internal Database?[] SelectedTable => _selected.Table;

    /// <summary>The database that operations act on; null while it has no key.</summary>
    internal Database? SelectedDatabase => _selected.Database;

    /// <summary>What the session's transaction holds; null outside of one. Here, since every operation asks.</summary>
    internal TransactionKeys? Transaction { get; private set; }

    /// <summary>How that begins, goes over to another session, and ends.</summary>
    internal SessionTransaction Transacting { get; }

    /// <summary>The one key that it holds outside of transactions.</summary>
    internal SingleHold Single { get; }

    /// <summary>What a snapshot has to keep before the session changes it.</summary>
    internal SnapshotWait SnapshotWait { get; }

    /// <summary>Asks ahead for the memory of what commands will use.</summary>
    internal LookAhead LookAhead { get; }

    /// <summary>Whether what it does now is given up where it meets a key that work in steps holds
    /// (<see cref="KeyInUseException"/>). Set to true by who does it again in that case; false from the first change
    /// on.</summary>
    internal bool MayComeAgain
    {
        get => _changes.MayBeginAnew && Transaction == null;
        set => _changes.MayBeginAnew = value;
    }

    /// <summary>The policy, as the store goes by it.</summary>
    internal EvictionRule Eviction => _store.Eviction;

    /// <summary>Whether the uses of keys from here on do not count for eviction.</summary>
    public bool LeavesNoTrace
    {
        get => _uses.LeavesNoTrace;
        set
        {
            if (value != _uses.LeavesNoTrace) _uses.LeavesNoTrace = value;
        }
    }

    /// <summary>Counts what is used and what is not there.</summary>
    internal ref UseMeter Uses => ref _uses;

    /// <summary>Whether what was let go of in this turn should be freed before there is more.</summary>
    internal TurnFreeing Freeing { get; }

    /// <summary>The database that operations act on from here on. Call it for each command: another may have been
    /// swapped in.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void Select(int database)
    {
        Database?[] table = _databases.Current;
        if (!_selected.Is(table, database)) SelectSlow(table, database);
    }

    /// <summary>The number of the database that is selected.</summary>
    internal int DatabaseNumber => _selected.Number;

    /// <summary>Selects the same number once more, in the databases as of now.</summary>
    internal void SelectAgain() => Select(_selected.Number);

    // A transaction sees the databases as they were when it locked its keys: a flush comes after all of it.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private void SelectSlow(Database?[] table, int database) => _selected.Set(Transaction?.Table ?? table, database);

    /// <summary>A key for the operations of this store.</summary>
    public Key Key(ReadOnlySpan<byte> bytes) => new(bytes, _hash.Of(bytes));

    /// <summary>A key with the hash and the record that the look-ahead found.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal Key Key(ReadOnlySpan<byte> bytes, ulong hash, ulong hint) =>
        new(bytes, hash, _selected.HintsHold ? hint : 0);

    /// <summary>A key's hash, for the look-ahead.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal ulong HashKey(byte* key, int length) => _hash.Of(key, length);

    /// <summary>Brings the bucket of a key of the selected database into the cache.</summary>
    internal void Prefetch(ReadOnlySpan<byte> key) => _selected.Database?.Index.Prefetch(_hash.Of(key));

    /// <summary>The index where a database's keys are looked up ahead, as of the start of the turn; null for
    /// none.</summary>
    internal HashIndex? LookAheadIndex(int database) => _selected.LookedAhead?[database]?.Index;

    /// <summary>Takes what it needs from a value, as of one instant.</summary>
    /// <param name="type">The type that the value must have, or <see cref="DataType.Any"/>.</param>
    /// <returns>Ok, NotFound or WrongType.</returns>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public StoreStatus Read<TRead>(in Key key, DataType type, ref TRead read)
        where TRead : struct, IValueRead, allows ref struct
    {
        Debug.Assert(_store.Epochs.IsOnline(_slot), "a turn has begun");
        byte* record = Locate(key);
        if (record == null) return TRead.IsUse ? Missed(key) : StoreStatus.NotFound;
        ulong word = Record.ReadWord(record);
        if (RecordWord.IsBusy(word) || Record.IsExpired(record, word, NowMs))
            return _lockingReader.Read(key, type, ref read);
        if (TRead.IsUse) _uses.Count(record, word);
        if (type != DataType.String && RecordWord.HoldsRegion(word))
            return _lockingReader.ReadRegion(record, key, type, ref read);
        if (type != DataType.Any && ValueKinds.TypeOf(RecordWord.Kind(word)) != type) return StoreStatus.WrongType;
        read.Read(new ValueView(record, word));
        Volatile.ReadBarrier();     // the value before the word again
        return RecordWord.Same(Record.ReadWord(record), word)
            ? StoreStatus.Ok : _lockingReader.ReadAgain(key, type, ref read);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private StoreStatus Missed(in Key key)
    {
        CountMiss(_selected.Database, key.Hash);
        if (_watches.Hears(HeardNotes.Misses)) _changes.Notices.NoteMiss(_selected.Number, key.Bytes);
        return StoreStatus.NotFound;
    }

    /// <summary>Counts a read that did not find its key.</summary>
    /// <param name="database">Null: it has no keys at all.</param>
    internal void CountMiss(Database? database, ulong hash)
    {
        _uses.CountRead(found: false);
        if (database != null) _store.Shadow.NoteMiss(hash, database.Id, NowMs);
    }

    /// <summary>Counts a read that was looked for more than once.</summary>
    internal void CountRead(in Key key, StoreStatus status)
    {
        if (status != StoreStatus.NotFound) _uses.CountRead(found: true);
        else Missed(key);
    }

    /// <summary>Whether there is such a key.</summary>
    public bool Exists(in Key key)
    {
        var nothing = default(ReadNothing);
        return Read(key, DataType.Any, ref nothing) == StoreStatus.Ok;
    }

    /// <summary>Lets an update look at a value, present or absent, and change it, as one step.</summary>
    /// <returns>Ok; NotFound when the key is absent and stays so; WrongType, OutOfMemory, TooLarge: nothing was
    /// changed.</returns>
    public StoreStatus Update<TUpdate>(in Key key, DataType type, ref TUpdate update)
        where TUpdate : struct, IValueUpdate, allows ref struct
        => Update(Locate(key), key, type, ref update);

    /// <param name="record">The key's record as it was just found; null for none.</param>
    private StoreStatus Update<TUpdate>(byte* record, in Key key, DataType type, ref TUpdate update)
        where TUpdate : struct, IValueUpdate, allows ref struct
    {
        Debug.Assert(_store.Epochs.IsOnline(_slot), "a turn has begun");
        if (Transaction is { } transaction) return transaction.Update(_selected.Database, key, type, ref update);
        // Ends: a round is repeated only when the record died or another session inserted the key in this very moment.
        while (true)
        {
            if (record == null)
            {
                if (SelectedOrNew() is not { } database) return StoreStatus.OutOfMemory;
                var status = _watches.Hears(HeardNotes.Changes)
                    ? _changes.InsertHeld(database, key, ref update, out bool again)
                    : _changes.Insert(database, key, ref update, out again);
                if (!again) return status;
            }
            else if (TryLock(record, out ulong word))
            {
                SnapshotWait.Await(record, word, key.Hash);
                var held = HeldOf(record, _uses.Counted(word), key);
                if (Record.IsExpired(record, word, NowMs)) _changes.Expire(ref held);
                try
                {
                    return _changes.Apply(ref held, type, ref update);
                }
                finally
                {
                    _changes.LetGo(ref held);       // as far as it has come, should the update throw
                }
            }

            record = Find(key);
        }
    }

    /// <summary>Makes the session the only writer of a record, unless it is dead. For one who has no other key
    /// locked.</summary>
    /// <param name="word">The word as it was before, unlocked.</param>
    /// <returns>False when the record is dead: look the key up again.</returns>
    internal bool TryLock(byte* record, out ulong word)
    {
        word = Record.ReadWord(record);
        if (!RecordWord.IsBusy(word) && Record.TryLockFrom(record, word)) return true;
        return TryLockSlow(record, out word);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private bool TryLockSlow(byte* record, out ulong word)
    {
        // Ends: an owner works for microseconds and never yields its worker while it holds the bit; but for a long
        // command, which is then run here to its end (docs/concurrency.md).
        var wait = new SpinWait();
        while (true)
        {
            word = Record.ReadWord(record);
            if (RecordWord.IsDead(word)) return false;
            if ((word & RecordWord.Lock) == 0 && Record.TryLockFrom(record, word)) return true;
            _store.SteppedHolds.Wait(ref wait, record, this);
        }
    }

    /// <summary>Holds a key for the caller alone until disposed.</summary>
    /// <param name="type">The type that the value must have, or <see cref="DataType.Any"/>.</param>
    /// <param name="expectedBytes">Of the value of a key that is absent: it is held, too. <see
    /// cref="HeldKey.OnlyIfThere"/>: it is not, and NotFound the status.</param>
    /// <remarks>One at a time. Others who want the key wait meanwhile: be quick.</remarks>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal HeldKey Hold(scoped in Key key, DataType type, int expectedBytes = HeldKey.OnlyIfThere) =>
        Transaction is { } transaction ? transaction.Hold(_selected.Database, key, type, expectedBytes)
            : Single.Hold(key, type, expectedBytes);

    /// <summary>Deletes a key.</summary>
    /// <returns>Whether there was one.</returns>
    public bool Delete(in Key key)
    {
        if (Transaction is { } transaction) return transaction.Delete(_selected.Database, key);
        byte* record = Locate(key);
        // Ends: as in Update.
        while (record != null)
        {
            if (TryLock(record, out ulong word))
            {
                SnapshotWait.Await(record, word, key.Hash);
                var held = HeldOf(record, word, key);
                bool expired = Record.IsExpired(record, word, NowMs);
                if (expired) _changes.Expire(ref held);
                else _changes.MakeAbsent(ref held);
                _changes.LetGo(ref held);
                return !expired;
            }

            record = Find(key);
        }

        return false;
    }

    /// <summary>Holds all keys of the list for the caller alone until disposed; absent keys too.</summary>
    public HeldKeys Hold(KeyList keys) => new(keys, _locks, _changes, _locks.Acquire(keys));

    /// <summary>Holds all keys of a transaction: until <see cref="EndTransaction"/> every operation of this session on
    /// one of them works on what is held, and others wait for the end.</summary>
    /// <param name="keys">Every key that the transaction uses; free for other use afterwards.</param>
    /// <returns>Ok; or <see cref="StoreStatus.OutOfMemory"/>, then nothing is held.</returns>
    public StoreStatus BeginTransaction(KeyList keys) => Transacting.Begin(keys);

    /// <summary>Whether the transaction holds a key.</summary>
    public bool IsHeld(ReadOnlySpan<byte> key, int database) =>
        Transaction is { } transaction && Table[database] is { } selected
        && transaction.Locks.IndexOf(selected, Key(key)) >= 0;

    /// <summary>Publishes what the transaction did, and lets go of its keys.</summary>
    public void EndTransaction() => Transacting.End();

    /// <summary>Has operations work on what a transaction holds, or, without one, on the store again. The next
    /// <see cref="Select"/> looks at the databases again.</summary>
    internal void WorkOn(TransactionKeys? transaction)
    {
        Debug.Assert(transaction == null || Transaction == null, "one at a time");
        Transaction = transaction;
        _selected.Doubt();
    }

    /// <summary>Stops all other sessions of the store at the top of their turns, for work on more than named
    /// keys.</summary>
    /// <returns>False when some other is in a long turn, or wants the same: try again in the next turn, nothing has
    /// been stopped.</returns>
    /// <exception cref="StoreBusyException">What holds keys takes long.</exception>
    public bool TryPauseOthers() => Presence.TryPauseOthers();

    /// <summary>Lets the others go on.</summary>
    public void EndPause() => Presence.EndPause();

    /// <summary>Takes over what another session does alone in the store, in the middle of its turn: the pause, the time
    /// and those who wait for what was changed. The pause is called long.</summary>
    internal void TakePause(StoreSession other)
    {
        Presence.TakePause(other.Presence);
        _changes.SetClock(other.NowMs);
        other._arrivals.MoveTo(_arrivals);
    }

    /// <summary>Compares index, log, collections and accounts, record by record. All others are stopped
    /// (<see cref="TryPauseOthers"/>).</summary>
    /// <returns>Bytes of the blocks and large collections that records hold.</returns>
    /// <exception cref="InvalidOperationException">The first disagreement.</exception>
    public long CheckIntegrity() => IntegrityCheck.Run(_store);

    /// <summary>Reads all keys of the list as of one instant.</summary>
    public void ReadMany<TRead>(KeyList keys, ref TRead read) where TRead : struct, IManyRead, allows ref struct =>
        _manyReader.Read(keys, ref read);

    /// <summary>Visits the live keys of one bucket.</summary>
    /// <param name="cursor">0 to begin, else what the last call returned.</param>
    /// <returns>The next cursor, 0 when done. A key that is there from the first call to the last is visited at least
    /// once.</returns>
    public ulong Scan<TVisit>(ulong cursor, ref TVisit visit) where TVisit : struct, IRecordVisit, allows ref struct =>
        _selected.Database == null ? 0 : IndexCursor.Scan(_selected.Database.Index, NowMs, cursor, ref visit);

    /// <summary>Visits one live key, each as likely as another.</summary>
    /// <returns>False when the database has none.</returns>
    public bool RandomKey<TVisit>(ref TVisit visit) where TVisit : struct, IRecordVisit, allows ref struct =>
        _selected.Database is { } database && IndexCursor.Random(database.Index, database.Keys, NowMs, ref visit);

    /// <summary>Seconds since the value was last used, what OBJECT IDLETIME returns: exact for what was used a moment
    /// ago or only when it was written, else down to a sixth of it. Under an LFU policy those since anything in its
    /// segment was written.</summary>
    public long IdleSeconds(in ValueView value) => _store.IdleSeconds(value, NowMs);

    /// <summary>The interval in which a key was used that was not for so long.</summary>
    internal int IntervalAgo(long idleSeconds) => _store.Uses.Ago(idleSeconds, NowMs);

    /// <summary>Memory for a value: reserved now, charged to the budget with <see cref="ChargeBlock"/> as it is
    /// filled.</summary>
    /// <param name="length">Bytes of content.</param>
    /// <param name="isZeroed">Whether they are to be zeros; else they are anything.</param>
    /// <returns>A block with one reference, the caller's; none when the system refuses.</returns>
    // Charged whole for a moment, a value that is only announced would have keys evicted, or others refused, for it.
    public Block AllocateBlock(long length, bool isZeroed = false) =>
        Block.Allocate(length, length, _store.Budget, isZeroed, isArriving: true);

    /// <summary>Accounts for the first bytes of a block that is still arriving.</summary>
    public void ChargeBlock(Block block, long contentBytes) => block.ChargeTo(contentBytes);

    /// <summary>Gives up a reference to a block.</summary>
    public void Release(Block block) => _store.Release(block);

    /// <summary>Ends the session; its slot may be another's.</summary>
    public void Dispose()
    {
        _changes.Seal();
        GoOffline();
        _locks.Dispose();
        Transacting.Dispose();
        _store.Sessions.Return(this);
    }

    /// <summary>Empties a database; see <see cref="Store.Flush(int)"/>.</summary>
    internal void Flush(int database) => _store.Databases.Flush(database, this);

    /// <summary>Empties all databases, as one step.</summary>
    internal void FlushAll() => _store.Databases.FlushAll(this);

    /// <summary>Exchanges two databases, as one step. What was looked ahead is void.</summary>
    internal void Swap(int first, int second)
    {
        _store.Databases.Swap(first, second, this);
        // What this session does from here on, it does in the new table: it shows that, or its next commands in the
        // same turn would count for those who watch the keys by the numbers of before (WatchTable.Note). In a
        // transaction the keys are locked in the old epoch.
        if (Transaction == null) Tick();
    }

    /// <summary>The selected database, made where it had no key yet; null: there is no memory.</summary>
    internal Database? SelectedOrNew() => _selected.Database ??= CreateDatabase(_selected.Number);

    internal Database? CreateDatabase(int number) => _store.Databases.GetOrCreate(number, this);

    /// <summary>For the store's own thread, which works on databases rather than numbers.</summary>
    internal void Use(Database database)
    {
        _selected.Use(database);
    }

    /// <summary>The record of a key, from the hint when that holds.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal byte* Locate(in Key key)
    {
        if (key.Hint != 0)
        {
            byte* record = _log.Pointer(key.Hint);
            ulong word = Record.ReadWord(record);
            if (!RecordWord.IsBusy(word) && Record.KeyEquals(record, word, key.Bytes)) return record;
        }

        return Find(key);
    }

    /// <summary>The record of a key in the selected database; null for none.</summary>
    internal byte* Find(in Key key) =>
        _selected.Database is { } database ? database.Index.Find(key.Bytes, key.Hash) : null;

    /// <summary>What is held of a key of the selected database whose record is locked.</summary>
    /// <param name="word">As it is to be once it is let go of.</param>
    internal HeldRecord HeldOf(byte* record, ulong word, in Key key) =>
        new() { Database = _selected.Database!, Record = record, Word = word, Hash = key.Hash };

    private struct ReadNothing : IValueRead
    {
        public static bool IsUse => false;

        public readonly void Read(in ValueView value)
        {
        }
    }
}

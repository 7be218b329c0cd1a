using System.Diagnostics;

namespace Kv.Storage;

/// <summary>A store: databases of keys and values in native memory, for any number of threads.</summary>
/// <remarks>
/// Threads: all members. What the store is made of is in <see cref="DatabaseTable"/> and
/// <see cref="StoreSessions"/>, and in what the properties name.
/// Ownership: whoever made it disposes it, after its sessions; everything that it held is then the system's again.
/// </remarks>
public sealed class Store : IDisposable
{
    /// <summary>Most bytes of a value: what the protocol allows for a bulk.</summary>
    public const long ValueBytesMax = 512L << 20;

    /// <summary>Most bytes of a key.</summary>
    public const long KeyBytesMax = 512L << 20;

    private const int HelpFromCount = 1024;

    /// <summary>What transactions and scripts may use beyond the limit where keys are evicted for it: half of the 64 MB
    /// that the process may take beyond its share.</summary>
    private const long SlackBytes = 32L << 20;

    private const long HelpFromBytes = 16L << 20, FreeElsewhereFromBytes = 1L << 20, ReuseFromBytes = 256 << 10;
    private static readonly long HelpEvery = Stopwatch.Frequency / 1000;

    private readonly Lock _freeLock = new();
    private readonly StoreThread? _thread;
    private readonly StoreUpkeep _upkeep;
    private readonly KeyHash _hash;
    private long _helpedAt, _reclaimedSegments;
    private EvictionRule _eviction = EvictionRule.Of(MaxMemoryPolicy.NoEviction);
    private StoreSnapshot? _snapshot;
    private bool _disposed;

    /// <summary>Makes an empty store.</summary>
    /// <param name="options">Copied.</param>
    /// <exception cref="InvalidOperationException">The system refused to reserve the addresses; nothing is
    /// held.</exception>
    /// <remarks>Cost: reserves addresses of four times the machine's memory; touches about 100 KB.</remarks>
    public Store(StoreOptions options)
    {
        ArgumentOutOfRangeException.ThrowIfLessThan(options.Databases, 1);
        ArgumentOutOfRangeException.ThrowIfLessThan(options.SessionsMax, 2);
        Options = options;
        _hash = options.HashSeed is { } seed ? KeyHash.FromSeed(seed) : KeyHash.Create();
        Budget = new MemoryBudget { MaxBytes = options.MaxMemoryBytes };
        Log = new SegmentedLog(Budget);
        Epochs = new EpochTable(options.SessionsMax);
        Watches = new WatchTable(Budget, Epochs);
        Deferred = new DeferredActions(Epochs);
        Clock = new ExpiryClock(options.Time);
        SteppedHolds = new SteppedHolds(this);
        Sparse = new SparseRegions(this);
        Room = new RoomKeeper(this);
        Evicted = new EvictedKeys(Budget);
        Shadow = new EvictionShadow(Budget);
        Uses = new UseIntervals(Clock.ReadMs());
        BigKeys = new BigKeys(this);
        Pause = new StorePause(Epochs, SteppedHolds);
        Databases = new DatabaseTable(this, options.Databases);
        Sessions = new StoreSessions(this, options.SessionsMax);
        _upkeep = new StoreUpkeep(this);
        if (options.Background) _thread = new StoreThread(this);
    }

    /// <summary>As given to the constructor.</summary>
    public StoreOptions Options { get; }

    /// <summary>What the store may hold; 0: no limit. Whoever writes asks <see cref="IsOverBudget"/> first.</summary>
    public long MaxMemoryBytes
    {
        get => Budget.MaxBytes;
        set
        {
            Budget.MaxBytes = value;
            AllowBeyond();
        }
    }

    /// <summary>What clients may hold by a limit of their own (what <see cref="Charge"/> was told): where keys are
    /// evicted, none is for that much. 0: they have no limit, and a tenth of <see cref="MaxMemoryBytes"/> is
    /// allowed.</summary>
    internal long ClientBytesMax
    {
        get;
        set
        {
            field = value;
            AllowBeyond();
        }
    }

    /// <summary>What is let go of so that <see cref="MaxMemoryBytes"/> holds.</summary>
    /// <remarks>May change at any time: what has been counted of the use of keys counts on.</remarks>
    public MaxMemoryPolicy MaxMemoryPolicy
    {
        get => Eviction.Policy;
        set
        {
            var rule = EvictionRule.Of(value);
            if ((rule.Worth == EvictionWorth.Frequency) != CountsFrequency && HasKeys) Uses.RenameAll();
            Volatile.Write(ref _eviction, rule with
            {
                LogFactor = FrequencyLogFactor, DecayMinutes = FrequencyDecayMinutes,
            });
            AllowBeyond();
            Room.Doubt();       // what was full may not be so for another policy
            TryWake();
        }
    }

    /// <inheritdoc cref="StoreSession.IdleSeconds"/>
    internal unsafe long IdleSeconds(in ValueView value, long nowMs)
    {
        long used = Log.InfoOf(value.RecordStart)->LastWriteSeconds;
        if (!CountsFrequency) used = Uses.LastUse(value.Use, used, nowMs) / 1000;
        return Math.Max(0, (nowMs / 1000) - used);
    }

    private bool HasKeys => Array.Exists(Table, database => database?.Keys > 0);

    /// <summary>How much rarer a key's use is counted the more often it has been: with the policies that go by
    /// frequency, one time in about this many more.</summary>
    public int FrequencyLogFactor
    {
        get => Eviction.LogFactor;
        set => Volatile.Write(ref _eviction, Eviction with { LogFactor = value });
    }

    /// <summary>Minutes without use after which a key's frequency, of at most 31, is one less; 0: it never
    /// fades.</summary>
    public int FrequencyDecayMinutes
    {
        get => Eviction.DecayMinutes;
        set => Volatile.Write(ref _eviction, Eviction with { DecayMinutes = value });
    }

    /// <summary>Whether the policy goes by how often keys are used (<see cref="ValueView.Frequency"/>).</summary>
    public bool CountsFrequency => Eviction.Worth == EvictionWorth.Frequency;

    /// <summary>The policy, as the store goes by it.</summary>
    internal EvictionRule Eviction => Volatile.Read(ref _eviction);

    /// <summary>Keys that were evicted not long ago.</summary>
    internal EvictedKeys Evicted { get; }

    /// <summary>What would be with twice the memory.</summary>
    internal EvictionShadow Shadow { get; }

    /// <summary>When keys were last used.</summary>
    internal UseIntervals Uses { get; }

    /// <summary>The largest keys.</summary>
    internal BigKeys BigKeys { get; }

    /// <summary>Bytes of values that wait to be freed: charged still.</summary>
    internal long WaitingBytes => Math.Max(0, Deferred.Bytes - Log.RetiredBytes);

    /// <summary>Whether keys whose time has passed are looked for; else they go when they are next touched.</summary>
    public bool ActiveExpiry { get; set; } = true;

    /// <summary>Asked before a key whose time has passed is removed for that alone: whether nothing is to change for
    /// now. Nobody sees the key all the same. From any thread.</summary>
    internal Func<bool>? ExpiryGate { get; set; }

    /// <inheritdoc cref="ExpiryGate"/>
    internal bool IsExpiryHeld => ExpiryGate?.Invoke() == true;

    /// <summary>Up to what size collections are kept packed.</summary>
    public PackedLimits PackedLimits => Options.PackedLimits;

    /// <summary>Bytes of index, log, blocks, and what others charged.</summary>
    public long UsedBytes => Budget.UsedBytes;

    /// <summary>Bytes in use, by use, and what is in no account.</summary>
    public MemoryUse MemoryUse => new(
        Budget.IndexBytes, Budget.LogBytes, Budget.BlockBytes, Budget.ClientBytes, Budget.FeedBytes,
        Budget.TableBytes, Budget.HeapBytes, Log.RetiredBytes, Log.WarmBytes);

    /// <summary>The most that <see cref="UsedBytes"/> was seen at.</summary>
    public long PeakUsedBytes => Budget.PeakBytes;

    /// <summary>True when more is used than allowed: writers are to wait or to be refused
    /// (<see cref="AskRoom"/>).</summary>
    /// <remarks>Likewise while a snapshot has kept more than it should, which is about to be on the disk.</remarks>
    public bool IsOverBudget => Budget.IsOver || IsSnapshotBehind;

    /// <summary>Whether writers are to wait until what they have kept for a snapshot is on the disk.</summary>
    internal bool IsSnapshotBehind => Snapshot is { IsBehind: true };

    /// <summary>Bytes that a snapshot alone still needs, until they are on the disk.</summary>
    internal long PinnedBytes => Snapshot?.PinnedBytes ?? 0;

    /// <summary>Whether a snapshot that goes on, or fails, is what writers wait for.</summary>
    // Where nothing is evicted, what is pinned may all be alive: it will be no room.
    internal bool AwaitsSnapshot => IsSnapshotBehind
        || (Evicts && PinnedBytes is > 0 and var pinned && Budget.IsOver && !Budget.IsOverBy(pinned));

    /// <summary>True when more is used than even what cannot wait may use: a transaction or a script that has begun,
    /// while keys are evicted for it.</summary>
    internal bool IsFarOverBudget => Budget.IsFarOver;

    /// <summary>Whether what can still be refused whole is to be: a script that has changed nothing. It gets no more
    /// than others where nothing is left to be evicted for it.</summary>
    internal bool HasNoRoomToBegin => Budget.IsFarOver || (Budget.IsOver && Room.IsFull);

    internal bool IsOverBudgetBy(long bytes) => Budget.IsOverBy(bytes);

    /// <summary>Whether keys are let go of at the limit.</summary>
    internal bool Evicts => Eviction.Evicts;

    // With noeviction a write that is refused is all there is to bound what clients hold, and what a transaction
    // writes: all of it counts.
    private void AllowBeyond()
    {
        Budget.ClientAllowanceBytes =
            !Evicts ? 0 : ClientBytesMax != 0 ? ClientBytesMax : Budget.MaxBytes / 10;
        Budget.SlackBytes = Evicts ? SlackBytes : 0;
    }

    /// <summary>Whether there is room for a write, or will be when what is dead has been given back.</summary>
    public StoreRoom AskRoom() => Room.Ask();

    /// <summary>Waits until there is room for a write: while what is dead is given back. Not between
    /// <see cref="Enter"/> and the guard's end, which holds that up.</summary>
    /// <returns>False when there is nothing more to give back, or not in time.</returns>
    public bool WaitForRoom(TimeSpan timeout) => Room.Wait(timeout);

    internal RoomKeeper Room { get; }

    /// <summary>The snapshot that is being made; null: none.</summary>
    /// <remarks>Begun while all sessions but the setter's stand still, ended by who has made it.</remarks>
    // Volatile: a writer that finds it ended, or not ended yet, keeps a key or does not; either is right then.
    internal StoreSnapshot? Snapshot
    {
        get => Volatile.Read(ref _snapshot);
        set
        {
            Volatile.Write(ref _snapshot, value);
            Watches.KeepsValues = value != null;
        }
    }

    /// <summary>Whether it is seen to in the background.</summary>
    internal bool HasThread => _thread != null;

    internal MemoryBudget Budget { get; }
    internal SegmentedLog Log { get; }
    internal EpochTable Epochs { get; }
    internal DeferredActions Deferred { get; }
    internal ExpiryClock Clock { get; }
    internal ref readonly KeyHash Hash => ref _hash;
    internal SteppedHolds SteppedHolds { get; }

    /// <summary>Collections whose memory is to be given back.</summary>
    internal SparseRegions Sparse { get; }
    internal StorePause Pause { get; }
    internal WatchTable Watches { get; }

    /// <summary>Sees to keys that somebody waits for and that a session of no command has changed (the store's own, an
    /// embedder's). Called with locks held, perhaps: it only takes note.</summary>
    internal Action<WatchedKey[]>? KeysArrived { get; set; }

    /// <summary>Is told what happens to keys where no session's own listener is: by the store's thread, by an
    /// embedder. From any thread.</summary>
    internal IKeyListener? Listener { get; set; }

    /// <summary>Whether somebody waits to be told of keys that expire: they are looked for at shorter
    /// intervals. Those who keep copies of keys wait for it, too.</summary>
    internal bool ExpiresPromptly
    {
        get => field || Watches.Tracker != null;
        set;
    }

    internal DatabaseTable Databases { get; }

    internal StoreSessions Sessions { get; }

    /// <inheritdoc cref="DatabaseTable.Current"/>
    internal Database?[] Table => Databases.Current;

    /// <summary>Accounts for memory that others hold for this store's clients: positive or negative bytes.</summary>
    public void Charge(long bytes) => Budget.ChargeExternal(bytes);

    /// <summary>Charges objects of the managed heap.</summary>
    internal void ChargeManaged(long bytes) => Budget.ChargeManaged(bytes);

    /// <summary>Charges objects of the managed heap that hold changes on their way to the disk and to
    /// replicas.</summary>
    internal void ChargeFeed(long bytes) => Budget.ChargeFeed(bytes);

    /// <summary>Charges native memory of that kind: the stream for replicas.</summary>
    internal void ChargeStream(long bytes) => Budget.ChargeStream(bytes);

    /// <summary>Forgets the peak.</summary>
    public void ResetPeak() => Budget.ResetPeak();

    /// <summary>A session for a thread that stays; whoever asked for it disposes it.</summary>
    /// <exception cref="InvalidOperationException">There are <see cref="StoreOptions.SessionsMax"/>
    /// already.</exception>
    public StoreSession CreateSession() => Sessions.TryCreate(out var session) ? session : throw HasAllSessions();

    /// <summary>A session for a few operations on this thread; waits while too many others have one.</summary>
    /// <returns>A guard, to be disposed on the same thread and not held across an await.</returns>
    /// <exception cref="InvalidOperationException">There are <see cref="StoreOptions.SessionsMax"/>
    /// already.</exception>
    public StoreGuard Enter()
    {
        StoreSession session = Sessions.Lease() ?? throw HasAllSessions();
        session.Select(0);
        return new StoreGuard(this, session);
    }

    private InvalidOperationException HasAllSessions() =>
        new($"The store has all its {Options.SessionsMax} sessions; raise StoreOptions.SessionsMax.");

    /// <summary>Keys of a database, expired ones too until they are swept. Exact when writers are quiet.</summary>
    public long Count(int database) => Table[database]?.Keys ?? 0;

    /// <summary>Keys that have an expiry.</summary>
    public long CountWithExpiry(int database) => Table[database]?.WithExpiry ?? 0;

    /// <summary>Hashes that have fields with an expiry.</summary>
    public long CountWithFieldExpiry(int database) => Table[database]?.WithFieldExpiry ?? 0;

    /// <summary>Bytes of a database's index.</summary>
    internal long IndexBytes(int database) => Table[database] is not { Index: var index } ? 0
        : (index.BucketCount * HashBucket.Bytes) + index.Overflow.ChargedBytes;

    /// <summary>Mean milliseconds left to the keys that have an expiry, to about a second.</summary>
    public long AverageTtlMs(int database)
    {
        Database? found = Table[database];
        long keys = found?.WithExpiry ?? 0;
        return keys <= 0 ? 0 : Math.Max(0, (found!.ExpirySum / keys << 10) - Clock.ReadMs());
    }

    /// <summary>Empties a database. Atomic and O(1): its memory is freed by the store's thread.</summary>
    public void Flush(int database)
    {
        StoreSession? session = Sessions.TryLease();
        try
        {
            Databases.Flush(database, session);
        }
        finally
        {
            if (session != null) Sessions.Leave(session);
        }
    }

    /// <summary>Empties all databases, as one step.</summary>
    public void FlushAll()
    {
        StoreSession? session = Sessions.TryLease();
        try
        {
            Databases.FlushAll(session);
        }
        finally
        {
            if (session != null) Sessions.Leave(session);
        }
    }

    /// <summary>Exchanges two databases, as one step.</summary>
    public void Swap(int first, int second)
    {
        StoreSession? session = Sessions.TryLease();
        try
        {
            Databases.Swap(first, second, session);
        }
        finally
        {
            if (session != null) Sessions.Leave(session);
        }
    }

    /// <summary>Gives arrivals of a session that does not serve those who wait itself to whoever does.</summary>
    internal void HandOver(KeyArrivals arrivals)
    {
        if (arrivals.Count != 0) KeysArrived?.Invoke(arrivals.TakeFrom(0));
    }

    /// <summary>Gives up a reference to a block; what has to go to the system does so by the store's thread.</summary>
    internal unsafe void Release(Block block)
    {
        // What a command that was refused lets go of counts as nothing that died, and what one has made of it may go.
        if (Room.WasFull && Evicts) Room.Doubt();
        if (!block.Release()) return;
        long bytes = block.ExtentBytes;
        // When more of such waits than the thread gets done, the caller does it.
        if (bytes < FreeElsewhereFromBytes || _thread == null || Extents.Shared.Room >= bytes
            || Deferred.UnreachableBytes > HelpFromBytes
            || !Deferred.TryDeferUnreachable(static (_, start) => new Block((byte*)start).Free(),
                (nint)block.Start, bytes))
        {
            block.Free();
            return;
        }

        if (bytes > HelpFromBytes) _thread.Wake();
    }

    /// <summary>Gives up a record's reference to a block once nobody can be reading the record any more.</summary>
    internal unsafe void Retire(Block block) => Deferred.DeferBlock(static (_, start) =>
    {
        var retired = new Block((byte*)start);
        if (retired.Release()) retired.Free();
    }, (nint)block.Start, block.ExtentBytes);

    /// <summary>Frees a large collection that nobody can find any more, once nobody can be looking ahead into
    /// it.</summary>
    internal unsafe void Release(Region region) =>
        Deferred.Defer(static (_, start) => new Region((byte*)start).Free(), null, (nint)region.Start,
            region.ChargedBytes);

    /// <summary>Frees, likewise, the memory that a large collection has moved away from.</summary>
    internal unsafe void Retire(Region left) =>
        Deferred.Defer(static (_, start) => new Region((byte*)start).FreeMemory(), null, (nint)left.Start, 0);

    /// <summary>Has a segment in which all is dead freed once nobody can be reading it.</summary>
    internal unsafe void Retire(Database database, int segment)
    {
        Log.Retire(segment);
        database.Segments.Remove(segment);
        // Out of the account now, though it is free only after an epoch: so what is moved does not count twice, and who
        // waits for room goes on. It is as much as one round empties.
        Budget.ChargeLog(-SegmentWriter.ChargedFor(Log.Info(segment)->Tail));
        Deferred.Defer(static (target, value) => ((SegmentedLog)target!).Free((int)value, 0), Log, segment,
            SegmentedLog.SegmentBytes);
        _reclaimedSegments++;
    }

    /// <summary>Asks for a round of upkeep soon.</summary>
    /// <returns>False when the store has no thread for that.</returns>
    internal bool TryWake()
    {
        _thread?.Wake();
        return _thread != null;
    }

    /// <summary>A session's share of freeing, when the store's thread does not keep up.</summary>
    internal void HelpFreeing()
    {
        if (Deferred.Bytes <= HelpFromBytes && Deferred.Count <= HelpFromCount) return;
        // Once a millisecond: what waits for a session that is long in its turn (a long command's) is not freed by
        // asking more often, and each round takes processor from a worker. Plain: two who ask at once wake the thread
        // twice.
        long now = Stopwatch.GetTimestamp();
        if (now - Volatile.Read(ref _helpedAt) < HelpEvery) return;
        Volatile.Write(ref _helpedAt, now);
        _thread?.Wake();
    }

    /// <summary>Whether sessions free large values that wait for it, so that the next ones get their memory while it is
    /// in the processor's cache.</summary>
    internal bool HasBlocksToReuse => Deferred.BlockBytes >= ReuseFromBytes;

    /// <summary>Does that at the beginning of a turn, when the session has begun an epoch and shows it. What has to go
    /// to the system is left to the store's thread.</summary>
    internal void FreeBlocks() => Deferred.RunBlocks(Extents.Shared.Room);

    /// <summary>What the store holds and has done.</summary>
    public StoreStats Stats
    {
        get
        {
            (long expired, long expiredFields, long growths, long halvings) = Databases.Counts;
            (long hits, long misses) = Sessions.Reads;
            return new StoreStats(Budget.IndexBytes, Budget.LogBytes, Budget.BlockBytes, Budget.ExternalBytes,
                expired, expiredFields, Volatile.Read(ref _reclaimedSegments), growths, halvings, Deferred.Count,
                _upkeep.Stalls, _upkeep.EvictedKeys, hits, misses, Shadow.Hits);
        }
    }

    /// <summary>Whether it is wanted as soon as an epoch may have passed.</summary>
    internal bool WantsUpkeepNow => Room.IsWanted;

    /// <summary>Whether the next round of upkeep is wanted in some milliseconds.</summary>
    internal bool WantsUpkeepSoon => Deferred.Count != 0 || _upkeep.IsResizing || Room.MustEvict;

    /// <summary>One round of expiry, reclaim and freeing, as the store's thread does them; for stores without
    /// one.</summary>
    public void Maintain()
    {
        lock (_freeLock) _upkeep.Run();
    }

    /// <summary>Takes memory from the system that writers will ask for, so that they need not wait for it.</summary>
    /// <returns>Whether there was any to take of late: the caller is to come back in some milliseconds.</returns>
    internal bool TakeAhead()
    {
        lock (_freeLock) return _upkeep.TakeAhead();
    }

    /// <summary>Walks index and log and throws, with what is wrong, when they disagree. Writers must be
    /// quiet.</summary>
    /// <exception cref="InvalidOperationException">The first disagreement.</exception>
    public void CheckIntegrity() => CheckBlocks();

    /// <summary>Does <see cref="CheckIntegrity"/>, and counts bytes.</summary>
    /// <returns>Bytes of the blocks and large collections that records hold.</returns>
    internal long CheckBlocks()
    {
        lock (_freeLock) return IntegrityCheck.Run(this);       // not while upkeep moves records
    }

    /// <summary>Gives back to the system what is free: what waited for an epoch to pass, segments and extents that are
    /// kept warm, what is free in the C library's heap.</summary>
    /// <remarks>Cost: milliseconds, or a tenth of a second for a gigabyte. Any thread, not in a turn.</remarks>
    internal void GiveBack()
    {
        // The first round lets an epoch pass, the second frees what waited for that.
        Maintain();
        Maintain();
        Log.TrimAll();
        Extents.Shared.TrimTo(0);
        VirtualMemory.TrimHeap();
    }

    /// <summary>Frees everything. The sessions that others created must be disposed before.</summary>
    public void Dispose()
    {
        if (_disposed) return;
        _disposed = true;
        _thread?.Dispose();
        _upkeep.Dispose();
        SteppedHolds.Dispose();
        Pause.Dispose();
        Sessions.Dispose();
        FlushAll();
        // Ends: nobody is online, so each round frees all that is queued; freeing may queue blocks once more.
        while (Deferred.Count != 0) Deferred.Run();
        Epochs.Dispose();
        Watches.Dispose();
        Log.Dispose();
        Extents.Shared.TrimTo(0);
        Budget.Dispose();
    }
}

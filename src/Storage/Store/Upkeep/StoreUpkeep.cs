using System.Diagnostics;

namespace Kv.Storage;

/// <summary>What a store needs done from time to time: expired keys removed, segments reclaimed, retired memory
/// freed.</summary>
/// <remarks>Threads: one at a time (the store's own, or a test's).</remarks>
internal sealed class StoreUpkeep : IDisposable
{
    private const int SweepsPerRound = 64;      // 512 buckets, under 100 us

    private const int HalvingStepsPerRound = 128;       // some milliseconds, with room for others between them

    /// <summary>Huge pages taken ahead, of each kind, before other upkeep has its turn.</summary>
    private const int StepsAhead = 16;

    /// <summary>So long after one was taken the next may be wanted soon.</summary>
    private const int StillWritingMs = 200;

    private readonly StoreSession _session;
    private readonly List<int> _segments = [];
    private readonly ExpirySweeper _sweeper;
    private readonly Survivors _survivors;
    private readonly Reclaimer _reclaimer;
    private readonly Evictor _evictor;
    private readonly StallWatch _stalls;
    private readonly SnapshotPatience _patience;
    private readonly BigKeyWalk _bigKeys;
    private readonly UseWalk _uses;
    private readonly Store _store;

    public StoreUpkeep(Store store)
    {
        _store = store;
        _session = store.CreateSession();
        _sweeper = new ExpirySweeper(store);
        _survivors = new Survivors(store, _session.Slot);
        _reclaimer = new Reclaimer(store, _survivors);
        _evictor = new Evictor(store, _survivors);
        _stalls = new StallWatch(store);
        _patience = new SnapshotPatience(store);
        _bigKeys = new BigKeyWalk(store);
        _uses = new UseWalk(store);
    }

    /// <summary>Whether an index is being doubled or halved: upkeep is to run again in some milliseconds.</summary>
    public bool IsResizing { get; private set; }

    private long _tookAt = -StillWritingMs;

    public long EvictedKeys => _evictor.EvictedKeys;

    public long Stalls => _stalls.Stalls;

    public void Run()
    {
        RoomKeeper room = _store.Room;
        bool wasWanted = room.IsWanted;
        room.BeginRound();
        _reclaimer.BeginRound();
        _evictor.BeginRound();
        _store.SteppedHolds.FinishAbandoned();
        // Not only what is deferred waits for an epoch to pass: sealed segments do, too.
        _store.Epochs.Advance();
        _store.Deferred.Run();
        _stalls.Look();
        _patience.Look();
        _session.BeginTurn();
        try
        {
            RunOnline();
        }
        finally
        {
            _session.GoOffline();       // else nothing would ever be freed again
        }

        _store.Deferred.Run();
        _store.Log.Trim();
        Extents.Shared.Trim();
        room.EndRound(wasWanted, _reclaimer.HasMore || _evictor.HasMore || _store.Sparse.HasMore);
    }

    private void RunOnline()
    {
        Fault.Point("upkeep.round");
        _store.Sparse.Run(_session);
        // Before segments are reclaimed: what that moves lies in one that is written to, where nothing is evicted.
        long begin = Stopwatch.GetTimestamp(), sweeping = 0;
        _evictor.Run(_session);
        Tell(UpkeepPart.Eviction, Stopwatch.GetTimestamp() - begin);
        IsResizing = false;
        foreach (Database? database in _store.Table)
        {
            if (database == null) continue;
            database.Segments.CopyTo(_segments);
            _session.Use(database);
            begin = Stopwatch.GetTimestamp();
            if (_store.ActiveExpiry && !_store.IsExpiryHeld) _sweeper.Run(_segments, _session);
            sweeping += Stopwatch.GetTimestamp() - begin;
            _reclaimer.Run(database, _segments, _session);
            database.Index.Growth.Consider(database.Keys);      // sessions ask once in 64 inserts of theirs
            // Inserts drive a doubling; this only ends one that they left, a little a round: a thread that splits for
            // milliseconds on a worker's own processor is a pause for the worker.
            for (int sweep = 0;
                sweep < SweepsPerRound && database.Index.Growth.IsGrowing && database.Index.Growth.Sweep(); sweep++)
                _session.Tick();
            Halve(database);
            IsResizing |= !database.IsDropped && database.Index.IsResizing;
        }

        Tell(UpkeepPart.Expiry, sweeping);
        _sweeper.EndRound();
        _uses.Advance(_session.NowMs);
        if (_store.Room.IsWanted || _store.Room.MustEvict) return;
        if (_store.Uses.Renames) _uses.Run(_session);
        _bigKeys.Run(_session);
    }

    private void Halve(Database database)
    {
        if (database.IsDropped) return;
        IndexHalving halving = database.Index.Halving;
        if (!_store.SteppedHolds.HadManyLately) halving.Consider(database.Keys);
        for (int step = 0; step < HalvingStepsPerRound && halving.Step(); step++)
        {
            _session.GiveWay();
            if (database.IsDropped) return;
        }
    }

    private void Tell(UpkeepPart part, long ticks) =>
        _store.Options.Took?.Invoke(part, TimeSpan.FromSeconds((double)ticks / Stopwatch.Frequency));

    /// <summary>Takes memory from the system that writers will ask for.</summary>
    /// <returns>Whether there was any to take of late: the caller is to come back in some milliseconds.</returns>
    public bool TakeAhead()
    {
        _session.BeginTurn();
        try
        {
            int steps = 0;
            while (steps < StepsAhead && (_store.Log.Prepare() | PrepareIndexes()))
            {
                steps++;
                _session.GiveWay();     // on one processor with a worker: it is the worker's turn
            }

            long now = Environment.TickCount64;
            if (steps != 0) _tookAt = now;
            return now - _tookAt < StillWritingMs;
        }
        finally
        {
            _session.GoOffline();
        }
    }

    private bool PrepareIndexes()
    {
        bool any = false;
        foreach (Database? database in _store.Table)
            any |= database != null && database.Index.Growth.Prepare(database.Keys);
        return any;
    }

    public void Dispose()
    {
        _survivors.Seal();
        _session.Dispose();
    }
}

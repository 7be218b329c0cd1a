namespace Kv.Storage;

/// <summary>What a store needs done from time to time: expired keys removed, segments reclaimed, retired memory
/// freed.</summary>
/// <remarks>Threads: one at a time (the store's own, or a test's).</remarks>
internal sealed class StoreUpkeep(Store store) : IDisposable
{
    private const int SweepsPerRound = 64;      // 512 buckets, under 100 us

    /// <summary>Huge pages taken ahead, of each kind, before other upkeep has its turn.</summary>
    private const int StepsAhead = 16;

    /// <summary>So long after one was taken the next may be wanted soon.</summary>
    private const int StillWritingMs = 200;

    private readonly StoreSession _session = store.CreateSession();
    private readonly List<int> _segments = [];
    private readonly ExpirySweeper _sweeper = new(store);
    private readonly Reclaimer _reclaimer = new(store);
    private readonly StallWatch _stalls = new(store);

    /// <summary>Whether an index is being doubled: upkeep is to run again in some milliseconds.</summary>
    public bool IsGrowing { get; private set; }

    private long _tookAt = -StillWritingMs;

    public long ReclaimedSegments => _reclaimer.ReclaimedSegments;

    public long Stalls => _stalls.Stalls;

    public void Run()
    {
        RoomKeeper room = store.Room;
        bool wasWanted = room.IsWanted;
        room.BeginRound();
        _reclaimer.BeginRound();
        store.SteppedHolds.FinishAbandoned();
        // Not only what is deferred waits for an epoch to pass: sealed segments do, too.
        store.Epochs.Advance();
        store.Deferred.Run();
        _stalls.Look();
        _session.BeginTurn();
        try
        {
            RunOnline();
        }
        finally
        {
            _session.GoOffline();       // else nothing would ever be freed again
        }

        store.Deferred.Run();
        store.Log.Trim();
        Extents.Shared.Trim();
        room.EndRound(wasWanted, _reclaimer.HasMore || store.Sparse.HasMore);
    }

    private void RunOnline()
    {
        Fault.Point("upkeep.round");
        store.Sparse.Run(_session);
        IsGrowing = false;
        foreach (Database? database in store.Table)
        {
            if (database == null) continue;
            database.Segments.CopyTo(_segments);
            _session.Use(database);
            if (store.ActiveExpiry && !store.IsExpiryHeld) _sweeper.Run(_segments, _session);
            _reclaimer.Run(database, _segments, _session);
            database.Index.Growth.Consider(database.Keys);      // sessions ask once in 64 inserts of theirs
            // Inserts drive a doubling; this only ends one that they left, a little a round: a thread that splits for
            // milliseconds on a worker's own processor is a pause for the worker.
            for (int sweep = 0;
                sweep < SweepsPerRound && database.Index.Growth.IsGrowing && database.Index.Growth.Sweep(); sweep++)
                _session.Tick();
            IsGrowing |= database.Index.Growth.IsGrowing;
        }
    }

    /// <summary>Takes memory from the system that writers will ask for.</summary>
    /// <returns>Whether there was any to take of late: the caller is to come back in some milliseconds.</returns>
    public bool TakeAhead()
    {
        _session.BeginTurn();
        try
        {
            int steps = 0;
            while (steps < StepsAhead && (store.Log.Prepare() | PrepareIndexes()))
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
        foreach (Database? database in store.Table)
            any |= database != null && database.Index.Growth.Prepare(database.Keys);
        return any;
    }

    public void Dispose() => _session.Dispose();
}

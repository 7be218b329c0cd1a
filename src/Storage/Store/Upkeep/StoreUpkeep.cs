namespace Kv.Storage;

/// <summary>What a store needs done from time to time: expired keys removed, segments reclaimed, retired memory freed.</summary>
/// <remarks>Threads: one at a time (the store's own, or a test's).</remarks>
internal sealed class StoreUpkeep(Store store) : IDisposable
{
    private const int SweepsPerRound = 64;      // 512 buckets, under 100 us

    private readonly StoreSession _session = store.CreateSession();
    private readonly List<int> _segments = [];
    private readonly ExpirySweeper _sweeper = new(store);
    private readonly Reclaimer _reclaimer = new(store);
    private readonly StallWatch _stalls = new(store);
    private Action? _pause;

    /// <summary>Whether an index will soon double: upkeep is to run again in some milliseconds.</summary>
    public bool IsGrowthNear { get; private set; }

    public long ReclaimedSegments => _reclaimer.ReclaimedSegments;

    public long Stalls => _stalls.Stalls;

    public void Run()
    {
        RoomKeeper room = store.Room;
        bool wasWanted = room.IsWanted;
        room.BeginRound();
        _reclaimer.BeginRound();
        store.LongHolds.FinishAbandoned();
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
        room.EndRound(wasWanted, _reclaimer.HasMore);
    }

    private void RunOnline()
    {
        Fault.Point("upkeep.round");
        store.Sparse.Run(_session);
        IsGrowthNear = false;
        foreach (Database? database in store.Table)
        {
            if (database == null) continue;
            database.Segments.CopyTo(_segments);
            _session.Use(database);
            if (store.ActiveExpiry && store.IsExpiryHeld?.Invoke() != true) _sweeper.Run(_segments, _session);
            _reclaimer.Run(database, _segments, _session);
            IsGrowthNear |= database.Index.Growth.Prepare(database.Keys, _pause ??= Pause);
            database.Index.Growth.Consider(database.Keys);      // sessions ask once in 64 inserts of theirs
            // Inserts drive a doubling; this only ends one that they left, a little a round: a thread that splits for
            // milliseconds on a worker's own processor is a pause for the worker.
            for (int sweep = 0; sweep < SweepsPerRound && database.Index.Growth.IsGrowing && database.Index.Growth.Sweep(); sweep++)
                _session.Tick();
        }
    }

    // On one processor with a worker: it is the worker's turn.
    private void Pause()
    {
        _session.Tick();
        Thread.Yield();
    }

    public void Dispose() => _session.Dispose();
}

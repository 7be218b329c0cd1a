namespace Kv.Storage;

/// <summary>Notices a session that stands still while memory waits to be freed, and says who it is.</summary>
/// <remarks>Threads: one at a time, the round's. Cost: a walk of the epoch slots, only while something waits.</remarks>
internal sealed class StallWatch(Store store)
{
    /// <summary>No turn of a worker is to take so long, by far.</summary>
    private const int StallMs = 100;

    /// <summary>One report in this time, whoever stands still.</summary>
    private const int ReportMs = 1000;

    private readonly TimeProvider _time = store.Options.Time;
    private int _slot = -1;
    private ulong _announced;
    private long _since, _reported;
    private bool _isCounted, _hasReported;
    private long _stalls;

    /// <summary>Turns that lasted so long, each counted once.</summary>
    public long Stalls => Volatile.Read(ref _stalls);

    /// <summary>Looks once. Call it in each round, after the epoch was advanced and what is safe was freed.</summary>
    public void Look()
    {
        ulong seen = 0;
        int slot = store.Deferred.Count == 0 ? EpochTable.NoSlot : store.Epochs.FindSlowest(out seen);
        // A slot that shows the same epoch as in an earlier round has not left it since: the current one is past it.
        if (slot < 0 || slot != _slot || seen != _announced)
        {
            (_slot, _announced, _since, _isCounted) = (slot, seen, _time.GetTimestamp(), false);
            return;
        }

        long now = _time.GetTimestamp();
        long heldMs = (long)_time.GetElapsedTime(_since, now).TotalMilliseconds;
        if (heldMs < StallMs) return;
        if (!_isCounted) Volatile.Write(ref _stalls, _stalls + 1);
        _isCounted = true;
        if (_hasReported && _time.GetElapsedTime(_reported, now).TotalMilliseconds < ReportMs) return;
        (_hasReported, _reported) = (true, now);
        store.Options.Stalled?.Invoke(
            new StoreStall(store.Sessions.HolderOf(slot), heldMs, store.Deferred.Count, store.Deferred.Bytes));
    }
}

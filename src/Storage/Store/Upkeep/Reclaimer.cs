namespace Kv.Storage;

/// <summary>Frees the dead space of sealed segments: the survivors of the emptiest ones move, and the segment is free.</summary>
/// <remarks>
/// Threads: one at a time. A sealed segment is touched only when an epoch has passed since: then every record in it is
/// published, or dead. Policy: while more than a quarter of a database's log is dead, the segments with the least alive
/// are emptied, so a byte that stays alive is copied at most about four times for each byte of writes. Segments that a
/// session gave up less than half full are merged, whatever is alive in them.
/// </remarks>
internal sealed unsafe class Reclaimer(Store store)
{
    private const int SegmentsPerRound = 16;
    private const double DeadShareMax = 0.25, DeadShareOfSegmentMin = 0.30;

    private readonly List<(bool Always, int Dead, int Segment)> _candidates = [];

    public long ReclaimedSegments { get; private set; }

    public void Run(Database database, List<int> segments, StoreSession session)
    {
        long used = 0, dead = 0;
        ulong safe = store.Epochs.SafeBelow();
        _candidates.Clear();
        foreach (int segment in segments)
        {
            SegmentInfo* info = store.Log.Info(segment);
            int segmentDead = Volatile.Read(ref info->DeadBytes), tail = Volatile.Read(ref info->Tail);
            used += tail;
            dead += segmentDead;
            bool sealedAndSafe = Volatile.Read(ref *(int*)&info->State) == (int)SegmentState.Sealed && info->SealEpoch < safe;
            bool always = segmentDead == tail || tail < SegmentedLog.SegmentBytes / 2;
            if (sealedAndSafe && (always || segmentDead >= tail * DeadShareOfSegmentMin)) _candidates.Add((always, segmentDead, segment));
        }

        if (_candidates.Count == 0) return;
        _candidates.Sort((left, right) => (right.Always, right.Dead).CompareTo((left.Always, left.Dead)));
        int emptied = 0;
        foreach ((bool always, int segmentDead, int segment) in _candidates)
        {
            int tail = store.Log.Info(segment)->Tail;
            if ((!always && dead <= used * DeadShareMax) || emptied == SegmentsPerRound || database.IsDropped) return;
            if (!TryEmpty(database, segment, session)) return;
            used -= tail;
            dead -= segmentDead;
            if (segmentDead != tail) emptied++;
            session.Tick();
        }
    }

    private bool TryEmpty(Database database, int segment, StoreSession session)
    {
        var scan = new LogScanner(store.Log, segment);
        while (scan.Next(out byte* record, out ulong word))
        {
            if (RecordWord.IsDead(word) || !session.TryLock(record, out word)) continue;
            if (!session.Changes.TryMove(database, record, word)) return false;
        }

        SegmentInfo* info = store.Log.Info(segment);
        Volatile.Write(ref *(int*)&info->State, (int)SegmentState.Retired);
        database.Segments.Remove(segment);
        store.Deferred.Defer(static (target, value) =>
        {
            var log = (SegmentedLog)target!;
            log.Free((int)value, SegmentWriter.ChargedFor(log.Info((int)value)->Tail));
        }, store.Log, segment, SegmentedLog.SegmentBytes);
        ReclaimedSegments++;
        return true;
    }
}

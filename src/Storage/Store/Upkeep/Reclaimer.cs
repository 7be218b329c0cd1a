namespace Kv.Storage;

/// <summary>Frees the dead space of sealed segments: the survivors of the emptiest ones move, and the segment is
/// free.</summary>
/// <remarks>
/// Threads: one at a time. A sealed segment is touched only when an epoch has passed since: then every record in it is
/// published, or dead. Policy: while more than a quarter of a database's log is dead, the segments with the least alive
/// are emptied, so a byte that stays alive is copied at most about four times for each byte of writes. Segments that a
/// session gave up less than half full are merged, whatever is alive in them. While the store is short of room
/// (<see cref="RoomKeeper"/>) less has to be dead, as little as it takes to get room, most dead first.
/// </remarks>
internal sealed unsafe class Reclaimer(Store store, Survivors survivors)
{
    private const int SegmentsPerRound = 16;
    private const double DeadShareMax = 0.25, DeadShareOfSegmentMin = 0.30;

    private readonly List<(bool Always, int Dead, int Segment)> _candidates = [];

    /// <summary>Whether the next round may find more, though the store is short of room.</summary>
    public bool HasMore { get; private set; }

    public void BeginRound() => HasMore = false;

    public void Run(Database database, List<int> segments, StoreSession session)
    {
        long used = 0, dead = 0;
        ulong safe = store.Epochs.SafeBelow();
        RoomKeeper room = store.Room;
        bool isShort = room.IsShort;
        double least = isShort ? room.DeadShareMin : DeadShareOfSegmentMin;
        _candidates.Clear();
        foreach (int segment in segments)
        {
            SegmentInfo* info = store.Log.Info(segment);
            int segmentDead = Volatile.Read(ref info->DeadBytes), tail = Volatile.Read(ref info->Tail);
            used += tail;
            dead += segmentDead;
            if (Volatile.Read(ref *(int*)&info->State) != (int)SegmentState.Sealed) continue;
            bool always = segmentDead == tail || tail < SegmentedLog.SegmentBytes / 2;
            if (!always && segmentDead < tail * least) continue;
            if (info->SealEpoch < safe) _candidates.Add((always, segmentDead, segment));
            else HasMore |= isShort && segmentDead != 0;
        }

        if (_candidates.Count == 0) return;
        _candidates.Sort((left, right) => (right.Always, right.Dead).CompareTo((left.Always, left.Dead)));
        int emptied = 0, most = isShort ? room.SegmentsPerRound : SegmentsPerRound;
        foreach ((bool always, int segmentDead, int segment) in _candidates)
        {
            int tail = store.Log.Info(segment)->Tail;
            if (database.IsDropped || (!always && dead <= used * DeadShareMax && !(isShort && room.IsShort))) return;
            if (emptied == most || !room.MayRetire)
            {
                HasMore |= isShort;
                return;
            }

            // What is dead stays so: where all is there is nothing to look for.
            if (segmentDead != tail && !TryMoveLive(database, segment, session)) return;
            store.Retire(database, segment);
            used -= tail;
            dead -= segmentDead;
            if (segmentDead != tail) emptied++;
            session.Tick();
        }
    }

    /// <returns>False when a record could not be moved for want of memory, or the database is no more.</returns>
    private bool TryMoveLive(Database database, int segment, StoreSession session)
    {
        int records = 0;
        bool isMain = store.Log.Info(segment)->Queue == SegmentQueue.Main;
        if (isMain) survivors.SetClock(session.NowMs);
        var scan = new LogScanner(store.Log, segment);
        while (scan.Next(out byte* record, out ulong word))
        {
            if (++records >= store.Room.RecordsPerSlice)
            {
                records = 0;
                // The segment stays: it is sealed, and this thread frees it, or the whole database.
                session.GiveWay();
                if (database.IsDropped) return false;
            }

            if (RecordWord.IsDead(word) || !session.TryLock(record, out word)) continue;
            RecordChanges changes = isMain ? survivors.For(word) : session.Changes;
            if (!changes.TryMove(database, record, word)) return false;
        }

        return true;
    }
}

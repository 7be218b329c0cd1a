using System.Diagnostics;

namespace Kv.Storage;

/// <summary>Makes room at the limit: empties segments, keeps what is worth most in them, and evicts the rest.</summary>
/// <remarks>
/// Threads: one at a time. Policy: S3-FIFO by segments (SOSP 2023), with the bounded copying of Segcache (NSDI 2021).
/// What sessions write is young; what has outlived the emptying of its segment is in the main queue.
/// <see cref="QueueBalance"/> says which of the two is emptied, oldest segments first. A batch of segments is weighed,
/// then everything goes that is worth no more than its least quarter, so at most three bytes are copied for one that is
/// won. Survivors lose a degree of heat, and have to be used again to stay once more. Locked records stay where they
/// are: nobody is waited for.
/// </remarks>
internal sealed unsafe class Evictor(Store store, Survivors survivors)
{
    /// <summary>What is weighed together: less would make the worth of single segments decide.</summary>
    private const int BatchBytes = 4 * SegmentedLog.SegmentBytes;

    /// <summary>Batches of one round: after it what was let go of can be freed.</summary>
    private const int BatchesPerRound = 8;

    /// <summary>A batch loses at least one byte in this many.</summary>
    private const int LeastShare = 4;

    /// <summary>Records that are only looked at before the thread gives its processor away, if somebody wants
    /// it.</summary>
    private const int WeighedPerSlice = 1024;

    /// <summary>Rounds that wait for sessions to give up what they write to, before keys are evicted there: their room
    /// is won later.</summary>
    private const int PatientRounds = 3;

    /// <summary>For so long a segment in which nothing may go is not looked at again.</summary>
    private const int BarrenMs = 1000;

    private readonly record struct Candidate(Database Database, int Segment, bool IsLater, ulong Rank);

    private readonly List<Candidate> _candidates = [];
    private readonly List<int> _segments = [];
    private readonly Dictionary<int, (long Generation, int Tail, long TickMs)> _barren = [];
    private readonly long[] _bytesByWorth = new long[EvictionRule.Worths];
    private readonly QueueBalance _balance = new(store.Evicted);
    private EvictionRule _rule = EvictionRule.Of(MaxMemoryPolicy.NoEviction);
    private long _evictedKeys;
    private uint _seed = 1;
    private int _roundsWithout;

    public long EvictedKeys => Volatile.Read(ref _evictedKeys);

    /// <summary>Whether the next round may win more room.</summary>
    public bool HasMore { get; private set; }

    public void BeginRound() => HasMore = false;

    /// <summary>Evicts until there is room, or nothing is left that may go.</summary>
    public void Run(StoreSession session)
    {
        _rule = store.Eviction;
        // Also where there is no limit any more: 4 bytes for each key that there was would stay for ever.
        bool hasLimit = store.MaxMemoryBytes != 0;
        if (!_rule.GoesByUse || !hasLimit) store.Evicted.Clear();
        if (!_rule.Evicts || !hasLimit) store.Shadow.Clear();
        if (!store.Room.MustEvict || store.IsExpiryHeld)
        {
            store.Room.WantsSealed = false;
            store.Room.HasForeseen();
            _roundsWithout = 0;
            HasMore = _rule.Evicts;     // what is written from here on may be too much before the round ends
            return;
        }

        for (int batch = 0; store.Room.MustEvict; batch++)
        {
            Fault.Point("evict.batch");
            if (HalvesIndexes()) continue;
            if (AwaitsHalving())
            {
                HasMore = true;
                return;
            }

            PickSealed(out bool waits, out bool written);
            if (_candidates.Count == 0) PickWritten(written);
            bool isEnough = batch == BatchesPerRound || !store.Room.MayRetire;
            if (_candidates.Count == 0 || isEnough)
            {
                HasMore |= waits || isEnough;
                return;
            }

            if (!TryEmptyBatch(session, out bool wins)) return;
            if (!wins) continue;        // each such batch leaves segments that are not picked again for a while
            HasMore = true;
            store.Room.Doubt();
        }

        store.Room.HasForeseen();
    }

    /// <summary>Has indexes halved that few keys are left in: what they will give is room at once.</summary>
    private bool HalvesIndexes()
    {
        if (store.SteppedHolds.HasMany) return false;
        bool any = false;
        foreach (Database? database in store.Table)
            any |= database != null && database.Index.Halving.Consider(database.Keys);
        return any;
    }

    /// <summary>Whether an index will give more by itself, when it has been halved: until then no key has to
    /// go.</summary>
    private bool AwaitsHalving()
    {
        if (store.SteppedHolds.HasMany) return false;
        foreach (Database? database in store.Table)
            if (database != null && database.Index.Halving.ComesAgain(database.Keys)) return true;
        return false;
    }

    /// <summary>Lists the segments of the next batch.</summary>
    /// <param name="waits">Whether there are more that nobody may touch before an epoch has passed.</param>
    /// <param name="written">Whether there may be more that sessions write to.</param>
    private void PickSealed(out bool waits, out bool written)
    {
        waits = written = false;
        _candidates.Clear();
        ulong safe = store.Epochs.SafeBelow();
        long young = 0, main = 0, keys = 0;
        foreach (Database? database in store.Table)
        {
            if (database == null) continue;
            keys += database.Keys;
            database.Segments.CopyTo(_segments);
            foreach (int segment in _segments)
            {
                SegmentInfo* info = store.Log.Info(segment);
                int alive = Volatile.Read(ref info->Tail) - Volatile.Read(ref info->DeadBytes);
                bool isMain = info->Queue == SegmentQueue.Main;
                if (isMain) main += alive;
                else young += alive;
                if (!MayHold(segment, info)) continue;
                written |= alive != 0 && StateOf(info) == SegmentState.Active;
                if (StateOf(info) != SegmentState.Sealed) continue;
                if (info->SealEpoch < safe) _candidates.Add(new Candidate(database, segment, isMain, RankOf(info)));
                else waits = true;
            }
        }

        if (_rule.GoesByUse) store.Evicted.Fit(keys);
        store.Shadow.Fit(young + main + store.Budget.BlockBytes);
        bool byQueue = _rule.GoesByUse, youngFirst = byQueue && _balance.IsYoungNext(young, main, keys);
        _candidates.Sort((left, right) => byQueue && left.IsLater != right.IsLater
            ? (left.IsLater == youngFirst ? 1 : -1) : left.Rank.CompareTo(right.Rank));
        int count = 0;
        for (long bytes = 0; count < _candidates.Count && bytes < BatchBytes; count++)
        {
            if (byQueue && _candidates[count].IsLater != _candidates[0].IsLater) break;
            bytes += store.Log.Info(_candidates[count].Segment)->Tail;
        }

        _candidates.RemoveRange(count, _candidates.Count - count);
        if (count == 0) return;
        _roundsWithout = 0;
        store.Room.WantsSealed = false;
    }

    /// <summary>Asks sessions to give up the segments that they write to; lists those when that has not helped for a
    /// while: a session that has no turn gives up nothing.</summary>
    /// <param name="any">Whether there are any.</param>
    private void PickWritten(bool any)
    {
        store.Room.WantsSealed = any && ++_roundsWithout < PatientRounds;
        if (!any) return;
        HasMore |= store.Room.WantsSealed;
        foreach (Database? database in store.Table)
        {
            // Values that lie elsewhere are won at once; what is in the segment only when it has been given up.
            if (database == null || (store.Room.WantsSealed && database.Outside == 0)) continue;
            database.Segments.CopyTo(_segments);
            foreach (int segment in _segments)
            {
                SegmentInfo* info = store.Log.Info(segment);
                if (StateOf(info) == SegmentState.Active && MayHold(segment, info) && info->Tail > info->DeadBytes)
                    _candidates.Add(new Candidate(database, segment, IsLater: false, RankOf(info)));
            }
        }
    }

    private static SegmentState StateOf(SegmentInfo* info) => (SegmentState)Volatile.Read(ref *(int*)&info->State);

    /// <summary>Whether there may be something that the policy evicts.</summary>
    private bool MayHold(int segment, SegmentInfo* info) => !_rule.IsVolatile
        || (Volatile.Read(ref info->EarliestExpiryMs) != long.MaxValue && !IsBarren(segment, info));

    /// <summary>Whether a segment was found a moment ago to have nothing that may go, and nothing was added since: its
    /// mark is also that of fields of hashes, and of keys that have no expiry any more.</summary>
    private bool IsBarren(int segment, SegmentInfo* info) =>
        _barren.TryGetValue(segment, out var found) && found.Generation == info->Generation
        && found.Tail == Volatile.Read(ref info->Tail) && Environment.TickCount64 - found.TickMs < BarrenMs;

    /// <summary>Whether a record may be evicted at all. With room for an expiry it may have none.</summary>
    private bool MayEvict(byte* record, ulong word) =>
        !_rule.IsVolatile || Record.ExpiryOf(record, word) != Record.NoExpiry;

    private ulong RankOf(SegmentInfo* info) => _rule.Worth == EvictionWorth.TimeLeft
        ? (ulong)Volatile.Read(ref info->EarliestExpiryMs) : info->SealEpoch;

    /// <param name="wins">Whether something was won.</param>
    /// <returns>False when the round is to end: another one would find the same.</returns>
    private bool TryEmptyBatch(StoreSession session, out bool wins)
    {
        wins = false;
        _seed = _seed * 1664525 + 1013904223;
        Array.Clear(_bytesByWorth);
        int picked = _candidates.Count;
        for (int i = picked - 1; i >= 0; i--)
        {
            Candidate candidate = _candidates[i];
            int tail = Volatile.Read(ref store.Log.Info(candidate.Segment)->Tail);      // before it is looked at
            if (!TryWeigh(candidate, session, out bool isBarren)) return false;
            if (!isBarren) continue;
            SegmentInfo* info = store.Log.Info(candidate.Segment);
            _barren[candidate.Segment] = (info->Generation, tail, Environment.TickCount64);
            _candidates.RemoveAt(i);
        }

        int most = MostToEvict();
        long before = EvictedKeys;
        foreach (Candidate candidate in _candidates)
        {
            if (!TryEmpty(candidate, most, session, out bool isEmpty)) return false;
            wins |= isEmpty;
            store.Room.GoOnIfRoom();
            if (!store.Room.MustEvict || !store.Room.MayRetire) break;
        }

        wins |= EvictedKeys != before;
        return wins || _candidates.Count != picked;
    }

    /// <summary>Adds up what the records of a segment are worth.</summary>
    /// <param name="isBarren">Whether it has some, and none of them may go.</param>
    /// <returns>False when its database is no more.</returns>
    private bool TryWeigh(in Candidate candidate, StoreSession session, out bool isBarren)
    {
        isBarren = false;
        bool keeps = false, mayGive = false;
        // Also when the processor was given away for another segment: the segments of a dropped database are others' by
        // now.
        if (candidate.Database.IsDropped) return false;
        int records = 0;
        var scan = new LogScanner(store.Log, candidate.Segment);
        while (scan.Next(out byte* record, out ulong word))
        {
            if ((++records & (WeighedPerSlice - 1)) == 0)
            {
                session.GiveWay();      // the segment stays, as for the reclaimer
                if (candidate.Database.IsDropped) return false;
            }

            if (RecordWord.IsDead(word)) continue;
            // A locked one may be anything by the time it is let go of.
            bool isLocked = (word & RecordWord.Lock) != 0, mayGo = isLocked || MayEvict(record, word);
            mayGive |= mayGo;
            keeps |= !mayGo;
            if (isLocked || !mayGo) continue;
            _bytesByWorth[WorthOf(record, word, session.NowMs)] += RecordWord.Size(word) + OutsideOf(record, word);
        }

        isBarren = keeps && !mayGive;
        return true;
    }

    /// <summary>What the least quarter of the batch is worth at most.</summary>
    private int MostToEvict()
    {
        long all = 0, sum = 0;
        foreach (long bytes in _bytesByWorth) all += bytes;
        int worth = 0;
        // Ends: the sum of all is not below a quarter of it.
        while ((sum += _bytesByWorth[worth]) < (all + LeastShare - 1) / LeastShare) worth++;
        return worth;
    }

    /// <summary>Evicts from a segment what is worth no more than that, moves the rest, and retires the segment. One
    /// that is written to is not left.</summary>
    /// <returns>False when the database is no more, or there is no memory to move to.</returns>
    private bool TryEmpty(in Candidate candidate, int most, StoreSession session, out bool isEmpty)
    {
        isEmpty = false;
        Database database = candidate.Database;
        if (database.IsDropped) return false;
        SegmentInfo* info = store.Log.Info(candidate.Segment);
        bool isSealed = StateOf(info) == SegmentState.Sealed;
        SegmentQueue queue = info->Queue;
        int records = 0;
        bool leaves = false, wonOutside = false;
        long secondsOld = Math.Max(0, (session.NowMs / 1000) - info->LastWriteSeconds);
        survivors.SetClock(session.NowMs);
        var scan = new LogScanner(store.Log, candidate.Segment);
        while (scan.Next(out byte* record, out ulong word))
        {
            if (++records >= store.Room.RecordsPerSlice)
            {
                records = 0;
                session.GiveWay();
                if (database.IsDropped) return false;
                survivors.SetClock(session.NowMs);
            }

            if (RecordWord.IsDead(word)) continue;
            if ((word & RecordWord.Lock) != 0 || !Record.TryLockFrom(record, word))
            {
                leaves = true;
                continue;
            }

            if (MayEvict(record, word) && WorthOf(record, word, session.NowMs) <= most)
            {
                wonOutside |= RecordWord.HoldsPointer(word);
                Evict(database, record, word, queue, session);
                // What lies elsewhere is won at once: no more of it than is needed.
                if (wonOutside && !store.Room.MustEvict) return true;
            }
            else if (!isSealed)
            {
                Record.Unlock(record, word);
            }
            else
            {
                ulong cooled = RecordWord.WithUse(word, _rule.Cooled(RecordWord.Use(word), secondsOld));
                if (!survivors.For(word).TryMove(database, record, cooled)) return false;
            }
        }

        if (leaves || !isSealed) return true;
        store.Retire(database, candidate.Segment);
        isEmpty = true;
        return true;
    }

    private void Evict(Database database, byte* record, ulong word, SegmentQueue queue, StoreSession session)
    {
        Debug.Assert((Record.ReadWord(record) & RecordWord.Lock) != 0, "the record is locked");
        ulong hash = database.Index.Hash.Of(Record.KeyOf(record, word));
        var held = new HeldRecord { Database = database, Record = record, Word = word, Hash = hash };
        if (Record.IsExpired(record, word, session.NowMs))
        {
            session.Changes.Expire(ref held);
        }
        else
        {
            long bytes = RecordWord.Size(word) + OutsideOfLocked(record, word);
            store.Shadow.Add(hash, database.Id, bytes, Record.ExpiryOf(record, word));
            session.Changes.MakeAbsent(ref held, why: KeyNote.Evicted);
            if (_rule.GoesByUse) store.Evicted.Add(hash, database.Id, queue);
            Volatile.Write(ref _evictedKeys, _evictedKeys + 1);
        }

        session.Changes.LetGo(ref held);
    }

    private int WorthOf(byte* record, ulong word, long nowMs)
    {
        long left = _rule.Worth == EvictionWorth.TimeLeft ? Record.ExpiryOf(record, word) - nowMs : 0;
        // of its place: the same in both looks at a batch
        uint chance = (uint)((((ulong)record >> 3) ^ _seed) * 0x9E3779B97F4A7C15UL >> 32);
        return _rule.WorthOf(word, left, chance);
    }

    /// <summary>Bytes that a value has outside of the log, 0 when somebody has it locked.</summary>
    private static long OutsideOf(byte* record, ulong word)
    {
        if (!RecordWord.HoldsPointer(word) || !Record.TryLockFrom(record, word)) return 0;
        long bytes = OutsideOfLocked(record, word);
        Record.Unlock(record, word);
        return bytes;
    }

    private static long OutsideOfLocked(byte* record, ulong word) => !RecordWord.HoldsPointer(word) ? 0
        : RecordWord.HoldsBlock(word) ? Record.BlockOf(record, word).ExtentBytes
        : Record.RegionOf(record, word).ChargedBytes;
}

using System.Collections.Concurrent;
using System.Diagnostics;

namespace Kv.Storage;

/// <summary>Large collections that have much more memory than they need: one after another gets back to its
/// size.</summary>
/// <remarks>
/// What is left of one moves to a region of its size (<see cref="RegionRebuild"/>), if that is little, or its sparse
/// pages are emptied and go back to the system (<see cref="RegionTidying"/>), between the operations of others. Who
/// needs a key meanwhile ends the first, not the second. None is forgotten: where something is in the way it is tried
/// again later, each time twice as much later, up to some seconds. While the store holds nearly all that it may, little
/// that is free is much, and those that have most come first: a writer that found no room waits for it
/// (<see cref="RoomKeeper"/>). Threads: any may note one, with its key locked; the store's own works on them.
/// </remarks>
internal sealed class SparseRegions(Store store)
{
    /// <summary>How many are looked at in a round.</summary>
    private const int LooksPerRound = 128;

    /// <summary>Steps of tidying in a round, each with the key held for itself, and how much a step does.</summary>
    private const int StepsPerRound = 1024, ShareOfStep = 8;

    /// <summary>Rounds after which a collection that changes is noted again: it may have got another key
    /// meanwhile.</summary>
    private const int RoundsPerAge = 64;

    // More is free than what could not be given back last time: by an eighth of that, or by so much where a writer
    // waits.
    private const int DueShare = 8, WantedBytes = 16 * 1024;

    private const int PausesMax = 6;            // 64 rounds, which is 6 s of an idle store
    private const int DisturbedMax = 2;         // then a small one is done in one go
    private const long InOneGoBytes = 128 * 1024;

    private readonly ConcurrentQueue<(Database Database, byte[] Key)> _arrived = new();
    private readonly Queue<Noted> _noted = [];
    private readonly HashSet<(Database Database, byte[] Key)> _known = new(new ByKey());
    private readonly List<Noted> _ordered = [];
    private long _round;
    private int _steps;
    private byte _now = 1;

    private sealed class Noted(Database database, byte[] key)
    {
        public readonly Database Database = database;
        public readonly byte[] Key = key;
        public int Disturbed;
        public long Due, FreeBytes, FreeBytesLeft;
    }

    /// <summary>What a region says that is noted now: never 0.</summary>
    public byte Now => Volatile.Read(ref _now);     // stale: it is noted once more, or a little later

    /// <summary>Whether the next round may find more, though the store is nearly full.</summary>
    public bool HasMore { get; private set; }

    /// <summary>Notes a collection.</summary>
    public void Note(Database database, ReadOnlySpan<byte> key)
    {
        _arrived.Enqueue((database, key.ToArray()));
        store.Room.Doubt();
    }

    /// <summary>Works on those that are noted.</summary>
    public void Run(StoreSession session)
    {
        if (++_round % RoundsPerAge == 0) Volatile.Write(ref _now, _now == byte.MaxValue ? (byte)1 : (byte)(_now + 1));
        // Ends: as many as there are now.
        for (int left = _arrived.Count; left > 0 && _arrived.TryDequeue(out var arrived); left--)
            if (_known.Add(arrived)) _noted.Enqueue(new Noted(arrived.Database, arrived.Key));
        HasMore = false;
        if (_noted.Count == 0) return;
        _steps = StepsPerRound;
        bool isTight = store.Budget.IsNearlyFull, isWanted = store.Room.IsWanted;
        if (isTight) PutMostFreeFirst(session);
        for (int left = isTight ? _noted.Count : Math.Min(_noted.Count, LooksPerRound); left > 0; left--)
        {
            Noted noted = _noted.Dequeue();
            bool isDue = noted.Due <= _round
                || (isTight && noted.FreeBytes > noted.FreeBytesLeft
                    + (isWanted ? WantedBytes : noted.FreeBytesLeft / DueShare));
            if (!isDue || _steps == 0) _noted.Enqueue(noted);
            else if (Work(session, noted, isTight)) _known.Remove((noted.Database, noted.Key));
            else _noted.Enqueue(noted);
            session.Tick();
            HasMore |= isTight && _steps == 0;
            isTight = isTight && store.Budget.IsNearlyFull;
        }

        Debug.Assert(_known.Count == _noted.Count, "each key that is known is noted once");
    }

    private void PutMostFreeFirst(StoreSession session)
    {
        _ordered.Clear();
        // Ends: all that there are.
        while (_noted.TryDequeue(out var noted))
        {
            noted.FreeBytes = 0;
            if (!noted.Database.IsDropped)
            {
                session.Use(noted.Database);
                using var held = session.Hold(session.Key(noted.Key), DataType.Any);
                if (held.Status == StoreStatus.Ok && held.Value.HoldsRegion)
                    noted.FreeBytes = RegionRebuild.SpareBytes(held.Value);
            }

            _ordered.Add(noted);
            session.Tick();
        }

        _ordered.Sort((left, right) => right.FreeBytes.CompareTo(left.FreeBytes));
        foreach (var noted in _ordered) _noted.Enqueue(noted);
    }

    /// <summary>Works on one.</summary>
    /// <returns>True when it need not be looked at any more.</returns>
    private bool Work(StoreSession session, Noted noted, bool isTight)
    {
        if (noted.Database.IsDropped) return true;
        session.Use(noted.Database);
        if (session.SnapshotWait.TryAwait(session.Key(noted.Key))) return false;
        using var rebuild = new RegionRebuild(store);
        IHeldSteps? use = null;
        bool isWanted, copies, isDone = false;
        using (var held = session.Hold(session.Key(noted.Key), DataType.Any))
        {
            if (held.Status != StoreStatus.Ok || !held.Value.HoldsRegion) return true;
            HeldValue value = held.Value;
            if (!RegionRebuild.MayBeWanted(value))
            {
                value.Region.NotedAt = 0;       // it may become sparse once more
                return true;
            }

            isWanted = RegionRebuild.IsWanted(value, isTight);
            copies = isWanted && RegionRebuild.IsBest(value, isTight);
            if (copies && noted.Disturbed >= DisturbedMax && RegionRebuild.NeededBytes(value) <= InOneGoBytes)
                isDone = rebuild.TryRun(value);
            else if (copies) use = held.TryBeginUse(rebuild);
        }

        if (!isWanted) return false;        // it may be, when more has gone, or when the store is nearly full
        // Ends: each step gets on, or somebody has ended it.
        while (use != null && !use.Step())
        {
        }

        isDone |= use != null && rebuild.IsDone && use.Failure == null;
        // One that others disturb is seen to between what they do.
        if (!isDone && (!copies || noted.Disturbed >= DisturbedMax)) isDone = Tidy(session, noted, isTight);
        noted.Disturbed = isDone ? 0 : noted.Disturbed + 1;
        noted.Due = _round + (1L << Math.Clamp(noted.Disturbed - DisturbedMax, 0, PausesMax));
        return false;
    }

    /// <summary>Empties sparse pages, some at each hold of the key.</summary>
    /// <returns>False when a round has ended that had little to give back: another is of no use soon.</returns>
    private bool Tidy(StoreSession session, Noted noted, bool isTight)
    {
        // Ends: fewer each round.
        for (; _steps > 0; _steps--)
        {
            using (var held = session.Hold(session.Key(noted.Key), DataType.Any))
            {
                if (held.Status != StoreStatus.Ok || !held.Value.HoldsRegion || !held.Value.Region.CanGiveBack)
                    return false;
                if (RegionTidying.Step(held.Value, ShareOfStep, isThorough: true))
                {
                    noted.FreeBytesLeft = RegionRebuild.SpareBytes(held.Value);
                    return !RegionRebuild.IsWanted(held.Value, isTight);
                }
            }

            session.Tick();
        }

        return true;        // the next round goes on
    }

    private sealed class ByKey : IEqualityComparer<(Database Database, byte[] Key)>
    {
        public bool Equals((Database Database, byte[] Key) left, (Database Database, byte[] Key) right) =>
            left.Database == right.Database && left.Key.AsSpan().SequenceEqual(right.Key);

        public int GetHashCode((Database Database, byte[] Key) noted)
        {
            var hash = default(HashCode);
            hash.AddBytes(noted.Key);
            return hash.ToHashCode();
        }
    }
}

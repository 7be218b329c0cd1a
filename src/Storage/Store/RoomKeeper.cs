using System.Diagnostics;
using System.Runtime.CompilerServices;

namespace Kv.Storage;

/// <summary>Says whether there is room for a write, and sees to it that what is dead becomes room when there is
/// none.</summary>
/// <remarks>
/// A log of records holds what is dead until its segment is emptied, which is done in time only where much is dead. So
/// near the limit the reclaimer is content with less, and a writer beyond it waits for a moment, outside of a turn,
/// while segments are emptied, most dead first. It is refused when a whole round of upkeep has found nothing more to
/// give back, and then at once, until something has died again. Threads: any may ask; the rounds are upkeep's.
/// </remarks>
internal sealed class RoomKeeper(Store store)
{
    /// <summary>What has to die before a store that was found full is looked through again.</summary>
    private const long GainMin = 64 * 1024;

    /// <summary>Share of a segment that must be dead: when nearly all room is in use, and when a writer
    /// waits.</summary>
    private const double DeadShareNear = 1.0 / 8, DeadShareWanted = 1.0 / 64,
        DeadShareEvicting = 1.0 / 4;

    private const long EvictionHeadroomMax = 64L << 20;
    private const long RetiredMin = 2 * SegmentedLog.SegmentBytes, RetiredMax = 64L << 20;

    private const int NotFull = -1;
    private static readonly TimeSpan LookEvery = TimeSpan.FromMilliseconds(10);
    private static readonly long PatienceTicks = 5 * Stopwatch.Frequency;        // longer than anybody waits

    private readonly object _decided = new();
    private long _freedWhenFull = NotFull, _limitWhenFull, _expiringWhenFull;
    private long _askedAt, _freedAtBegin, _usedAtBegin, _expiringAtBegin;
    private int _wanted, _foreseen;

    /// <summary>Called when those who wait are to ask again; on the store's thread.</summary>
    public Action? Decided { get; set; }

    /// <summary>Whether a writer waits.</summary>
    public bool IsWanted => Volatile.Read(ref _wanted) != 0;

    /// <summary>Bytes that upkeep keeps free while it can, so that writers seldom wait.</summary>
    public long Headroom => Math.Clamp(store.Budget.MaxBytes / 32, 2 * SegmentedLog.SegmentBytes, 64L << 20);

    /// <summary>Whether more is to be given back.</summary>
    public bool IsShort
    {
        get
        {
            long most = store.Budget.MaxBytes;
            return most != 0 && store.Budget.CountedBytes > most - Math.Min(Headroom, most / 2);
        }
    }

    /// <summary>Whether keys are to be evicted: the policy allows it, and the limit is passed, or nearly. What has been
    /// let go of and waits for an epoch to pass, or for a snapshot's file, is as good as free.</summary>
    public bool MustEvict
    {
        get
        {
            long most = store.Budget.MaxBytes;
            return most != 0 && store.Eviction.Evicts
                && store.Budget.CountedBytes - store.WaitingBytes - store.PinnedBytes > most - EvictionHeadroom;
        }
    }

    /// <summary>At the top of turns: whoever finds first that keys are to be evicted has that begun, so that it is done
    /// before a writer has to wait. Upkeep comes by only every 100 ms by itself, in which a small store is
    /// filled.</summary>
    public void Foresee()
    {
        if (Volatile.Read(ref _foreseen) == 0 && MustEvict) ForeseeSlow();
    }

    // Once until upkeep has seen to it: from then on it comes every few milliseconds by itself.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private void ForeseeSlow()
    {
        if (Interlocked.Exchange(ref _foreseen, 1) == 0) store.TryWake();
    }

    /// <summary>Upkeep has found nothing to evict for: who finds it otherwise after this is to say so.</summary>
    public void HasForeseen() => Volatile.Write(ref _foreseen, 0);

    /// <summary>Bytes that the evictor keeps free: a 64th of the limit, of a small one up to a segment, into which what
    /// is kept is moved before the segment that it comes from is free; and an eighth of what large values take. A
    /// writer of those who finds no room waits for an epoch to pass, which costs as much as writing ten of them, and
    /// each few of them would wait again.</summary>
    private long EvictionHeadroom
    {
        get
        {
            long most = store.Budget.MaxBytes;
            long least = Math.Max(most / 64, Math.Min(most / 32, SegmentedLog.SegmentBytes));
            return Math.Min(EvictionHeadroomMax, least + (store.Budget.BlockBytes / 8));
        }
    }

    /// <summary>Whether sessions are to give up the segments that they write to while a writer waits: there is nothing
    /// else to evict from.</summary>
    // Upkeep's thread sets it; a stale one costs a segment that is not full, or a round.
    public bool WantsSealed { get; set; }

    /// <summary>The share of a segment that must be dead for it to be emptied while <see cref="IsShort"/>: where keys
    /// are evicted that is cheaper than to copy seven for the room of one.</summary>
    public double DeadShareMin =>
        store.Eviction.Evicts ? DeadShareEvicting : IsWanted ? DeadShareWanted : DeadShareNear;

    /// <summary>Records that are moved before upkeep gives its processor away, if somebody wants it: 10 us. While a
    /// writer waits, 200: beside a program that never rests each time lasts as long as that may run, some milliseconds,
    /// and a segment of many small records would take longer than the writer may wait.</summary>
    public int RecordsPerSlice => IsWanted ? 1024 : 64;

    /// <summary>Segments that one round empties: what is moved is there twice until an epoch has passed.</summary>
    public int SegmentsPerRound => (int)Math.Clamp(Headroom / SegmentedLog.SegmentBytes, 1, 16);

    /// <summary>Whether one more segment may be retired: such are charged to nobody and take memory until an epoch has
    /// passed. While a session stands still none does, and writers wait instead of using them once more.</summary>
    public bool MayRetire
    {
        get
        {
            long most = store.Budget.MaxBytes;
            return most == 0 || store.Log.RetiredBytes < Math.Clamp(most / 8, RetiredMin, RetiredMax);
        }
    }

    /// <summary>Whether a writer may go on.</summary>
    public StoreRoom Ask()
    {
        if (!store.IsOverBudget) return StoreRoom.Free;
        if (store.Budget.IsOver && IsFull) return StoreRoom.Full;
        Volatile.Write(ref _askedAt, Stopwatch.GetTimestamp());
        // Exchange: of who asks and who decides one is later. Who waits asks once more when he can be found, see
        // AfterRound.
        if (Interlocked.Exchange(ref _wanted, 1) == 0) store.TryWake();
        return StoreRoom.Soon;
    }

    /// <summary>Waits until a writer may go on, or until it is known that there is no room.</summary>
    /// <returns>False when there is none, or the time is over.</returns>
    public bool Wait(TimeSpan timeout)
    {
        long begin = Stopwatch.GetTimestamp();
        // Ends: at the latest with the time.
        while (true)
        {
            var room = Ask();
            if (room != StoreRoom.Soon) return room == StoreRoom.Free;
            var left = timeout - Stopwatch.GetElapsedTime(begin);
            if (left <= TimeSpan.Zero) return false;
            if (store.HasThread) WaitFor(left < LookEvery ? left : LookEvery);
            else store.Maintain();
        }
    }

    /// <summary>Whether it was full when that was last looked at.</summary>
    // stale: whoever asks next waits for a round, or does not
    public bool WasFull => Volatile.Read(ref _freedWhenFull) != NotFull;

    /// <summary>A large collection has memory to give back: a store that was found full may be so no more.</summary>
    public void Doubt() => Volatile.Write(ref _freedWhenFull, NotFull);

    /// <summary>A round of upkeep begins.</summary>
    public void BeginRound()
    {
        if (!IsWanted) return;
        _freedAtBegin = store.Sessions.FreedBytes;
        _usedAtBegin = store.Budget.UsedBytes;
        _expiringAtBegin = KeysThatMayGo;
    }

    /// <summary>A round of upkeep has ended: decides whether those who wait may go on, are refused, or go on
    /// waiting.</summary>
    /// <param name="wasWanted">Whether a writer waited when it began.</param>
    /// <param name="mayGain">Whether the next round may find something.</param>
    public void EndRound(bool wasWanted, bool mayGain)
    {
        if (!wasWanted) return;
        if (store.Budget.IsOver)
        {
            bool gains = mayGain || !store.Deferred.IsQuiet || store.Budget.UsedBytes < _usedAtBegin
                || store.AwaitsSnapshot;
            bool isPatient = Stopwatch.GetTimestamp() - Volatile.Read(ref _askedAt) < PatienceTicks;
            if (gains && isPatient) return;
            if (!gains)
            {
                Volatile.Write(ref _limitWhenFull, store.Budget.MaxBytes);
                Volatile.Write(ref _expiringWhenFull, _expiringAtBegin);
                Volatile.Write(ref _freedWhenFull, _freedAtBegin);
            }
        }

        LetGoOn();
    }

    /// <summary>In a round of upkeep that has won some room: those who wait need not do so until its end.</summary>
    public void GoOnIfRoom()
    {
        if (IsWanted && !store.Budget.IsOver) LetGoOn();
    }

    private void LetGoOn()
    {
        // Whoever asks before this is found by the call, or asks once more after it and is the first to want again.
        Interlocked.Exchange(ref _wanted, 0);
        lock (_decided) Monitor.PulseAll(_decided);
        Decided?.Invoke();
    }

    // It may have been decided before: the caller asks every few milliseconds.
    private void WaitFor(TimeSpan time)
    {
        lock (_decided) Monitor.Wait(_decided, time);
    }

    /// <summary>Whether it was full, and nothing has changed since that may have made room.</summary>
    public bool IsFull
    {
        get
        {
            long freed = Volatile.Read(ref _freedWhenFull);
            return freed != NotFull && Volatile.Read(ref _limitWhenFull) >= store.Budget.MaxBytes
                && store.Deferred.IsQuiet
                && Math.Abs(store.Sessions.FreedBytes - freed) < GainMin
                && Volatile.Read(ref _expiringWhenFull) == KeysThatMayGo;
        }
    }

    /// <summary>Keys with an expiry where only such are evicted: one that has come since may go.</summary>
    private long KeysThatMayGo
    {
        get
        {
            if (!store.Eviction.IsVolatile) return 0;
            long keys = 0;
            foreach (Database? database in store.Table) keys += database?.WithExpiry ?? 0;
            return keys;
        }
    }
}

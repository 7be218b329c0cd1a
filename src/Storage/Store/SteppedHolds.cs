using System.Diagnostics;

namespace Kv.Storage;

/// <summary>Which long commands of a store have keys locked: at most one that has several, and some that have one
/// each.</summary>
/// <remarks>
/// One at a time, so that those who meet a locked key know whom to finish, and long commands never wait for each
/// other's keys. Those that have one key wait for nobody. Threads: any.
/// </remarks>
internal sealed unsafe class SteppedHolds(Store store) : IDisposable
{
    /// <summary>An owner of a lock that is running is done by then, unless its thread is not.</summary>
    private const int SpinsMax = 64;

    /// <summary>At so many, one more that has changed nothing waits for a place: a worker does a step of each in a
    /// turn, some 8 ms of them.</summary>
    internal const int WaitedUsesMax = 16;

    /// <summary>The other places are for those that cannot wait, since they have changed something, or have waited for
    /// long already. One that finds none of them either is done in one turn.</summary>
    internal const int UsesMax = 64;

    /// <summary>At so many, one more of which nobody knows whether it takes long does not begin: it might change
    /// something first. The rest is left to those that were short before.</summary>
    internal const int NewUsesMax = 48;

    /// <summary>Sessions are kept for so many uses: a store has a limited number, and each has memory.</summary>
    private const int IdleSessionsMax = 4;

    /// <summary>Whoever wants a pause asks again within this time: a client in its next turn, snapshots that are due
    /// after 100 ms.</summary>
    private const int ClosedMs = 150;

    /// <summary>So long a command with very many keys waits for the end of a halving of an index: some rounds of
    /// upkeep.</summary>
    private const int HalvingMs = 200;

    /// <summary>So long an index keeps its size after such a command: the next one may come at once, and would have to
    /// have it grow again.</summary>
    private const int LatelyMs = 10_000;

    /// <summary>Who has waited for so long waits for a record that long work made in the place of one it had locked, if
    /// for any of it.</summary>
    private const int ManySpins = 64 * SpinsMax;

    private readonly HeldUse?[] _uses = new HeldUse?[UsesMax];
    private readonly StoreSession?[] _idleSessions = new StoreSession?[IdleSessionsMax];
    private readonly AwaitedPlace _place = new(store);
    private SteppedHold? _current;
    private StoreSession? _session;
    private long _closedUntil, _halvingsUntil, _endedMs = long.MinValue / 2;

    /// <summary>Makes a command the one that may lock keys; otherwise does a step of the one that may.</summary>
    /// <param name="session">Its session until <see cref="End"/>.</param>
    /// <returns>False: it is to ask again in its next step. Until it does, or is left (<see cref="Leave"/>), it may be
    /// the one already.</returns>
    public bool TryBegin(SteppedHold hold, out StoreSession session)
    {
        session = null!;
        // Interlocked: who gets in sees all that the one before it did with the session.
        var other = Interlocked.CompareExchange(ref _current, hold, null);
        if (other == null)
        {
            // The current one's. Where the store has no thread nobody ends it.
            _halvingsUntil = IsHalving() && store.TryWake()
                ? Stopwatch.GetTimestamp() + (HalvingMs * Stopwatch.Frequency / 1000) : 0;
        }
        else if (other != hold)
        {
            // Its own turn may be long in coming (its client does not read, say), so this one is used for it.
            other.Step();
            return false;
        }

        if (_halvingsUntil > Stopwatch.GetTimestamp() && IsHalving()) return false;
        try
        {
            session = _session ??= store.CreateSession();
            return true;
        }
        catch
        {
            End();
            throw;
        }
    }

    /// <summary>Whether a command with very many keys has begun, or is about to: those that are absent have entries in
    /// an index, too, which nobody counts as keys.</summary>
    public bool HasMany => Volatile.Read(ref _current) != null;

    /// <summary>Whether that is so, or was some seconds ago.</summary>
    public bool HadManyLately => HasMany || store.Clock.ReadMs() - Volatile.Read(ref _endedMs) < LatelyMs;

    /// <summary>A command is left before it has begun.</summary>
    public void Leave(SteppedHold hold) => Interlocked.CompareExchange(ref _current, null, hold);

    /// <summary>Whether an index is being halved: until that has ended it cannot grow, and it would not end before the
    /// command, whose epoch stands still. The entries of absent keys would be in chains of hundreds.</summary>
    private bool IsHalving()
    {
        foreach (var database in store.Table)
            if (database?.Index.Halving.IsOn == true) return true;
        return false;
    }

    /// <summary>The current command has let go of all its keys.</summary>
    public void End()
    {
        Debug.Assert(Volatile.Read(ref _current) != null, "one has begun");
        Volatile.Write(ref _endedMs, store.Clock.ReadMs());
        Volatile.Write(ref _current, null);     // release: its work with the session comes before
    }

    /// <summary>Takes locks over from a session's turn, for work in steps.</summary>
    /// <returns>Null when there are as many already, or the database has just been flushed: do all of it in this
    /// turn.</returns>
    public HeldUse? TryBegin(KeyLocks locks, KeyList keys, IHeldUse use)
    {
        var session = TakeSession();
        if (session == null) return null;
        session.BeginInnerTurn();
        // Online, and then the databases are in the table: they and all in them stay, whoever flushes them from here
        // on.
        if (locks.AreIn(store.Table))
        {
            var begun = new HeldUse(this, session, locks.ListRecords(), use);
            if (begun.TryBegin(_uses, locks, keys)) return begun;
        }

        session.EndWork();
        Keep(session);
        return null;
    }

    /// <summary>Begins a use of keys that a transaction has locked.</summary>
    public HeldUse? TryBegin(TransactionKeys transaction, IHeldUse use)
    {
        var session = TakeSession();
        if (session == null) return null;
        session.BeginInnerTurn();
        // As above.
        if (transaction.Locks.AreIn(store.Table))
        {
            var begun = new HeldUse(this, session, transaction.Locks.ListRecords(), use);
            if (begun.TryBegin(_uses, transaction)) return begun;
        }

        session.EndWork();
        Keep(session);
        return null;
    }

    /// <summary>A command has let go of its key.</summary>
    public void End(HeldUse use, StoreSession session)
    {
        Debug.Assert(Array.IndexOf(_uses, use) >= 0, "a use that ends has a place");
        for (int i = 0; i < UsesMax; i++) Interlocked.CompareExchange(ref _uses[i], null, use);
        Keep(session);
    }

    /// <summary>Where there is no place for one more use, and the session can come again, does a step of a use instead.
    /// For one who would have to do all of his own at once.</summary>
    /// <exception cref="KeyInUseException">The session is to come again.</exception>
    public void AwaitPlace(StoreSession session)
    {
        if (!session.MayComeAgain || HasPlace) return;
        StepFirst();
        throw new KeyInUseException(_place);
    }

    private void StepFirst() => Volatile.Read(ref _uses[0])?.Step();

    /// <summary>Whether there was a place just now for one more use that could wait for it, and nobody waits for the
    /// end of all.</summary>
    public bool HasPlace =>
        Volatile.Read(ref _closedUntil) <= Stopwatch.GetTimestamp() && UsesCount < WaitedUsesMax;

    /// <summary>Whether there was a place just now for one more use that may turn out to be one when it can no longer
    /// wait.</summary>
    public bool HasPlaceForNew => UsesCount < NewUsesMax;

    /// <summary>Whether there was no place at all just now.</summary>
    public bool IsFull => UsesCount == UsesMax;

    private int UsesCount
    {
        get
        {
            int count = 0;
            for (int i = 0; i < UsesMax; i++)
                if (Volatile.Read(ref _uses[i]) != null) count++;
            return count;
        }
    }

    private StoreSession? TakeSession()
    {
        // Interlocked: who takes one sees all that the one before did with it.
        for (int i = 0; i < IdleSessionsMax; i++)
            if (Interlocked.Exchange(ref _idleSessions[i], null) is { } session) return session;
        return store.Sessions.TryCreate(out var created) ? created : null;
    }

    private void Keep(StoreSession session)
    {
        for (int i = 0; i < IdleSessionsMax; i++)
            if (Interlocked.CompareExchange(ref _idleSessions[i], session, null) == null) return;
        session.Dispose();
    }

    /// <summary>Waits a little for the lock of a record, by one who has none; then does what a long command has left to
    /// do, or a step of it where the waiter can come again.</summary>
    /// <param name="session">The waiter.</param>
    /// <exception cref="KeyInUseException">It is to come again.</exception>
    /// <exception cref="StoreBusyException">What holds the key takes long.</exception>
    public void Wait(ref SpinWait wait, byte* record, StoreSession session)
    {
        StepUse(record, session);
        wait.SpinOnce(sleep1Threshold: -1);
        if (wait.Count <= SpinsMax) return;
        if (Volatile.Read(ref _current) is { } hold)
        {
            if (session.MayComeAgain)
            {
                bool isIts = hold.Has(record, HashOf(record));
                hold.Step();
                throw new KeyInUseException(isIts ? hold : null);
            }

            hold.TryFinish(default, holdsOthers: false);
        }

        FinishUses(record, wait.Count > ManySpins, session);
    }

    /// <summary>Waits for a key as one who may have locks of keys that come before it in the order.</summary>
    /// <inheritdoc cref="Wait(ref SpinWait, byte*, StoreSession)"/>
    public void Wait(ref SpinWait wait, byte* record, in KeyList.Entry key, StoreSession session)
    {
        StepUse(record, session);
        wait.SpinOnce(sleep1Threshold: -1);
        if (wait.Count <= SpinsMax) return;
        if (Volatile.Read(ref _current) is { } hold)
        {
            // No step of it: that might wait for a key that this one has.
            if (session.MayComeAgain) throw new KeyInUseException(hold.Has(record, key.Hash) ? hold : null);
            hold.TryFinish(key, holdsOthers: true);
        }

        FinishUses(record, wait.Count > ManySpins, session);
    }

    // Who is online may read it, also where it has died.
    private ulong HashOf(byte* record)
    {
        var key = Record.KeyOf(record, Record.ReadWord(record));
        fixed (byte* start = key) return store.Hash.Of(start, key.Length);
    }

    /// <summary>Where the waiter can come again, does a step of the work that has locked the record: so that gets on
    /// whoever has turns. What is given up, or takes long, is <see cref="FinishUses"/>'s.</summary>
    private void StepUse(byte* record, StoreSession session)
    {
        if (!session.MayComeAgain) return;
        for (int i = 0; i < UsesMax; i++)
        {
            if (Volatile.Read(ref _uses[i]) is not { MayBeGivenUp: false, TakesLong: false } use || !use.Has(record)
                || use.Step()) continue;
            throw new KeyInUseException(use);
        }
    }

    /// <summary>Whether some work with keys takes long.</summary>
    public bool HasLong
    {
        get
        {
            for (int i = 0; i < UsesMax; i++)
                if (Volatile.Read(ref _uses[i]) is { TakesLong: true }) return true;
            return false;
        }
    }

    private void FinishUses(byte* record, bool any, StoreSession session)
    {
        bool mayLeave = session.Presence.AnswersInPause;
        for (int i = 0; i < UsesMax; i++)
        {
            if (Volatile.Read(ref _uses[i]) is not { } use || !(any || use.Has(record))) continue;
            use.TryFinish(unlessLong: mayLeave);
            if (mayLeave && use.TakesLong) throw new StoreBusyException();
        }
    }

    /// <summary>Lets go of the keys of a command whose owner has left it. For the store's thread.</summary>
    public void FinishAbandoned()
    {
        if (Volatile.Read(ref _current) is { IsAbandoned: true } hold) hold.TryFinish(default, holdsOthers: false);
    }

    /// <summary>Does what can be done in a time of what the current commands have left, if they hold keys; work with
    /// very many keys is done whole. For one who has none.</summary>
    /// <param name="end">A timestamp.</param>
    /// <returns>False: some is left. No other work begins for a while that can begin later.</returns>
    public bool TryFinishUntil(long end)
    {
        Volatile.Read(ref _current)?.TryFinish(default, holdsOthers: false);
        for (int i = 0; i < UsesMax; i++)
        {
            if (Volatile.Read(ref _uses[i]) is not { } use || use.TryFinish(end)) continue;
            // Volatile: who reads it late begins one more.
            Volatile.Write(ref _closedUntil, Stopwatch.GetTimestamp() + (ClosedMs * Stopwatch.Frequency / 1000));
            return false;
        }

        // Volatile: likewise. Who asked while others held keys has what it waited for.
        if (Volatile.Read(ref _closedUntil) != 0) Volatile.Write(ref _closedUntil, 0);
        return true;
    }

    public void Dispose()
    {
        FinishAbandoned();
        foreach (var use in _uses) use?.Dispose();
        foreach (var session in _idleSessions) session?.Dispose();

        _session?.Dispose();
    }

    /// <summary>A place for one more use.</summary>
    private sealed class AwaitedPlace(Store store) : IAwaitedWork
    {
        public bool IsOver => store.SteppedHolds.HasPlace;

        public bool TakesLong => false;

        public bool Step(StoreSession? caller = null)
        {
            store.SteppedHolds.StepFirst();
            return IsOver;
        }
    }
}

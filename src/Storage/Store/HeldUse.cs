using System.Diagnostics;

namespace Kv.Storage;

/// <summary>Large collections that a command works on in steps, between the turns of others. Their keys stay locked
/// from the first step to the last.</summary>
/// <remarks>
/// Threads: any, one at a time by <see cref="_claim"/>. As with a <see cref="KeysHold"/>, whoever meets the locked key
/// takes the claim and does the rest. That is always right here: the work has all the locks that it needs, and waits
/// for nobody. The session is the store's own and stays online all the while, so the records stay where they are, also
/// when their database is flushed. It has the locks, and the list that says which is which key's; the keys' bytes in
/// that list are void.
/// </remarks>
internal sealed unsafe class HeldUse : IHeldSteps, IAwaitedWork
{
    private readonly Lock _claim = new();
    private readonly SteppedHolds _holds;
    private readonly StoreSession _session;
    private readonly IHeldUse _use;
    private readonly nint[] _records;
    private bool _isDone;

    /// <param name="session">Online, and this one's until
    /// <see cref="SteppedHolds.End(HeldUse, StoreSession)"/>.</param>
    /// <param name="records">What will be locked.</param>
    public HeldUse(SteppedHolds holds, StoreSession session, nint[] records, IHeldUse use)
    {
        _holds = holds;
        _session = session;
        _records = records;
        _use = use;
        session.BeginWork(use);
    }

    /// <inheritdoc/>
    // Volatile, and orders nothing: who reads false a moment late asks for one more step, which does nothing.
    public bool IsDone => Volatile.Read(ref _isDone);

    /// <inheritdoc/>
    public Exception? Failure { get; private set; }

    /// <summary>Whether a record was locked when it began. One that the work makes in another's place is not among
    /// them.</summary>
    public bool Has(byte* record) => Array.IndexOf(_records, (nint)record) >= 0;

    /// <summary>Makes itself known, and takes over the locks, before anybody can work on it.</summary>
    /// <returns>False when there is no place for it.</returns>
    public bool TryBegin(HeldUse?[] places, KeyLocks locks, KeyList keys)
    {
        lock (_claim)
        {
            if (!TryTakePlace(places)) return false;
            _session.Keys.TakeOver(keys);
            _session.Locks.TakeOver(locks);
            return true;
        }
    }

    /// <summary>Begins with the keys of a transaction, which then goes on on this use's session.</summary>
    public bool TryBegin(HeldUse?[] places, TransactionKeys transaction)
    {
        lock (_claim)
        {
            if (!TryTakePlace(places)) return false;
            _session.Transacting.Adopt(transaction);
            _use.Begin(_session);
            return true;
        }
    }

    // From here on it can be found, but not worked on: the claim is the caller's.
    private bool TryTakePlace(HeldUse?[] places)
    {
        Debug.Assert(_claim.IsHeldByCurrentThread, "nobody works on it yet");
        for (int i = 0; i < places.Length; i++)
            if (Interlocked.CompareExchange(ref places[i], this, null) == null) return true;
        return false;
    }

    /// <inheritdoc/>
    public bool Step(StoreSession? caller = null)
    {
        if (!_claim.TryEnter()) return false;
        try
        {
            return StepClaimed(caller);
        }
        finally
        {
            _claim.Exit();
        }
    }

    /// <inheritdoc cref="IHeldUse.MayBeGivenUp"/>
    public bool MayBeGivenUp => _use.MayBeGivenUp;

    /// <inheritdoc/>
    public bool IsOver => IsDone;

    /// <inheritdoc/>
    public bool TakesLong => !IsDone && _use.TakesLong;

    /// <summary>Does the rest, or ends what may be given up, for a thread that needs a key of it, or wants all others
    /// to stand still. From any thread, whatever it has locked.</summary>
    /// <param name="end">A timestamp, after which what is left is left.</param>
    /// <param name="unlessLong">Leaves what takes long as it is.</param>
    /// <returns>False: some is left, or another thread does it just now.</returns>
    public bool TryFinish(long end = long.MaxValue, bool unlessLong = false)
    {
        if (_claim.IsHeldByCurrentThread || !_claim.TryEnter()) return false;
        try
        {
            if (_use.MayBeGivenUp) End();
            // Ends: each step gets on.
            while (!(unlessLong && _use.TakesLong))
            {
                if (StepClaimed()) return true;
                if (Stopwatch.GetTimestamp() >= end) return false;
            }

            return false;
        }
        finally
        {
            _claim.Exit();
        }
    }

    /// <summary>Gives the work up, or does the rest where it has changed something. From any thread.</summary>
    public void Dispose()
    {
        lock (_claim)
        {
            if (!_use.HasChanged) End();
            while (!StepClaimed())
            {
            }
        }
    }

    private bool StepClaimed(StoreSession? caller = null)
    {
        Debug.Assert(_claim.IsHeldByCurrentThread, "one at a time");
        if (_isDone) return true;
        try
        {
            if (!_use.Use(new HeldKeys(_session.Keys, _session.Locks, _session.Changes, StoreStatus.Ok))) return false;
        }
        catch (Exception exception)
        {
            Failure = exception;
        }

        End(caller);
        return true;
    }

    private void End(StoreSession? caller = null)
    {
        Debug.Assert(_claim.IsHeldByCurrentThread, "one at a time");
        if (_isDone) return;
        Volatile.Write(ref _isDone, true);
        if (_session.Transaction != null) _session.EndTransaction();
        _session.Locks.Release();
        _session.EndWork(caller);
        _holds.End(this, _session);
    }
}

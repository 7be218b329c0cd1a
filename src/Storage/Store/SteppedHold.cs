namespace Kv.Storage;

/// <summary>Very many keys that are held for one command, which finds, locks, uses and lets go of them in steps,
/// between the turns of others.</summary>
/// <remarks>
/// Only one of a store has keys locked at a time, the others wait for it between their steps
/// (<see cref="SteppedHolds"/>). Threads: any, one at a time by the claim. Whoever meets a locked key and cannot leave
/// it for later does not wait for the command's next turn (its own thread may be the one that has to take it): it takes
/// the claim and does the rest, <see cref="TryFinish"/>. The session is the store's own, and its epoch stands still
/// from the first lock to the last: what is locked stays where it is.
/// </remarks>
internal abstract unsafe class SteppedHold : IAwaitedWork, IDisposable
{
    /// <summary>One thread at a time does steps.</summary>
    protected Lock Claim { get; } = new();

    /// <summary>Whether it has an epoch, and keys locked, or will soon. From any thread: a step late at
    /// worst.</summary>
    public abstract bool HasKeys { get; }

    /// <inheritdoc/>
    public bool IsOver => !HasKeys;

    /// <inheritdoc/>
    public bool TakesLong => false;

    /// <summary>What the work threw, whoever ran it; every key was let go of.</summary>
    public Exception? Failure { get; protected set; }

    /// <summary>Whether its owner has left it: it only lets go, and frees itself.</summary>
    public virtual bool IsAbandoned => false;

    /// <summary>Whether it has the lock of a record, as far as can be told: not while another thread does a
    /// step. From any thread.</summary>
    /// <param name="hash">Of the record's key.</param>
    public bool Has(byte* record, ulong hash)
    {
        if (!Claim.TryEnter()) return false;
        try
        {
            return HasKeys && HasLocked(record, hash);
        }
        finally
        {
            Claim.Exit();
        }
    }

    /// <inheritdoc/>
    public bool Step(StoreSession? caller = null)
    {
        if (!Claim.TryEnter()) return false;
        try
        {
            return StepClaimed(caller);
        }
        finally
        {
            Claim.Exit();
        }
    }

    /// <summary>Does the rest, for a thread that needs a key which the command may have locked. From any
    /// thread.</summary>
    /// <param name="waiter">The key that is waited for, by one who has others locked; they are all before it in the
    /// order.</param>
    public void TryFinish(in KeyList.Entry waiter, bool holdsOthers)
    {
        if (Claim.IsHeldByCurrentThread || !Claim.TryEnter()) return;
        try
        {
            // Who has keys locked may finish only what has gotten past the key it waits for: what is still to be locked
            // then comes after that key in the order, so it is none that the waiter has.
            if (!HasKeys || (holdsOthers && !HasReached(waiter))) return;
            // Ends: each step gets on; none waits but for owners of locks that run, or come later in the order.
            while (!StepClaimed(null))
            {
            }
        }
        finally
        {
            Claim.Exit();
        }
    }

    /// <summary>Ends it. From any thread.</summary>
    public abstract void Dispose();

    /// <summary>Does a piece, by the owner of the claim.</summary>
    /// <returns>True when everything is done.</returns>
    protected abstract bool StepClaimed(StoreSession? caller);

    /// <summary>Whether it has the lock of a record.</summary>
    protected abstract bool HasLocked(byte* record, ulong hash);

    /// <summary>Whether a key, if it is one of its own, is locked, and every one before it.</summary>
    protected abstract bool HasReached(in KeyList.Entry key);
}

using System.Diagnostics;

namespace Kv.Storage;

/// <summary>Work in steps on some of the keys that a transaction holds: a command of it that takes long.</summary>
/// <remarks>
/// Threads: whoever steps the transaction, one at a time. The locks stay the transaction's. From the first step to the
/// last this one has a copy of what they say, and gives it back changed: no other command of the transaction runs in
/// between, and whoever needs one of the keys has the whole transaction finished (<see cref="HeldUse"/>,
/// <see cref="TransactionHold"/>), this work included.
/// </remarks>
internal sealed class BorrowedUse : IHeldSteps
{
    private readonly StoreSession _session;
    private readonly IHeldUse _use;

    // What it works on: a copy of some of the transaction's locks, or where the transaction has them.
    private readonly KeyList? _keys;
    private readonly KeyLocks? _locks;
    private readonly KeyPlaces? _places;

    /// <summary>Of what a command holds; it holds nothing of it any more.</summary>
    public BorrowedUse(StoreSession session, KeyLocks locks, KeyList keys, IHeldUse use)
        : this(session, use)
    {
        (_keys, _locks) = (session.NewKeyList(), session.NewLocks());
        _keys.TakeOver(keys);
        _locks.TakeOver(locks);
    }

    /// <summary>A use of one key that a transaction has locked.</summary>
    /// <param name="held">Where the transaction's locks have it.</param>
    public BorrowedUse(StoreSession session, ref HeldRecord held, IHeldUse use)
        : this(session, use)
    {
        (_keys, _locks) = (session.NewKeyList(), session.NewLocks());
        _keys.SetToHeld();
        _locks.Borrow(session.Transaction!.Locks, ref held);
    }

    /// <summary>A use of very many keys that a transaction has locked.</summary>
    /// <param name="places">Where the transaction's locks have them: they are worked on there.</param>
    public BorrowedUse(StoreSession session, KeyPlaces places, IHeldUse use)
        : this(session, use) => _places = places;

    private BorrowedUse(StoreSession session, IHeldUse use)
    {
        Debug.Assert(session.Transaction != null, "the keys are a transaction's");
        _session = session;
        _use = use;
    }

    /// <inheritdoc/>
    public bool IsDone { get; private set; }

    /// <inheritdoc/>
    public Exception? Failure { get; private set; }

    /// <inheritdoc/>
    public bool Step(StoreSession? caller = null)
    {
        if (IsDone) return true;
        try
        {
            var held = _places != null ? _places.Held
                : new HeldKeys(_keys!, _locks!, _session.Changes, StoreStatus.Ok);
            if (!_use.Use(held)) return false;
        }
        catch (Exception exception)
        {
            Failure = exception;
        }

        End();
        return true;
    }

    /// <summary>Gives the work up, or does the rest where it has changed something.</summary>
    public void Dispose()
    {
        if (!_use.HasChanged) End();
        // Ends: each step gets on.
        while (!Step())
        {
        }
    }

    private void End()
    {
        if (IsDone) return;
        IsDone = true;
        _places?.Dispose();
        _locks?.Release();
        _locks?.Dispose();
    }
}

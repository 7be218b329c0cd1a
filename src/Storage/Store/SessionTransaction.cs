using System.Diagnostics;

namespace Kv.Storage;

/// <summary>The transaction of a session: how it begins, goes over to another session, and ends.</summary>
/// <remarks>Threads: the session's.</remarks>
internal sealed class SessionTransaction(StoreSession session, RecordChanges changes, SteppedHolds holds)
{
    private TransactionKeys? _own;      // kept: the next transaction uses its lists again

    private TransactionKeys Own => _own ??= new TransactionKeys(session, changes, holds);

    /// <inheritdoc cref="StoreSession.BeginTransaction"/>
    public StoreStatus Begin(KeyList keys)
    {
        Debug.Assert(session.Transaction == null, "a session has one transaction at a time");
        var status = Own.Locks.Acquire(keys);
        if (status == StoreStatus.Ok) Enter();
        return status;
    }

    /// <summary>Has the rest of it done in steps: what it holds goes over to another session, and this one has none any
    /// more.</summary>
    /// <returns>Null when that cannot be just now: it goes on here.</returns>
    public HeldUse? TryBeginUse(IHeldUse use)
    {
        Debug.Assert(session.Transaction == _own && _own != null, "the session's own transaction goes over");
        var begun = holds.TryBegin(session.Transaction!, use);
        if (begun != null) End();
        return begun;
    }

    /// <summary>Goes on with another session's transaction, at the time at which that began.</summary>
    public void Adopt(TransactionKeys other)
    {
        Debug.Assert(session.Transaction == null && other != _own, "a session has one transaction at a time");
        Own.Locks.TakeOver(other.Locks);
        other.Arrivals.MoveTo(session.Arrivals);        // they are served when the keys are free
        changes.SetClock(other.NowMs);
        Enter();
    }

    /// <summary>Begins one whose keys are locked one by one, in the order of locking.</summary>
    public KeyLocks Prepare(Database?[] table, int keys)
    {
        Own.Locks.Begin(table, keys);
        return Own.Locks;
    }

    /// <summary>All of those are locked: operations work on them from here on.</summary>
    public void Enter() => session.WorkOn(Own);

    /// <summary>Ends that; whoever has the locks lets go of them.</summary>
    public void Leave() => session.WorkOn(null);

    /// <summary>Publishes what it did, and lets go of its keys.</summary>
    public void End()
    {
        Debug.Assert(_own != null, "one has begun");
        Leave();
        _own!.Locks.Release();
    }

    public void Dispose() => _own?.Locks.Dispose();
}

namespace Kv.Storage;

/// <summary>One large collection that a command works on in steps, between the turns of others. Its key stays locked from the first step to the last.</summary>
/// <remarks>
/// Threads: any, one at a time by <see cref="_claim"/>. As with a <see cref="LongHold"/>, whoever meets the locked key takes the
/// claim and does the rest. That is always right here: the work has the one lock that it needs, and waits for nobody.
/// The session is the store's own and stays online all the while, so the record stays where it is, also when its database is flushed.
/// </remarks>
internal sealed unsafe class LongUse : IDisposable
{
    private readonly Lock _claim = new();
    private readonly LongHolds _holds;
    private readonly StoreSession _session;
    private readonly ILongUse _use;
    private readonly byte* _record;
    private HeldRecord _held;
    private bool _isDone;

    /// <param name="session">Online, and this one's until <see cref="LongHolds.End(LongUse, StoreSession)"/>.</param>
    /// <param name="held">The lock is this one's from here on.</param>
    public LongUse(LongHolds holds, StoreSession session, in HeldRecord held, ILongUse use)
    {
        _holds = holds;
        _session = session;
        _held = held;
        _record = held.Record;
        _use = use;
    }

    /// <summary>What the work threw, whoever ran it; the key was let go of.</summary>
    public Exception? Failure { get; private set; }

    /// <summary>Whether this is the record that it has locked. A stale answer costs one more look at the lock.</summary>
    public bool Has(byte* record) => record == _record;

    /// <summary>Does a piece of the work, unless another thread is doing all of it.</summary>
    /// <returns>True when everything is done.</returns>
    public bool Step()
    {
        if (!_claim.TryEnter()) return false;
        try
        {
            return StepClaimed();
        }
        finally
        {
            _claim.Exit();
        }
    }

    /// <summary>Does the rest, for a thread that needs the key. From any thread, whatever it has locked.</summary>
    public void TryFinish()
    {
        if (_claim.IsHeldByCurrentThread || !_claim.TryEnter()) return;
        try
        {
            // Ends: each step gets on.
            while (!StepClaimed())
            {
            }
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

    private bool StepClaimed()
    {
        if (_isDone) return true;
        try
        {
            if (!_use.Use(new HeldValue(_session.Changes, ref _held))) return false;
        }
        catch (Exception exception)
        {
            Failure = exception;
        }

        End();
        return true;
    }

    private void End()
    {
        if (_isDone) return;
        _isDone = true;
        _session.Changes.LetGo(ref _held);
        _session.GoOffline();
        _holds.End(this, _session);
    }
}

namespace Kv.Storage;

/// <summary>Which long command of a store has keys locked: at most one.</summary>
/// <remarks>
/// One at a time, so that those who meet a locked key know whom to finish, and long commands never wait for each other's
/// keys. Threads: any.
/// </remarks>
internal sealed class LongHolds(Store store) : IDisposable
{
    /// <summary>An owner of a lock that is running is done by then, unless its thread is not.</summary>
    private const int SpinsMax = 64;

    private LongHold? _current;
    private StoreSession? _session;

    /// <summary>Makes a command the one that may lock keys; otherwise does a step of the one that may.</summary>
    /// <param name="session">Its session until <see cref="End"/>.</param>
    public bool TryBegin(LongHold hold, out StoreSession session)
    {
        // Interlocked: who gets in sees all that the one before it did with the session.
        if (Interlocked.CompareExchange(ref _current, hold, null) is { } other)
        {
            // Its own turn may be long in coming (its client does not read, say), so this one is used for it.
            other.Step();
            session = null!;
            return false;
        }

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

    /// <summary>The current command has let go of all its keys.</summary>
    public void End() => Volatile.Write(ref _current, null);        // release: its work with the session comes before

    /// <summary>Waits a little for the lock of a record, by one who has none; then does what a long command has left to do.</summary>
    public void Wait(ref SpinWait wait)
    {
        wait.SpinOnce(sleep1Threshold: -1);
        if (wait.Count > SpinsMax) Volatile.Read(ref _current)?.TryFinish(default, holdsOthers: false);
    }

    /// <summary>The same by one who may have locks of keys that come before this one in the order.</summary>
    public void Wait(ref SpinWait wait, in KeyList.Entry key)
    {
        wait.SpinOnce(sleep1Threshold: -1);
        if (wait.Count > SpinsMax) Volatile.Read(ref _current)?.TryFinish(key, holdsOthers: true);
    }

    /// <summary>Lets go of the keys of a command whose owner has left it. For the store's thread.</summary>
    public void FinishAbandoned()
    {
        if (Volatile.Read(ref _current) is { IsAbandoned: true } hold) hold.TryFinish(default, holdsOthers: false);
    }

    /// <summary>Does what the current command has left, if it holds keys. For one who has none.</summary>
    public void Finish() => Volatile.Read(ref _current)?.TryFinish(default, holdsOthers: false);

    public void Dispose()
    {
        FinishAbandoned();
        _session?.Dispose();
    }
}

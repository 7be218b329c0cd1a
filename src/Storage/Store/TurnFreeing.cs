using System.Diagnostics;

namespace Kv.Storage;

/// <summary>Frees what a long turn has let go of before its end: a command may let go of gigabytes, and the next one
/// in the same turn want as much.</summary>
/// <remarks>Threads: the session's.</remarks>
internal sealed class TurnFreeing(StoreSession session, Store store)
{
    /// <summary>What a turn may let go of, about, before some of it is to be freed.</summary>
    private const long LetGoMax = 16 << 20;

    private long _addedBytes;

    /// <summary>Whether the store has let go of so much in this turn that it should be freed before there is more:
    /// <see cref="BetweenCommands"/>.</summary>
    /// <remarks>By other sessions, too: who ticks for nothing loses little.</remarks>
    public bool IsDue => store.Deferred.AddedBytes - _addedBytes > LetGoMax;

    /// <summary>Counts from here on.</summary>
    public void BeginTurn() => _addedBytes = store.Deferred.AddedBytes;

    /// <summary>Between two commands, also of a transaction: lets what the session has let go of so far be freed. What
    /// was looked ahead is void.</summary>
    public void BetweenCommands()
    {
        Debug.Assert(store.Epochs.IsOnline(session.Slot), "the session is in a turn");
        BeginTurn();
        if (session.Transaction == null)
        {
            store.Epochs.Advance();         // else the epoch that is announced would be the one that it let go in
            session.Tick();
        }
        else if (!store.Databases.TryTick(session.Slot, session.Table))
        {
            return;
        }

        // The store's thread does it, unless it has too much to do: then this one, which has made it.
        store.TryWake();
        if (store.Deferred.Bytes > 4 * LetGoMax) store.Deferred.Run(isQuick: true);
    }
}

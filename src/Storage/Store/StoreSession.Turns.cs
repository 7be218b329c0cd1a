using System.Diagnostics;
using System.Runtime.CompilerServices;

namespace Kv.Storage;

// How a session's turns begin, go on and end.
public sealed unsafe partial class StoreSession
{
    /// <summary>Starts a turn: the session holds no address of the store at this moment, and reads the clock.</summary>
    public void BeginTurn()
    {
        if (_store.Room.IsWanted) SealForRoom();
        Extents.Shared.TrimIfOver();
        bool frees = _store.HasBlocksToReuse;
        // else this turn would show the epoch in which the last one let go of them
        if (frees) _store.Epochs.Advance();
        Presence.Begin();
        if (frees) _store.FreeBlocks();
        BeginTurnOnline();
    }

    /// <summary>Begins a turn whose clock stands at an earlier time, for what goes on from then.</summary>
    internal void BeginTurn(long nowMs)
    {
        BeginTurn();
        _changes.SetClock(nowMs);
    }

    /// <summary>Begins a turn of a session that others drive in turns of their own: those have waited for a pause
    /// already.</summary>
    internal void BeginInnerTurn()
    {
        Presence.BeginInner();
        BeginTurnOnline();
    }

    private void BeginTurnOnline()
    {
        ReadClock();
        if (!_uses.Follows(_store.Eviction)) Follow(_store.Eviction);
        _selected.BeginTurn(_store.Table);
        Freeing.BeginTurn();
        _store.HelpFreeing();
        _store.Room.Foresee();
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private void Follow(EvictionRule rule) => _uses.Follow(rule);

    /// <summary>Whether there is room for a write: <see cref="Store.AskRoom"/>. What is dead in the session's own
    /// segments can be given back from here on.</summary>
    internal StoreRoom AskRoom()
    {
        var room = _store.AskRoom();
        if (room == StoreRoom.Soon) SealForRoom();
        return room;
    }

    private void SealForRoom()
    {
        if (_store.Room.WantsSealed) _changes.Seal();
        else _changes.SealDead();
    }

    /// <summary>In a long command: what the session found before is void, so that others' memory can be
    /// freed.</summary>
    public void Tick()
    {
        Debug.Assert(Transaction == null, "what a transaction holds it goes on to look at");
        Debug.Assert(Presence.IsOnline, "a turn has begun that goes on");
        _store.Epochs.Announce(_slot);
        ReadClock();
        _selected.Forget();
    }

    /// <summary>Between two pieces of a long round of upkeep: gives the processor away, if somebody wants it. Offline:
    /// on one processor with a busy worker that is milliseconds, in which nothing that others let go of could be
    /// freed. What the session found before is void.</summary>
    internal void GiveWay()
    {
        GoOffline();
        Fault.Point("upkeep.yield");
        Thread.Yield();
        BeginTurn();
    }

    /// <summary>Lends the session to work in steps, which says what it is used for and who hears of it.</summary>
    internal void BeginWork(ISessionUser user)
    {
        Debug.Assert(User == null && Listener == null, "a session does one thing at a time");
        User = user;
        Listener = user.ListenOn(this);
    }

    /// <summary>Ends that work, if it has begun, and its turn: the session is as before.</summary>
    /// <param name="caller">Serves those who wait for what was changed; null: others do.</param>
    internal void EndWork(StoreSession? caller = null)
    {
        if (caller != null) _arrivals.MoveTo(caller._arrivals);
        GoOffline();
        User = null;
        Listener = null;
        _arrivals.HasNotes = false;
    }

    /// <summary>Ends the last turn, before sleeping: nothing of the store is held back for this session.</summary>
    public void GoOffline()
    {
        Debug.Assert(Transaction == null && HoldsNothing, "what is held stays under an epoch");
        _selected.Forget();
        Presence.End();
        if (_arrivals.HasNotes && Listener == null) _arrivals.HasNotes = false;
        if (_arrivals.Count != 0) _store.HandOver(_arrivals);
    }

    private void ReadClock()
    {
        long now = _store.Clock.ReadMs();
        _changes.SetClock(now);
        if (FrozenClockMs != 0) _changes.SetExpiryClock(FrozenClockMs);
    }
}

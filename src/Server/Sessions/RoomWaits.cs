using System.Diagnostics;
using Kv.Storage;

namespace Kv.Server.Sessions;

/// <summary>Sessions whose next command needs memory, and waits until dead records have been reclaimed; it may be
/// arriving still.</summary>
/// <remarks>Threads: any. A session whose wait has ended otherwise may be woken once more, which does no
/// harm.</remarks>
internal sealed class RoomWaits
{
    private readonly Lock _guard = new();
    private readonly Store _store;
    private List<Session> _waiting = [];

    public RoomWaits(Store store)
    {
        _store = store;
        store.Room.Decided = End;
    }

    /// <summary>How long a command waits at most before it is refused: an epoch that does not pass must not hold up
    /// clients, too. Tests of other refusals set it, before there are clients.</summary>
    public long WaitMsMax { get; set; } = 3000;

    /// <summary>Who gives up what has arrived for want of room does so alone.</summary>
    public Lock Leaving { get; } = new();

    /// <summary>Whether a session has waited for as long as it may, for one command. Its time begins when it is first
    /// asked for, and anew while a snapshot is what it waits for: that goes on, or fails.</summary>
    public bool IsLate(Session session)
    {
        long now = session.Server.TickMs;
        if (session.RoomDeadlineTickMs == 0 || _store.AwaitsSnapshot) session.RoomDeadlineTickMs = now + WaitMsMax;
        return now >= session.RoomDeadlineTickMs;
    }

    /// <summary>Adds a session that has been parked until its deadline.</summary>
    public void Add(Session session)
    {
        Debug.Assert(session.IsParked, "a session that waits is parked");
        session.WaitsForMemory = true;
        lock (_guard) _waiting.Add(session);
        // The store's decision wakes those in the list; a decision made before this session was in it is seen here.
        if (_store.AskRoom() != StoreRoom.Soon) session.Unpark();
    }

    /// <summary>Removes a session that no longer waits.</summary>
    public void Remove(Session session)
    {
        lock (_guard) _waiting.Remove(session);
    }

    private void End()
    {
        List<Session> ended;
        lock (_guard)
        {
            if (_waiting.Count == 0) return;
            (ended, _waiting) = (_waiting, []);
        }

        foreach (var session in ended) session.Unpark();
    }
}

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
    private long _refusedTickMs;

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

    /// <summary>When somebody was last refused, in the time of <see cref="KvServer.TickMs"/>; 0: nobody since a client
    /// has given way to others.</summary>
    // Volatile, orders nothing: any session's thread sets it, and who sees it late looks again with the next sweep.
    public long RefusedTickMs
    {
        get => Volatile.Read(ref _refusedTickMs);
        set => Volatile.Write(ref _refusedTickMs, value);
    }

    /// <summary>What becomes of a session for whose command there was no room. It waits for one command as long as it
    /// may since it first asked, and anew while a snapshot is what it waits for: that goes on, or fails, or is given up
    /// (<see cref="SnapshotPatience"/>).</summary>
    /// <param name="room">What the store has said just now.</param>
    /// <param name="mayWait">Whether it can.</param>
    /// <returns>Free or Full; Soon: it is to be parked until its deadline, and added (<see cref="Add"/>).</returns>
    public StoreRoom Decide(Session session, StoreRoom room, bool mayWait = true)
    {
        long now = session.Server.TickMs;
        if (session.RoomDeadlineTickMs == 0 || _store.AwaitsSnapshot) session.RoomDeadlineTickMs = now + WaitMsMax;
        bool isLate = now >= session.RoomDeadlineTickMs;
        if (room == StoreRoom.Soon && mayWait && !isLate) return room;
        session.RoomDeadlineTickMs = 0;
        if (isLate)
        {
            lock (_guard) _waiting.Remove(session);
        }

        if (room == StoreRoom.Free) return room;
        RefusedTickMs = now;
        return StoreRoom.Full;
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

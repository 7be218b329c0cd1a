using Kv.Storage;

namespace Kv.Server.Sessions;

/// <summary>Sessions whose next command needs memory, and waits until what is dead has been given back.</summary>
/// <remarks>Threads: any. One that has ended its wait otherwise is woken for nothing, which a session bears.</remarks>
internal sealed class RoomWaits
{
    /// <summary>A command waits for so long at most, then it is refused: an epoch that does not pass must not hold up
    /// clients, too.</summary>
    public const long WaitMsMax = 3000;

    private readonly Lock _guard = new();
    private List<Session> _waiting = [];

    public RoomWaits(Store store) => store.Room.Decided = End;

    /// <summary>A session that has been parked. Ask the store once more behind this: it may have been decided
    /// before.</summary>
    public void Add(Session session)
    {
        lock (_guard) _waiting.Add(session);
    }

    /// <summary>A session that waits no longer.</summary>
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

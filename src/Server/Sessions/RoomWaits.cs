using System.Diagnostics;
using Kv.Storage;

namespace Kv.Server.Sessions;

/// <summary>Sessions whose next command needs memory, and waits until dead records have been reclaimed.</summary>
/// <remarks>Threads: any. A session whose wait has ended otherwise may be woken once more, which does no
/// harm.</remarks>
internal sealed class RoomWaits
{
    private readonly Lock _guard = new();
    private List<Session> _waiting = [];

    public RoomWaits(Store store) => store.Room.Decided = End;

    /// <summary>How long a command waits at most before it is refused: an epoch that does not pass must not hold up
    /// clients, too. Tests of other refusals set it, before there are clients.</summary>
    public long WaitMsMax { get; set; } = 3000;

    /// <summary>Adds a session that has been parked. The caller asks the store once more afterwards: it may have
    /// decided before.</summary>
    public void Add(Session session)
    {
        Debug.Assert(session.IsParked && session.Held != null, "a session that waits is parked, with its command");
        lock (_guard) _waiting.Add(session);
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

using System.Collections.Concurrent;

namespace Kv.Server.Sessions;

/// <summary>The clients that are connected, by id.</summary>
/// <remarks>Threads: any.</remarks>
internal sealed class ConnectionTable
{
    private readonly ConcurrentDictionary<long, Session> _sessions = new();
    private long _lastId;
    private int _count;
    private long _accepted;
    private long _rejected;

    /// <summary>Clients connected now.</summary>
    public int Count => Volatile.Read(ref _count);

    /// <summary>Connections accepted since the start (CONFIG RESETSTAT).</summary>
    public long Accepted => Volatile.Read(ref _accepted);

    /// <summary>Connections refused because of maxclients.</summary>
    public long Rejected => Volatile.Read(ref _rejected);

    /// <summary>A number that no client of this server has had.</summary>
    public long NextId() => Interlocked.Increment(ref _lastId);

    public void Add(Session session)
    {
        if (!_sessions.TryAdd(session.Id, session)) throw new InvalidOperationException("a client is added once");
        // Interlocked: a count beside the dictionary's own, which takes all its locks to count.
        Interlocked.Increment(ref _count);
        Interlocked.Increment(ref _accepted);
    }

    public void Remove(Session session)
    {
        if (_sessions.TryRemove(session.Id, out _)) Interlocked.Decrement(ref _count);
    }

    public bool TryGet(long id, out Session? session) => _sessions.TryGetValue(id, out session);

    /// <summary>The clients connected now, by id.</summary>
    public Session[] Snapshot()
    {
        // KeyValuePairs, as Values would copy under all locks; who comes or goes meanwhile may or may not be there.
        var sessions = new List<Session>(Count);
        foreach (var pair in _sessions) sessions.Add(pair.Value);
        sessions.Sort((a, b) => a.Id.CompareTo(b.Id));
        return [.. sessions];
    }

    internal void CountRejected() => Interlocked.Increment(ref _rejected);

    internal void ResetCounts()
    {
        Volatile.Write(ref _accepted, 0);
        Volatile.Write(ref _rejected, 0);
    }
}

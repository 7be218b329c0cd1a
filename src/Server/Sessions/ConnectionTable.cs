using System.Collections.Concurrent;
using System.Diagnostics;

namespace Kv.Server.Sessions;

/// <summary>The clients that are connected, by id.</summary>
/// <remarks>Threads: any.</remarks>
internal sealed class ConnectionTable
{
    private readonly ConcurrentDictionary<long, Session> _sessions = new();
    private long _lastId;
    private int _count, _descriptors, _lingering;
    private long _accepted;
    private long _rejected;
    private long _reserved;
    private long _warnedTickMs = long.MinValue / 2;

    /// <summary>Clients connected now.</summary>
    public int Count => Volatile.Read(ref _count);

    /// <summary>Clients connected now by a socket.</summary>
    public int Descriptors => Volatile.Read(ref _descriptors);

    /// <summary>Sockets of clients that were turned away, and have not closed their side yet.</summary>
    public int Lingering => Volatile.Read(ref _lingering);

    /// <summary>Connections accepted since the start or the last CONFIG RESETSTAT.</summary>
    public long Accepted => Volatile.Read(ref _accepted);

    /// <summary>Connections refused because of maxclients or protected mode.</summary>
    public long Rejected => Volatile.Read(ref _rejected);

    /// <summary>Connections that were given a place kept for administrators.</summary>
    public long Reserved => Volatile.Read(ref _reserved);

    /// <summary>A number that no client of this server has had.</summary>
    public long NextId() => Interlocked.Increment(ref _lastId);

    public void Add(Session session)
    {
        if (!_sessions.TryAdd(session.Id, session)) throw new InvalidOperationException("a client is added once");
        // Interlocked, and not the dictionary's own count, which takes all its locks.
        Interlocked.Increment(ref _count);
        if (session.Descriptor != Session.NoDescriptor) Interlocked.Increment(ref _descriptors);
        Interlocked.Increment(ref _accepted);
        if (session.IsReserved) Interlocked.Increment(ref _reserved);
    }

    public void Remove(Session session)
    {
        if (!_sessions.TryRemove(session.Id, out _)) return;
        int left = Interlocked.Decrement(ref _count);
        Debug.Assert(left >= 0, "it was counted");
        if (session.Descriptor == Session.NoDescriptor) return;
        left = Interlocked.Decrement(ref _descriptors);
        Debug.Assert(left >= 0, "its socket was counted");
    }

    /// <summary>A client is turned away, and its socket stays for a while. Called before <see cref="Remove"/>, so that
    /// one of the counts always has it.</summary>
    public void BeginLinger() => Interlocked.Increment(ref _lingering);

    /// <summary>The socket of a lingering client is closed.</summary>
    public void EndLinger()
    {
        int left = Interlocked.Decrement(ref _lingering);
        Debug.Assert(left >= 0, "what ends to linger has begun to");
    }

    public bool TryGet(long id, out Session? session) => _sessions.TryGetValue(id, out session);

    /// <summary>The clients connected now, by id.</summary>
    public Session[] Snapshot()
    {
        // KeyValuePairs, as Values would copy under all locks. Clients that come or go meanwhile may or may not be
        // there.
        var sessions = new List<Session>(Count);
        foreach (var pair in _sessions) sessions.Add(pair.Value);
        sessions.Sort((a, b) => a.Id.CompareTo(b.Id));
        return [.. sessions];
    }

    /// <summary>Counts a client that was turned away.</summary>
    /// <returns>Whether to log it: once a second at most, however many come.</returns>
    internal bool CountRejected(long nowTickMs)
    {
        Interlocked.Increment(ref _rejected);
        long warned = Volatile.Read(ref _warnedTickMs);
        // Interlocked: of several that see the same old time, one takes the second.
        return nowTickMs - warned >= 1000
            && Interlocked.CompareExchange(ref _warnedTickMs, nowTickMs, warned) == warned;
    }

    internal void ResetCounts()
    {
        Volatile.Write(ref _accepted, 0);
        Volatile.Write(ref _rejected, 0);
        Volatile.Write(ref _reserved, 0);
    }
}

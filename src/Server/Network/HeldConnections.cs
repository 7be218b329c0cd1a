using System.Collections.Concurrent;

namespace Kv.Server.Network;

/// <summary>The connections of a portable transport with replies that wait for the disk.</summary>
/// <remarks>Threads: any.</remarks>
internal sealed class HeldConnections
{
    private readonly ConcurrentDictionary<PipelineConnection, byte> _connections = new();

    public HeldConnections(KvServer server) => server.Aof.OnRelease(Release);

    /// <summary>With a full fence.</summary>
    public void Add(PipelineConnection connection)
    {
        _connections[connection] = 0;
        Interlocked.MemoryBarrier();
    }

    private void Release()
    {
        if (_connections.IsEmpty) return;
        foreach (var (connection, _) in _connections)
        {
            // Taken out first: it may be held anew at once, and is then put in again.
            if (!_connections.TryRemove(connection, out _)) continue;
            if (!connection.TrySendHeld()) _connections[connection] = 0;
        }
    }
}

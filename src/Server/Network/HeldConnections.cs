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
            // Taken out first: it may be held anew at once, and is then put in again. While it is out, another thread
            // that has more on the disk does not find it: so it is looked at once more when it is back.
            // Ends: what it waits for is on the disk, or is not: then whoever brings it there finds the connection.
            while (_connections.TryRemove(connection, out _) && !connection.TrySendHeld())
            {
                Add(connection);
                if (connection.IsHeld) break;
            }
        }
    }
}

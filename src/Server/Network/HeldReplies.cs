using Kv.Server.Sessions;

namespace Kv.Server.Network;

/// <summary>The connections of a worker with replies that wait for the disk.</summary>
/// <remarks>Threads: its worker's own, but for what says otherwise. <see cref="HeldConnections"/> is the same for the
/// portable transport.</remarks>
internal sealed class HeldReplies
{
    private readonly ConnectionSender _sender;
    private readonly WorkerInbox _inbox;
    private readonly List<EpollConnection> _connections = [];
    private bool _isAny;

    public HeldReplies(KvServer server, ConnectionSender sender, WorkerInbox inbox)
    {
        (_sender, _inbox) = (sender, inbox);
        server.Aof.OnRelease(Attend);
    }

    /// <summary>How many there are.</summary>
    public int Count => _connections.Count;

    /// <summary>Whether some of them no longer have to wait.</summary>
    public bool IsAnyReleased
    {
        get
        {
            foreach (var connection in _connections)
                if (!_sender.IsHeld(connection)) return true;
            return false;
        }
    }

    /// <summary>Keeps replies until what they are about is on the disk.</summary>
    public void Hold(EpollConnection connection, SessionOutput output, int start, int end)
    {
        _sender.HoldForDisk(connection, output, start, end);
        if (connection.IsHeld) return;
        connection.IsHeld = true;
        _connections.Add(connection);
        Volatile.Write(ref _isAny, true);
        // Full fence: whoever has more on the disk from here on sees that this worker holds some, or this worker sees
        // before it sleeps that there is more (IsAnyReleased).
        Interlocked.MemoryBarrier();
    }

    /// <summary>Takes out those that no longer have to wait.</summary>
    public void TakeReleased(List<EpollConnection> released)
    {
        for (int i = _connections.Count - 1; i >= 0; i--)
        {
            var connection = _connections[i];
            if (_sender.IsHeld(connection)) continue;
            _connections.RemoveAt(i);
            connection.IsHeld = false;
            released.Add(connection);
        }

        if (_connections.Count == 0) Volatile.Write(ref _isAny, false);
    }

    /// <summary>Takes out one that is closed.</summary>
    public void Remove(EpollConnection connection)
    {
        if (connection.IsHeld) _connections.Remove(connection);
        connection.IsHeld = false;
    }

    // More is on the disk. From any thread.
    private void Attend()
    {
        if (Volatile.Read(ref _isAny)) _inbox.Attend();
    }
}

using System.Diagnostics;

namespace Kv.Server.Network;

//  63        32 31         0
// +------------+------------+
// | generation |    slot    |     the data of a socket's events: an event of a socket that was closed in the same turn
// +------------+------------+     finds another generation, or nothing

/// <summary>A worker's connections, found by the data of their events.</summary>
/// <remarks>Threads: the worker's own.</remarks>
internal sealed class ConnectionSlots
{
    private readonly Stack<int> _free = new();
    private EpollConnection?[] _connections = new EpollConnection?[64];
    private uint _generation;

    public int Count { get; private set; }

    /// <summary>Slots in use or free.</summary>
    public int Length { get; private set; }

    public EpollConnection? this[int slot] => _connections[slot];

    public static ulong DataOf(EpollConnection connection) =>
        ((ulong)connection.Generation << 32) | (uint)connection.Slot;

    public EpollConnection? Find(ulong data)
    {
        uint slot = (uint)data;
        if (slot >= (uint)Length) return null;
        var connection = _connections[slot];
        return connection != null && connection.Generation == (uint)(data >> 32) ? connection : null;
    }

    public void Add(EpollConnection connection)
    {
        Debug.Assert(connection.Slot == EpollConnection.NoSlot, "a connection has one slot");
        if (!_free.TryPop(out int slot))
        {
            slot = Length++;
            if (slot == _connections.Length) Array.Resize(ref _connections, 2 * slot);
        }

        connection.Slot = slot;
        connection.Generation = _generation++ & 0x7FFFFFFF;      // never the bell's all ones
        _connections[slot] = connection;
        Count++;
    }

    public void Remove(EpollConnection connection)
    {
        if (connection.Slot == EpollConnection.NoSlot) return;
        Debug.Assert(_connections[connection.Slot] == connection, "a slot is its connection's until it is removed");
        _connections[connection.Slot] = null;
        _free.Push(connection.Slot);
        connection.Slot = EpollConnection.NoSlot;
        Count--;
    }

    public EpollConnection[] Snapshot() =>
        [.. _connections.Take(Length).Where(connection => connection != null).Select(connection => connection!)];
}

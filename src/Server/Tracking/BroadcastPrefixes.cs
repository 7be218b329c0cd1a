using System.Diagnostics;
using Kv.Server.PubSub;

namespace Kv.Server.Tracking;

/// <summary>The prefixes of all clients in broadcasting mode.</summary>
/// <remarks>Threads: who joins and leaves is the engine's lock; the index is made again by whoever needs it next, so
/// that ten thousand clients who come one after another do not make it each.</remarks>
/// <param name="chargeManaged">Accounts for the prefixes.</param>
internal sealed class BroadcastPrefixes(Lock guard, Action<long> chargeManaged)
{
    private readonly NameMap<BroadcastPrefix> _prefixes = new();
    private PrefixIndex? _index;
    private int _count;

    // Volatile: 0 until somebody joins; a writer that owns a key later sees what was there before the reply to that.
    public int Count => Volatile.Read(ref _count);

    /// <summary>Finds the prefixes as they are now.</summary>
    public PrefixIndex Index
    {
        get
        {
            if (Volatile.Read(ref _index) is { } index) return index;
            lock (guard) return _index ??= new PrefixIndex([.. _prefixes.All.Select(static pair => pair.Value)]);
        }
    }

    public void Join(byte[] name, ITrackingClient client)
    {
        Debug.Assert(guard.IsHeldByCurrentThread, "the engine is locked");
        if (!_prefixes.TryGet(name, out var prefix))
        {
            prefix = new BroadcastPrefix(name);
            _prefixes.Add(name, prefix);
            chargeManaged(prefix.Bytes);
            Volatile.Write(ref _index, null);
            Volatile.Write(ref _count, _prefixes.Count);
        }

        lock (prefix.Clients) prefix.Clients.Add(client);
    }

    /// <summary>When this returns, nothing more is sent for it.</summary>
    public void Leave(byte[] name, ITrackingClient client)
    {
        Debug.Assert(guard.IsHeldByCurrentThread, "the engine is locked");
        if (!_prefixes.TryGet(name, out var prefix)) return;
        lock (prefix.Clients)
        {
            prefix.Clients.Remove(client);
            if (prefix.Clients.Count > 0) return;
        }

        _prefixes.Remove(name, out _);
        chargeManaged(-prefix.Bytes);
        Volatile.Write(ref _index, null);
        Volatile.Write(ref _count, _prefixes.Count);
    }
}

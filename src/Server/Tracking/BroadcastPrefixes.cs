using System.Diagnostics;

namespace Kv.Server.Tracking;

/// <summary>The prefixes of all clients in broadcasting mode.</summary>
/// <remarks>Threads: who joins and leaves is the engine's lock; any look for the prefixes of a key.</remarks>
/// <param name="chargeManaged">Accounts for the prefixes.</param>
internal sealed class BroadcastPrefixes(Lock guard, Action<long> chargeManaged)
{
    public int Count => Index.Count;

    public PrefixIndex Index { get; } = new();

    public void Join(byte[] name, ITrackingClient client)
    {
        Debug.Assert(guard.IsHeldByCurrentThread, "the engine is locked");
        if (!Index.TryGet(name, out var prefix))
        {
            prefix = new BroadcastPrefix(name);
            Index.Add(prefix);
            chargeManaged(prefix.Bytes);
        }

        lock (prefix.Clients) prefix.Clients.Add(client);
    }

    /// <summary>When this returns, nothing more is sent for it.</summary>
    public void Leave(byte[] name, ITrackingClient client)
    {
        Debug.Assert(guard.IsHeldByCurrentThread, "the engine is locked");
        if (!Index.TryGet(name, out var prefix)) return;
        lock (prefix.Clients)
        {
            prefix.Clients.Remove(client);
            if (prefix.Clients.Count > 0) return;
        }

        Index.Remove(prefix);
        chargeManaged(-prefix.Bytes);
    }
}

using Kv.Server.Sessions;
using Kv.Storage;

namespace Kv.Server.Network;

/// <summary>What a connection's buffers were charged to a store with.</summary>
/// <remarks>
/// Those of a replica are changes on their way: like the rest of the feed, and as with Redis, they evict no keys. A
/// replica that stood still took all of a small cache, up to client-output-buffer-limit, before it was closed.
/// Threads: one at a time.
/// </remarks>
internal struct BufferCharge
{
    private long _bytes;
    private bool _isFeed;

    /// <summary>Charges what the buffers of a session hold now.</summary>
    public void Set(Store store, Session session, long bytes)
    {
        bool isFeed = session.Kind == ClientKind.Replica;
        if (isFeed != _isFeed)
        {
            Add(store, -_bytes);
            (_bytes, _isFeed) = (0, isFeed);
        }

        if (bytes == _bytes) return;
        Add(store, bytes - _bytes);
        _bytes = bytes;
    }

    private readonly void Add(Store store, long bytes)
    {
        if (_isFeed) store.ChargeStream(bytes);
        else store.Charge(bytes);
    }
}

using System.Diagnostics;
using System.Runtime.InteropServices;
using Kv.Protocol;
using Kv.Server.Configuration;
using Kv.Server.PubSub;
using Kv.Storage;

namespace Kv.Server.Tracking;

/// <summary>Tells clients that keep copies of values when those are no longer valid (CLIENT TRACKING).</summary>
/// <remarks>
/// A read of a client that tracks adds its key to <see cref="TrackedKeys"/> before it looks at the value; every write
/// asks there once it owns the key, and sends the messages before anybody can see what it has written. So a copy that
/// is older than the server's value has a message behind it, in the client's queue: after the reply with that value,
/// since a client's own thread writes replies and messages, and no message between a command's beginning and its reply.
/// Threads: any. Locks: <see cref="_guard"/> ► a prefix's clients ► a client's queue; a record's lock and that of the
/// table of databases come before. Cost: while nobody tracks a write looks at one word, which it looks at for WATCH.
/// </remarks>
internal sealed class TrackingEngine : IKeyTracker
{
    /// <summary>How many keys one more read may push out of a table that is too large, beside as many as it has
    /// added: its limit was set lower.</summary>
    private const int EvictionsMax = 100;

    private const TrackingModes Rules = TrackingModes.OptIn | TrackingModes.OptOut;

    private readonly Store _store;
    private readonly Func<long, ITrackingClient?> _find;
    private readonly Action<Action> _later;
    private readonly Action<Exception> _failed;
    private readonly Lock _guard = new();
    private readonly HashSet<ITrackingClient> _clients = [];
    private readonly TrackedKeys _keys;
    private readonly BroadcastPrefixes _prefixes;
    private KeyWriter?[] _writers = [];
    private long _keysMax;
    private int _clientCount;

    /// <param name="find">The client of a number; null: it has left.</param>
    /// <param name="later">Has a thread of the pool do something.</param>
    /// <param name="failed">Is told why a message could not be sent.</param>
    public TrackingEngine(Store store, Func<long, ITrackingClient?> find, Action<Action> later,
        Action<Exception> failed)
    {
        (_store, _find, _later, _failed) = (store, find, later, failed);
        _keys = store.Watches.Tracked;
        _keys.IsReader = id => find(id) is { Tracking.IsBroadcast: false };
        _prefixes = new BroadcastPrefixes(_guard, store.ChargeManaged);
    }

    /// <summary>Clients that track keys.</summary>
    // Volatile: a figure; and whoever reads 0 a moment late has only no name for whom it writes.
    public int ClientCount => Volatile.Read(ref _clientCount);

    public long KeyCount => _keys.Count;

    /// <summary>Pairs of a key and a client; of clients that have left, too.</summary>
    public long ItemCount => _keys.Readers;

    public int PrefixCount => _prefixes.Count;

    /// <summary>Goes by <c>tracking-table-max-keys</c> from here on.</summary>
    public string? Follow(ServerOptions options)
    {
        Volatile.Write(ref _keysMax, options.TrackingTableMaxKeys);
        if (IsTooLarge) _later(() => Evict(long.MaxValue));
        return null;
    }

    /// <summary>Has a client track keys, or track them in another way. By the client's own thread.</summary>
    /// <param name="prefixes">With BCAST, beside those that it has: they overlap with none of them.</param>
    public void Begin(ITrackingClient client, TrackingModes modes, long redirectId, IReadOnlyList<byte[]> prefixes)
    {
        lock (_guard)
        {
            _keys.Prepare();        // before anything is changed
            List<byte[]> all = [.. client.Tracking?.Prefixes ?? [], .. prefixes];
            all.Sort(PrefixIndex.ByBytes);
            if (_clients.Add(client)) Volatile.Write(ref _clientCount, _clients.Count);
            var tracking = new ClientTracking(client, modes, redirectId, all);
            // What CLIENT CACHING has said is for the next command, and this one is none that it means.
            if (client.Tracking is { IsException: true } before && (before.Modes & modes & Rules) != 0)
                tracking.Except();
            client.Tracking = tracking;
            foreach (byte[] prefix in prefixes) _prefixes.Join(prefix, client);
            _store.Watches.Told = _prefixes.Index.Beginnings;
            if (_store.Watches.Tracker == null) _store.Watches.Tracker = this;
        }

        Interlocked.MemoryBarrier();        // what is told before any read of a key by this client
    }

    /// <summary>A client tracks no more, or leaves. By the client's own thread.</summary>
    public void End(ITrackingClient client)
    {
        Action? free = null;
        lock (_guard)
        {
            if (!_clients.Remove(client)) return;
            Volatile.Write(ref _clientCount, _clients.Count);
            foreach (byte[] prefix in client.Tracking!.Prefixes) _prefixes.Leave(prefix, client);
            client.Tracking = null;
            _store.Watches.Told = _prefixes.Index.Beginnings;
            if (_clients.Count == 0)
            {
                _store.Watches.Tracker = null;
                free = _keys.TakeAll();
            }
        }

        if (free != null) _later(free);
    }

    /// <summary>Notes that a client is about to read a key. Behind the last one comes
    /// <see cref="EndRemembering"/>.</summary>
    public void Remember(ClientTracking tracking, in Key key)
    {
        Debug.Assert(tracking.Remembers, "the client is to be told");
        if (tracking.Client.Tracking != tracking) return;       // it has left; what it wanted is done all the same
        _keys.Add(key.Hash, key.Bytes, tracking.Client.Id);
    }

    /// <summary>All keys that a client is about to read were noted.</summary>
    /// <param name="noted">How many: as many go from a full table, or reads of very many keys would fill it faster than
    /// it is emptied.</param>
    public void EndRemembering(int noted)
    {
        Interlocked.MemoryBarrier();        // the table before any read of the keys
        if (IsTooLarge) Evict((long)noted + EvictionsMax);
    }

    /// <summary>Who runs commands on a session of the store.</summary>
    public KeyWriter WriterOf(int slot)
    {
        lock (_guard)
        {
            if (slot >= _writers.Length)
            {
                var writers = _writers;
                Array.Resize(ref writers, Math.Max(slot + 1, 2 * _writers.Length));
                Volatile.Write(ref _writers, writers);      // whole, for those who read it without the lock
            }

            return _writers[slot] ??= new KeyWriter(this);
        }
    }

    /// <inheritdoc/>
    public void NoteChange(int slot, ulong hash, ReadOnlySpan<byte> key)
    {
        try
        {
            bool isBroadcast = _prefixes.Count != 0 && _prefixes.Index.HasAny(key), isTracked = _keys.MayHave(hash);
            if (!isBroadcast && !isTracked) return;
            var writers = Volatile.Read(ref _writers);
            var writer = (uint)slot < (uint)writers.Length ? Volatile.Read(ref writers[slot]) : null;
            if (isBroadcast && writer?.Author != null) writer.Add(key);
            else if (isBroadcast) Broadcast(null, key, [Range.All]);
            if (isTracked) Invalidate(hash, key, writer?.Author);
        }
        catch (Exception exception)
        {
            Fail(exception);
        }
    }

    /// <inheritdoc/>
    public void NoteFlush()
    {
        Action? free = null;
        try
        {
            lock (_guard)
            {
                // Before the messages: what is noted from here on is of a read that comes after the flush, or of one
                // whose reply has the message behind it.
                free = _keys.TakeAll();
                var message = SharedMessage.InvalidationOfAll(_store.Charge);
                foreach (var client in _clients) Send(client, client.Tracking!, message);
                message.Release();
            }
        }
        catch (Exception exception)
        {
            Fail(exception);
        }

        if (free != null) _later(free);
    }

    /// <summary>Tells clients in broadcasting mode of keys: a message for each prefix.</summary>
    /// <param name="keys">Places in <paramref name="text"/>, in the order of their bytes.</param>
    internal void Broadcast(ITrackingClient? author, ReadOnlySpan<byte> text, List<Range> keys)
    {
        try
        {
            List<(BroadcastPrefix Of, int Key)> found = [];
            for (int i = 0; i < keys.Count; i++) _prefixes.Index.AddAll(text[keys[i]], i, found);
            found.Sort(static (a, b) =>
                PrefixIndex.ByBytes.Compare(a.Of.Name, b.Of.Name) is not 0 and var order ? order : a.Key - b.Key);
            List<Range> ofPrefix = [];
            for (int i = 0; i < found.Count; i++)
            {
                ofPrefix.Add(keys[found[i].Key]);
                if (i + 1 < found.Count && found[i + 1].Of == found[i].Of) continue;
                Broadcast(author, found[i].Of, text, ofPrefix);
                ofPrefix.Clear();
            }
        }
        catch (Exception exception)
        {
            Fail(exception);
        }
    }

    private bool IsTooLarge => Volatile.Read(ref _keysMax) is > 0 and var most && _keys.Count > most;

    private void Broadcast(ITrackingClient? author, BroadcastPrefix prefix, ReadOnlySpan<byte> text, List<Range> keys)
    {
        var message = SharedMessage.Invalidation(text, CollectionsMarshal.AsSpan(keys), _store.Charge);
        lock (prefix.Clients)
        {
            foreach (var client in prefix.Clients)
            {
                if (client.Tracking is not { IsBroadcast: true } tracking) continue;
                if (!tracking.IsNoLoop || client != author) Send(client, tracking, message);
            }
        }

        message.Release();
    }

    private void Invalidate(ulong hash, ReadOnlySpan<byte> key, ITrackingClient? author)
    {
        // A client that is not told of its own change keeps its place: the next change is somebody else's.
        long kept = author?.Tracking is { IsNoLoop: true } ? author.Id : 0;
        using var taken = _keys.Take(hash, key, kept);
        if (!taken.IsNone) Send(taken);
    }

    private void Send(in TakenKey key)
    {
        SharedMessage? message = null;
        foreach (long id in key.Readers)
        {
            if (_find(id) is not { Tracking: { IsBroadcast: false } tracking } client) continue;
            message ??= SharedMessage.Invalidation(key.Bytes, [Range.All], _store.Charge);
            Send(client, tracking, message);
        }

        message?.Release();
    }

    private void Send(ITrackingClient client, ClientTracking tracking, SharedMessage message)
    {
        if (tracking.RedirectId == 0)
        {
            // In RESP2 it has no way to read it.
            if (client.Version != RespVersion.Resp3) return;
        }
        else if (_find(tracking.RedirectId) is { } other)
        {
            client = other;
        }
        else
        {
            tracking.IsBroken = true;
            if (client.Version != RespVersion.Resp3) return;
            client.Push(SharedMessage.BrokenRedirection(tracking.RedirectId, _store.Charge));
            return;
        }

        message.AddReferences(1);
        client.Push(message);
    }

    /// <summary>Makes room for others: whoever reads a key that goes is told as if it had changed.</summary>
    private void Evict(long most)
    {
        // Ends: each round takes a key out, unless there is none.
        for (; most > 0 && IsTooLarge; most--)
        {
            using var taken = _keys.TakeAny();
            if (taken.IsNone) return;
            Send(taken);
        }
    }

    /// <summary>No memory for a message, for example: whoever would miss it is closed, and the change is
    /// made.</summary>
    private void Fail(Exception exception)
    {
        _failed(exception);
        lock (_guard)
            foreach (var client in _clients) client.Kill();
    }
}

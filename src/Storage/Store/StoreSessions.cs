using System.Collections.Concurrent;
using System.Diagnostics;
using System.Diagnostics.CodeAnalysis;

namespace Kv.Storage;

/// <summary>The sessions of a store: a slot each; and those that are leased for a few operations.</summary>
/// <remarks>Threads: any; slots and what ended sessions have counted are the lock's.</remarks>
internal sealed class StoreSessions : IDisposable
{
    private readonly Store _store;
    private readonly Lock _lock = new();
    private readonly Stack<int> _freeSlots = new();
    private readonly StoreSession?[] _ofSlot;
    private readonly ConcurrentBag<StoreSession> _leasable = [];
    private readonly SemaphoreSlim _leases;
    private int _count;
    private long _freedByEnded, _hitsByEnded, _missesByEnded;
    private bool _disposed;

    public StoreSessions(Store store, int most)
    {
        _store = store;
        _ofSlot = new StoreSession?[most];
        for (int slot = most - 1; slot >= 0; slot--) _freeSlots.Push(slot);
        _leases = new SemaphoreSlim(Math.Max(1, most / 4));
    }

    /// <summary>Bytes of records that have died or become shorter since the store began, about.</summary>
    public long FreedBytes
    {
        get
        {
            lock (_lock)
            {
                long freed = _freedByEnded;
                foreach (StoreSession? session in _ofSlot) freed += session?.Changes.FreedBytes ?? 0;
                return freed;
            }
        }
    }

    /// <summary>Reads that found their key, and those that did not.</summary>
    public (long Hits, long Misses) Reads
    {
        get
        {
            lock (_lock)
            {
                (long hits, long misses) = (_hitsByEnded, _missesByEnded);
                foreach (StoreSession? session in _ofSlot)
                {
                    hits += session?.Uses.Hits ?? 0;
                    misses += session?.Uses.Misses ?? 0;
                }

                return (hits, misses);
            }
        }
    }

    /// <returns>False: the store has all its sessions.</returns>
    public bool TryCreate([NotNullWhen(true)] out StoreSession? session)
    {
        lock (_lock)
        {
            session = null;
            if (!_freeSlots.TryPop(out int slot)) return false;
            _count++;
            session = _ofSlot[slot] = new StoreSession(_store, slot);
            return true;
        }
    }

    /// <summary>A session that has ended: its slot may be another's.</summary>
    public void Return(StoreSession session)
    {
        Debug.Assert(_ofSlot[session.Slot] == session, "a session is given back once");
        lock (_lock)
        {
            _count--;
            _freedByEnded += session.Changes.FreedBytes;
            _hitsByEnded += session.Uses.Hits;
            _missesByEnded += session.Uses.Misses;
            _ofSlot[session.Slot] = null;
            _freeSlots.Push(session.Slot);
        }
    }

    /// <summary>A leased session in a turn; waits while too many others have one.</summary>
    /// <returns>Null when the store has all its sessions.</returns>
    public StoreSession? Lease()
    {
        _leases.Wait();
        return TakeLeased();
    }

    /// <summary>Leases a session; null when too many others have one.</summary>
    public StoreSession? TryLease() => _disposed || !_leases.Wait(0) ? null : TakeLeased();

    /// <summary>Gives a leased session back.</summary>
    public void Leave(StoreSession session)
    {
        session.GoOffline();
        _leasable.Add(session);
        _leases.Release();
    }

    /// <summary>The thread that began the present turn of a slot's session, for a line of the log.</summary>
    public string HolderOf(int slot)
    {
        lock (_lock) return _ofSlot[slot]?.Holder ?? "a session that has ended";
    }

    /// <summary>Ends those that were leased; others have disposed theirs.</summary>
    public void Dispose()
    {
        _disposed = true;
        while (_leasable.TryTake(out StoreSession? session)) session.Dispose();
        lock (_lock) Invariant.Check(_count == 0, "a store is disposed after its sessions");
        _leases.Dispose();
    }

    // By one who has a place among those that lease.
    private StoreSession? TakeLeased()
    {
        if (!_leasable.TryTake(out StoreSession? session) && !TryCreate(out session))
        {
            _leases.Release();
            return null;
        }

        session.BeginTurn();
        return session;
    }
}

using System.Diagnostics;

namespace Kv.Server.Network;

/// <summary>The leases of the portable transport: as many as can do useful work at once, however many clients there
/// are.</summary>
/// <remarks>Threads: any. Allocates nothing for a lease.</remarks>
internal sealed class WindowLeases : IDisposable
{
    private readonly Lock _guard = new();
    private readonly SemaphoreSlim _available;
    private readonly WindowLease[] _all, _free;
    private int _freeCount;

    public WindowLeases(KvServer server, int count)
    {
        _all = new WindowLease[count];
        for (int i = 0; i < count; i++) _all[i] = new WindowLease(server);
        _free = [.. _all];
        _freeCount = count;
        _available = new SemaphoreSlim(count);
        Held = new HeldConnections(server);
    }

    /// <summary>Connections with replies that wait for the disk.</summary>
    public HeldConnections Held { get; }

    /// <summary>Waits for a lease. Return it soon, without waiting for anything in between.</summary>
    public async ValueTask<WindowLease> RentAsync()
    {
        if (!_available.Wait(0)) await _available.WaitAsync().ConfigureAwait(false);
        lock (_guard)
        {
            Debug.Assert(_freeCount > 0, "there is a lease for each unit of the semaphore");
            return _free[--_freeCount];
        }
    }

    /// <summary>Whether one of the leases gets free within a time: not all are stuck in commands.</summary>
    public bool TryUse(int withinMs)
    {
        if (!_available.Wait(withinMs)) return false;
        _available.Release();
        return true;
    }

    public void Return(WindowLease lease)
    {
        lock (_guard)
        {
            Debug.Assert(_freeCount < _all.Length, "a lease is returned once");
            _free[_freeCount++] = lease;
        }

        _available.Release();
    }

    public void Dispose()
    {
        foreach (var lease in _all) lease.Dispose();
        _available.Dispose();
    }
}

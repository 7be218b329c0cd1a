using System.Collections.Concurrent;
using System.Diagnostics;

namespace Kv.Server.Network;

/// <summary>The leases of the portable transport: as many as can do useful work at once, however many clients there
/// are.</summary>
/// <remarks>Threads: any.</remarks>
internal sealed class WindowLeases : IDisposable
{
    private readonly ConcurrentStack<WindowLease> _free = new();
    private readonly SemaphoreSlim _available;
    private readonly WindowLease[] _all;

    public WindowLeases(KvServer server, int count)
    {
        _all = new WindowLease[count];
        for (int i = 0; i < count; i++) _free.Push(_all[i] = new WindowLease(server));
        _available = new SemaphoreSlim(count);
    }

    /// <summary>Waits for a lease. Return it soon, without waiting for anything in between.</summary>
    public async ValueTask<WindowLease> RentAsync()
    {
        if (!_available.Wait(0)) await _available.WaitAsync().ConfigureAwait(false);
        _free.TryPop(out var lease);
        Debug.Assert(lease != null, "there is a lease for each unit of the semaphore");
        return lease!;
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
        Debug.Assert(_free.Count < _all.Length, "a lease is returned once");
        _free.Push(lease);
        _available.Release();
    }

    public void Dispose()
    {
        foreach (var lease in _all) lease.Dispose();
        _available.Dispose();
    }
}

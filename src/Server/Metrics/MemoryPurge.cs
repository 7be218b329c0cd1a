using Kv.Storage;

namespace Kv.Server.Metrics;

/// <summary>Gives back to the system whatever is free: of the store, of the C library's heap, and of the managed heap
/// where the process is the server's own.</summary>
/// <remarks>
/// One at a time, and once a second at most, however many ask: all threads stand still while the managed heap is
/// compacted, some 5 to 70 ms. Threads: any, not in a turn of a session.
/// </remarks>
/// <param name="ownsHeap">Whether the managed heap is nobody else's.</param>
/// <param name="failed">Is told of a mistake of ours.</param>
internal sealed class MemoryPurge(Store store, bool ownsHeap, Action<Exception> failed) : IDisposable
{
    private const long PauseMs = 1000;

    /// <summary>More than this is not moved: it would stop all threads for too long.</summary>
    private const long MovedBytesMax = 256L << 20;

    private readonly SemaphoreSlim _gate = new(1);
    private long _endedMs = -PauseMs;
    private bool _isDisposed;

    /// <summary>Gives back what is free. Takes no thread while it waits for another one that is at it; throws
    /// nothing.</summary>
    public async Task RunAsync()
    {
        await _gate.WaitAsync().ConfigureAwait(false);
        try
        {
            if (_isDisposed || Environment.TickCount64 - _endedMs < PauseMs) return;
            var heap = RuntimeHeapFigures.Instance;
            // First: what objects of it hold of the C library's heap is free only afterwards.
            if (ownsHeap && heap.AllocatedBytes <= MovedBytesMax) heap.Compact();
            else if (ownsHeap) heap.Collect();
            store.GiveBack();
            _endedMs = Environment.TickCount64;
        }
        catch (Exception exception)
        {
            failed(exception);
        }
        finally
        {
            _gate.Release();
        }
    }

    /// <summary>Waits for one that is at it; there are none afterwards.</summary>
    public void Dispose()
    {
        _gate.Wait();
        _isDisposed = true;
        _gate.Release();
    }
}

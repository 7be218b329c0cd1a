namespace Kv.Storage;

/// <summary>What has been unlinked and waits until no session can reach it any more.</summary>
/// <remarks>
/// Threads: any may defer; freeing runs outside of the lock, on the thread that asks for it. Taking the lock is the full
/// fence between the caller's unlinking and the reading of the epoch (<see cref="EpochTable"/>).
/// </remarks>
internal sealed class DeferredActions(EpochTable epochs)
{
    /// <summary>One thing to free: what it means is the callback's business.</summary>
    public readonly record struct Item(ulong Epoch, Action<object?, nint> Free, object? Target, nint Value, long Bytes, bool IsLong = false);

    private readonly Queue<Item> _items = new(capacity: 64);
    private readonly Queue<Item> _unreachable = new(capacity: 16);
    private readonly Lock _lock = new();
    private long _bytes, _unreachableBytes, _added;
    private int _count;

    public int Count => Volatile.Read(ref _count);

    /// <summary>Bytes that wait, as their owners counted them.</summary>
    public long Bytes => Volatile.Read(ref _bytes);

    /// <summary>Bytes that wait for a thread, and for no epoch.</summary>
    public long UnreachableBytes => Volatile.Read(ref _unreachableBytes);

    /// <summary>Bytes that have ever been deferred: who looks twice knows how much it was in between.</summary>
    public long AddedBytes => Volatile.Read(ref _added);

    /// <summary>Has something freed once nobody can reach it.</summary>
    /// <param name="isLong">Whether it takes long to free.</param>
    /// <remarks>
    /// Throws nothing: callers hold locks and have begun what they must end. When the managed heap has no room for one more
    /// item, what it stands for is never freed.
    /// </remarks>
    public void Defer(Action<object?, nint> free, object? target, nint value, long bytes, bool isLong = false)
    {
        lock (_lock)
        {
            try
            {
                _items.Enqueue(new Item(epochs.Current, free, target, value, bytes, isLong));
            }
            catch (OutOfMemoryException)
            {
                return;
            }

            _count++;
            _bytes += bytes;
            _added += bytes;
        }
    }

    /// <summary>Has something freed that nobody can reach, or ever could: only by another thread, so that the caller need not.</summary>
    /// <returns>False when the managed heap has no room for one more item: to be freed by the caller.</returns>
    public bool TryDeferUnreachable(Action<object?, nint> free, nint value, long bytes)
    {
        lock (_lock)
        {
            try
            {
                _unreachable.Enqueue(new Item(0, free, null, value, bytes));
            }
            catch (OutOfMemoryException)
            {
                return false;
            }

            _count++;
            _bytes += bytes;
            _unreachableBytes += bytes;
            return true;
        }
    }

    /// <summary>Frees what is safe.</summary>
    /// <param name="isQuick">What takes long (a whole database), and what comes behind it, is left to another call.</param>
    /// <returns>How many things were freed.</returns>
    public int Run(bool isQuick = false)
    {
        if (Count == 0) return 0;
        epochs.Advance();
        ulong safe = epochs.SafeBelow();
        int freed = 0;
        // Ends: takes at most what is queued; items of newer epochs than safe stop it.
        while (true)
        {
            Item item;
            Fault.Point("deferred.run");
            lock (_lock)
            {
                if (_unreachable.TryDequeue(out item)) _unreachableBytes -= item.Bytes;
                else if (!_items.TryPeek(out item) || item.Epoch >= safe || (isQuick && item.IsLong)) return freed;
                else _items.Dequeue();
                _count--;
                _bytes -= item.Bytes;
            }

            item.Free(item.Target, item.Value);
            freed++;
        }
    }
}

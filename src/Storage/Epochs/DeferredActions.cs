namespace Kv.Storage;

/// <summary>What has been unlinked and waits until no session can reach it any more.</summary>
/// <remarks>
/// Threads: any may defer; freeing runs outside of the lock, on the thread that asks for it. Taking the lock is the full
/// fence between the caller's unlinking and the reading of the epoch (<see cref="EpochTable"/>).
/// </remarks>
internal sealed class DeferredActions(EpochTable epochs)
{
    /// <summary>One thing to free: what it means is the callback's business.</summary>
    public readonly record struct Item(ulong Epoch, Action<object?, nint> Free, object? Target, nint Value, long Bytes);

    private readonly Queue<Item> _items = new(capacity: 64);
    private readonly Lock _lock = new();
    private long _bytes;
    private int _count;

    public int Count => Volatile.Read(ref _count);

    /// <summary>Bytes that wait, as their owners counted them.</summary>
    public long Bytes => Volatile.Read(ref _bytes);

    /// <summary>Has something freed once nobody can reach it.</summary>
    /// <remarks>
    /// Throws nothing: callers hold locks and have begun what they must end. When the managed heap has no room for one more
    /// item, what it stands for is never freed.
    /// </remarks>
    public void Defer(Action<object?, nint> free, object? target, nint value, long bytes)
    {
        lock (_lock)
        {
            try
            {
                _items.Enqueue(new Item(epochs.Current, free, target, value, bytes));
            }
            catch (OutOfMemoryException)
            {
                return;
            }

            _count++;
            _bytes += bytes;
        }
    }

    /// <summary>Frees what is safe.</summary>
    /// <returns>How many things were freed.</returns>
    public int Run()
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
                if (!_items.TryPeek(out item) || item.Epoch >= safe) return freed;
                _items.Dequeue();
                _count--;
                _bytes -= item.Bytes;
            }

            item.Free(item.Target, item.Value);
            freed++;
        }
    }
}

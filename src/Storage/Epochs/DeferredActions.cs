using System.Diagnostics;

namespace Kv.Storage;

/// <summary>What has been unlinked and waits until no session can reach it any more.</summary>
/// <remarks>
/// Threads: any may defer; freeing runs outside of the lock, on the thread that asks for it. Taking the lock is the
/// full fence between the caller's unlinking and the reading of the epoch (<see cref="EpochTable"/>).
/// </remarks>
internal sealed class DeferredActions(EpochTable epochs)
{
    /// <summary>One thing to free: what it means is the callback's business.</summary>
    private readonly record struct Item(ulong Epoch, Action<object?, nint> Free, object? Target, nint Value, long Bytes,
        bool IsLong = false);

    /// <summary>Blocks that a session frees at most at the beginning of its turn: some 10 us.</summary>
    private const int BlocksAtOnce = 128;

    private readonly Queue<Item> _items = new(capacity: 64);
    private readonly Queue<Item> _blocks = new(capacity: 64);
    private readonly Queue<Item> _unreachable = new(capacity: 16);
    private readonly Lock _lock = new();
    private long _bytes, _blockBytes, _unreachableBytes, _added;
    private int _count, _running;

    /// <summary>Whether nothing waits and nothing is being freed: what was charged for it is back.</summary>
    // In this order: whoever takes an item is counted before the item no longer is.
    public bool IsQuiet => Count == 0 && Volatile.Read(ref _running) == 0;

    public int Count => Volatile.Read(ref _count);

    /// <summary>Bytes that wait, as their owners counted them.</summary>
    public long Bytes => Volatile.Read(ref _bytes);

    /// <summary>Bytes of blocks that wait; part of <see cref="Bytes"/>.</summary>
    public long BlockBytes => Volatile.Read(ref _blockBytes);

    /// <summary>Bytes that wait for a thread, and for no epoch.</summary>
    public long UnreachableBytes => Volatile.Read(ref _unreachableBytes);

    /// <summary>Bytes that have ever been deferred: the difference of two readings is what came in between.</summary>
    public long AddedBytes => Volatile.Read(ref _added);

    /// <summary>Has something freed once nobody can reach it.</summary>
    /// <param name="isLong">Whether it takes long to free.</param>
    /// <remarks>
    /// Throws nothing: callers hold locks and have begun what they must end. When the managed heap has no room for one
    /// more item, what it stands for is never freed.
    /// </remarks>
    public void Defer(Action<object?, nint> free, object? target, nint value, long bytes, bool isLong = false)
    {
        Debug.Assert(bytes >= 0, "what waits has a size");
        lock (_lock)
        {
            if (!TryAdd(_items, new Item(epochs.Current, free, target, value, bytes, isLong))) return;
            _added += bytes;
        }
    }

    /// <summary>Has a block freed once nobody can reach it. Sessions may free it, too (<see cref="RunBlocks"/>):
    /// <paramref name="free"/> is quick, and takes no lock that they may hold.</summary>
    public void DeferBlock(Action<object?, nint> free, nint value, long bytes)
    {
        Debug.Assert(bytes > 0 && value != 0, "a block is something");
        lock (_lock)
        {
            if (!TryAdd(_blocks, new Item(epochs.Current, free, null, value, bytes))) return;
            _blockBytes += bytes;
            _added += bytes;
        }
    }

    /// <summary>Has something that nobody can reach freed by another thread, without waiting for an epoch.</summary>
    /// <returns>False when the managed heap has no room for one more item: the caller frees it.</returns>
    public bool TryDeferUnreachable(Action<object?, nint> free, nint value, long bytes)
    {
        Debug.Assert(bytes >= 0, "what waits has a size");
        lock (_lock)
        {
            if (!TryAdd(_unreachable, new Item(0, free, null, value, bytes))) return false;
            _unreachableBytes += bytes;
            return true;
        }
    }

    /// <summary>A mark of now, for <see cref="IsPast"/>: what the caller has unlinked was so before it. For who comes
    /// by anyhow, and must not depend on room for one more item.</summary>
    public ulong Mark()
    {
        lock (_lock) return epochs.Current;     // the lock: full fence, between the unlinking and the epoch
    }

    /// <summary>Whether nobody can reach any more what was unlinked before a mark was taken.</summary>
    public bool IsPast(ulong mark) => mark < epochs.SafeBelow();

    /// <summary>Frees what is safe.</summary>
    /// <param name="isQuick">Stops at what takes long (a whole database): it and what follows are left to another
    /// call.</param>
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
                if (TryTake(_unreachable, safe, out item)) _unreachableBytes -= item.Bytes;
                else if (TryTake(_blocks, safe, out item)) _blockBytes -= item.Bytes;
                else if (!TryTake(_items, safe, out item, isQuick)) return freed;
            }

            Free(item);
            freed++;
        }
    }

    /// <summary>Frees blocks that are safe, so that what is allocated next is their memory, while that is in the
    /// processor's cache.</summary>
    /// <param name="bytesMax">Blocks of at most this many bytes in all.</param>
    /// <remarks>Call with a full fence since the last unlinking of the caller's own.</remarks>
    public void RunBlocks(long bytesMax)
    {
        ulong safe = epochs.SafeBelow();
        for (int freed = 0; freed < BlocksAtOnce; freed++)
        {
            Item item;
            lock (_lock)
            {
                if (!_blocks.TryPeek(out item) || item.Bytes > bytesMax || !TryTake(_blocks, safe, out item)) return;
                _blockBytes -= item.Bytes;
            }

            bytesMax -= item.Bytes;
            Free(item);
        }
    }

    private void Free(in Item item)
    {
        Debug.Assert(!_lock.IsHeldByCurrentThread, "freeing runs outside of the lock");
        try
        {
            item.Free(item.Target, item.Value);
        }
        finally
        {
            Interlocked.Decrement(ref _running);
        }
    }

    private bool TryAdd(Queue<Item> queue, in Item item)
    {
        Debug.Assert(_lock.IsHeldByCurrentThread, "the queues are the lock's");
        try
        {
            queue.Enqueue(item);
        }
        catch (OutOfMemoryException)
        {
            return false;
        }

        _count++;
        _bytes += item.Bytes;
        return true;
    }

    private bool TryTake(Queue<Item> queue, ulong safe, out Item item, bool isQuick = false)
    {
        Debug.Assert(_lock.IsHeldByCurrentThread, "the queues are the lock's");
        if (!queue.TryPeek(out item) || item.Epoch >= safe || (isQuick && item.IsLong)) return false;
        queue.Dequeue();
        Interlocked.Increment(ref _running);        // full fence: before the count
        _count--;
        _bytes -= item.Bytes;
        Debug.Assert(_count >= 0 && _bytes >= 0, "it was counted");
        return true;
    }
}

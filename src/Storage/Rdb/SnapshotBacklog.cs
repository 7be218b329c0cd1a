using System.Diagnostics;

namespace Kv.Storage;

/// <summary>What a snapshot has kept and its file has not got yet, in bytes.</summary>
/// <remarks>Threads: any; both sums are added to atomically and read without order, so they may be some operations
/// old.</remarks>
internal sealed class SnapshotBacklog(MemoryBudget budget)
{
    /// <summary>What may wait before writers do, where memory is not short.</summary>
    private const long BytesMost = 32L << 20;

    private long _copied, _pinned;

    /// <summary>Bytes that were copied.</summary>
    public long CopiedBytes => Volatile.Read(ref _copied);

    /// <summary>Bytes of blocks that are shared with the store until they are in the file: given back then, if they
    /// have left the store meanwhile.</summary>
    public long PinnedBytes => Volatile.Read(ref _pinned);

    /// <summary>Whether so much was copied that writers are to wait. What is pinned was there before, and matters only
    /// where memory is short.</summary>
    public bool IsTooMuch => CopiedBytes > MemoryBudget.BufferLimit(BytesMost, budget.MaxBytes);

    public void AddCopied(long bytes) => Interlocked.Add(ref _copied, bytes);

    public void AddPinned(long bytes)
    {
        long pinned = Interlocked.Add(ref _pinned, bytes);
        Debug.Assert(pinned >= 0, "what is let go of was pinned");
    }
}

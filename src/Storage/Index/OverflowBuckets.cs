namespace Kv.Storage;

/// <summary>Buckets for chains that outgrow their first one, by number; 0 is none.</summary>
/// <remarks>
/// Threads: taking and giving back lock (about one key in a hundred gets here); reading by number is free.
/// A bucket comes zeroed. It is given back only after an epoch, since readers may still walk it.
/// </remarks>
internal sealed unsafe class OverflowBuckets(MemoryBudget budget, long bucketsMax) : IDisposable
{
    private readonly byte* _buckets = VirtualMemory.Reserve((nuint)(bucketsMax * HashBucket.Bytes), HashBucket.Bytes);
    private readonly Stack<uint> _free = new();
    private readonly Lock _lock = new();
    private uint _next = 1;

    public ulong* this[uint number] => (ulong*)(_buckets + (long)number * HashBucket.Bytes);

    /// <summary>How many are in chains now. Exact when writers are quiet.</summary>
    public long InUse
    {
        get
        {
            lock (_lock) return _next - 1 - _free.Count;
        }
    }

    /// <summary>Bytes charged: of all that were ever taken, in use or not.</summary>
    public long ChargedBytes
    {
        get
        {
            lock (_lock) return (_next - 1) * (long)HashBucket.Bytes;
        }
    }

    /// <summary>A zeroed bucket's number, or 0 when there is no memory.</summary>
    /// <remarks>Throws nothing: callers hold a latch.</remarks>
    public uint TryTake()
    {
        if (budget.RefusesAllocation()) return 0;
        uint number;
        try
        {
            lock (_lock)
            {
                if (!_free.TryPop(out number))
                {
                    if (_buckets == null || _next == bucketsMax) return 0;
                    _free.EnsureCapacity((int)Math.Min(_next, int.MaxValue));       // so that giving back never needs memory
                    number = _next++;
                    budget.ChargeIndex(HashBucket.Bytes);
                }
            }
        }
        catch (OutOfMemoryException)
        {
            return 0;
        }

        new Span<ulong>(this[number], 8).Clear();
        return number;
    }

    public void Return(uint number)
    {
        lock (_lock) _free.Push(number);
    }

    public void Dispose()
    {
        if (_buckets == null) return;
        budget.ChargeIndex(-(_next - 1) * (long)HashBucket.Bytes);
        VirtualMemory.Release(_buckets, (nuint)(bucketsMax * HashBucket.Bytes));
    }
}

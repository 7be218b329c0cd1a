using System.Diagnostics;
using System.Numerics;

namespace Kv.Storage;

//  buckets, by number; 64 to a page of 4 KB                          free map: a word a page, bit i set = bucket i is free
//  | page 0: 0 (nobody's), 1 .. 63 | page 1: 64 .. 127 | ...         | word 0 | word 1 | ...
//
//  A page whose 64 buckets are all free has been given back to the system. Numbers from _next on were never taken.

/// <summary>Buckets for chains that outgrow their first one, by number; 0 is none.</summary>
/// <remarks>
/// Threads: taking and giving back lock (about one key in a hundred gets here); reading by number is free.
/// A bucket comes zeroed. It is given back only after an epoch, since readers may still walk it.
/// Memory: charged page by page. The lowest free bucket is taken first, so that the last pages run empty. (Where the
/// system's pages are larger than 4 KB it refuses to take one of ours back; it is used again all the same.)
/// </remarks>
internal sealed unsafe class OverflowBuckets : IDisposable
{
    private const int BucketsPerPage = 64, PageBytes = BucketsPerPage * HashBucket.Bytes;

    private readonly MemoryBudget _budget;
    private readonly long _bucketsMax;
    private readonly byte* _buckets;
    private ulong* _free;           // null once disposed
    private readonly Lock _lock = new();
    private uint _next = 1;
    private long _inUse, _pages;
    private uint _firstPage;        // no page below it has a free bucket

    public OverflowBuckets(MemoryBudget budget, long bucketsMax)
    {
        _budget = budget;
        _bucketsMax = bucketsMax;
        _buckets = VirtualMemory.Reserve((nuint)(bucketsMax * HashBucket.Bytes), PageBytes);
        _free = (ulong*)VirtualMemory.Reserve((nuint)MapBytes);
        if (_buckets != null) VirtualMemory.AvoidHugePages(_buckets, (nuint)(bucketsMax * HashBucket.Bytes));
    }

    public ulong* this[uint number] => (ulong*)(_buckets + (long)number * HashBucket.Bytes);

    /// <summary>How many are in chains now. Exact when writers are quiet.</summary>
    public long InUse
    {
        get
        {
            lock (_lock) return _inUse;
        }
    }

    /// <summary>Bytes charged: the pages of buckets in use.</summary>
    public long ChargedBytes
    {
        get
        {
            lock (_lock) return _pages * PageBytes;
        }
    }

    private long MapBytes => (_bucketsMax / BucketsPerPage + 1) * sizeof(ulong);

    /// <summary>A zeroed bucket's number, or 0 when there is no memory.</summary>
    /// <remarks>Throws nothing, and neither does giving back: callers hold a latch, and the free map is native
    /// memory.</remarks>
    public uint TryTake()
    {
        if (_budget.RefusesAllocation() || _buckets == null || _free == null) return 0;
        uint number;
        lock (_lock)
        {
            number = TakeFree();
            if (number == 0)
            {
                if (_next == _bucketsMax) return 0;
                if (_next % BucketsPerPage == 0 || _next == 1) ChargePages(1);
                number = _next++;
            }

            _inUse++;
        }

        new Span<ulong>(this[number], 8).Clear();
        return number;
    }

    /// <summary>Takes a bucket back that nobody can reach any more.</summary>
    /// <remarks>Also called after <see cref="Dispose"/>: a session that was in a turn when the database was flushed may
    /// have retired the bucket after the database.</remarks>
    public void Return(uint number)
    {
        Debug.Assert(number != 0 && number < Volatile.Read(ref _next), "it was taken");
        lock (_lock)
        {
            if (_free == null) return;
            uint page = number / BucketsPerPage;
            _free[page] |= 1UL << (int)(number % BucketsPerPage);
            _firstPage = Math.Min(_firstPage, page);
            _inUse--;
            if (_free[page] != ulong.MaxValue) return;
            // Under the lock: as soon as it is let go of, a bucket of the page may be taken and written to.
            VirtualMemory.GiveBack(_buckets + (long)page * PageBytes, PageBytes);
            ChargePages(-1);
        }
    }

    /// <summary>Takes a bucket back once an epoch has passed: readers may be in it.</summary>
    public void Retire(uint number, DeferredActions deferred) =>
        deferred.Defer(static (target, value) => ((OverflowBuckets)target!).Return((uint)value), this, (nint)number,
            HashBucket.Bytes);

    public void Dispose()
    {
        lock (_lock)
        {
            ChargePages(-_pages);
            if (_buckets != null) VirtualMemory.Release(_buckets, (nuint)(_bucketsMax * HashBucket.Bytes));
            if (_free != null) VirtualMemory.Release((byte*)_free, (nuint)MapBytes);
            _free = null;
        }
    }

    /// <returns>The lowest free bucket of those that were ever taken; 0: none.</returns>
    private uint TakeFree()
    {
        Debug.Assert(_lock.IsHeldByCurrentThread, "the free map is the lock's");
        // Ends: at the last page; what has been passed is not looked at again until something there is given back.
        for (uint pages = (_next + BucketsPerPage - 1) / BucketsPerPage; _firstPage < pages; _firstPage++)
        {
            ulong free = _free[_firstPage];
            if (free == 0) continue;
            if (free == ulong.MaxValue) ChargePages(1);
            _free[_firstPage] = free & (free - 1);
            return _firstPage * BucketsPerPage + (uint)BitOperations.TrailingZeroCount(free);
        }

        return 0;
    }

    private void ChargePages(long pages)
    {
        Debug.Assert(_lock.IsHeldByCurrentThread, "the pages are the lock's");
        Debug.Assert(_pages + pages >= 0, "no more pages are given back than were taken");
        _pages += pages;
        _budget.ChargeIndex(pages * PageBytes);
    }
}

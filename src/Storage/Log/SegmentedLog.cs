using System.Diagnostics;
using System.Runtime.CompilerServices;

namespace Kv.Storage;

/// <summary>The address space of all records: 2 MB segments, handed out to writers and taken back empty.</summary>
/// <remarks>
/// An address counts 8-byte units from the start of the space; 0 is nobody's (the first unit is never handed out).
/// Threads: <see cref="TryTake"/> and <see cref="Free"/> lock; the infos have their own rules
/// (<see cref="SegmentInfo"/>). Memory: a segment's pages are the system's until they are touched; a few free segments
/// are kept warm.
/// </remarks>
internal sealed unsafe class SegmentedLog : IDisposable
{
    public const int SegmentBytes = 2 << 20;
    private const int SegmentUnitsShift = 18;   // 2 MB in units of 8 bytes
    private const int KeptFreeMin = 2, ReadyMax = 2;

    private readonly MemoryBudget _budget;
    private readonly Stack<int> _cold = new();      // never used, or given back to the system
    private readonly Stack<int> _warm = new();      // free, pages still ours
    private readonly Stack<int> _ready = new();     // free, their huge pages taken ahead
    private readonly Lock _lock = new();
    private readonly SegmentInfo* _infos;
    private readonly int _segmentsMax;
    private int _next = 1;                          // segment 0 stays unused, and with it address 0
    private int _taken, _retired;
    private bool _tookHuge;

    public SegmentedLog(MemoryBudget budget)
    {
        _budget = budget;
        // Four times the machine's memory: room for holes between live segments, and only a reservation.
        long memory = GC.GetGCMemoryInfo().TotalAvailableMemoryBytes;
        long range = Math.Clamp(memory * 4, 64L << 30, 4L << 40);
        _segmentsMax = (int)(range / SegmentBytes);
        Base = VirtualMemory.Reserve((nuint)((long)_segmentsMax * SegmentBytes), SegmentBytes);
        _infos = (SegmentInfo*)VirtualMemory.Reserve((nuint)((long)_segmentsMax * SegmentInfo.SizeBytes));
        if (Base == null || _infos == null)
            throw new InvalidOperationException(
                $"The system refused to reserve {range >> 30} GB of addresses for the log.");
        VirtualMemory.AvoidHugePages(Base, (nuint)((long)_segmentsMax * SegmentBytes));
    }

    /// <summary>For tests: freed segments are overwritten, so that whoever still reads one reads nonsense.</summary>
    public bool PoisonFreed { get; set; }

    /// <summary>Where address 0 is.</summary>
    public byte* Base { get; }

    public SegmentInfo* Info(int segment) => _infos + segment;

    public byte* Start(int segment) => Base + (long)segment * SegmentBytes;

    public static int SegmentOf(ulong address) => (int)(address >> SegmentUnitsShift);

    public ulong AddressOf(byte* record) => (ulong)(record - Base) >> 3;

    public byte* Pointer(ulong address) => Base + (address << 3);

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public SegmentInfo* InfoOf(byte* record) => _infos + ((record - Base) >> 21);

    /// <summary>Charges bytes of a record that is no more to its segment.</summary>
    public void AddDead(byte* record, int bytes) => Interlocked.Add(ref InfoOf(record)->DeadBytes, bytes);

    /// <summary>Takes a free segment for one writer of a database.</summary>
    /// <param name="queue">What is to lie in it.</param>
    /// <param name="huge">Whether the database is large enough for huge pages.</param>
    /// <returns>False when the address space is used up.</returns>
    public bool TryTake(int databaseId, SegmentQueue queue, bool huge, long nowSeconds, out int segment)
    {
        Debug.Assert(databaseId > 0, "a segment is a database's");
        bool warm;
        segment = 0;
        if (_budget.RefusesAllocation()) return false;
        try
        {
            lock (_lock)
            {
                warm = _warm.TryPop(out segment) || (huge && _ready.TryPop(out segment));
                if (warm) _budget.ChargeIdle(-SegmentBytes);
                else if (!TryTakeCold(out segment)) return false;
                _tookHuge |= huge;
                _taken++;
            }
        }
        catch (OutOfMemoryException)
        {
            return false;
        }

        if (huge && !warm) VirtualMemory.PreferHugePages(Start(segment), SegmentBytes);
        SegmentInfo* info = Info(segment);
        info->Tail = 0;
        info->Generation++;
        info->DeadBytes = 0;
        info->DatabaseId = databaseId;
        info->EarliestExpiryMs = long.MaxValue;
        info->LastWriteSeconds = nowSeconds;
        info->SealEpoch = 0;
        info->Queue = queue;
        Volatile.Write(ref *(int*)&info->State, (int)SegmentState.Active);
        return true;
    }

    /// <summary>Takes the memory of the next segment from the system ahead of its writer, while writers of large
    /// databases take new ones: a huge page takes the system some milliseconds where it has to ask its own host for
    /// it.</summary>
    /// <returns>Whether a segment was taken since the last call: the caller is to come back in some
    /// milliseconds.</returns>
    /// <remarks>Threads: upkeep's only.</remarks>
    public bool Prepare()
    {
        int segment = 0;
        try
        {
            lock (_lock)
            {
                if (!_tookHuge) return false;
                if (_warm.Count + _ready.Count >= ReadyMax || !TryTakeCold(out segment))
                {
                    _tookHuge = false;
                    return true;
                }
            }
        }
        catch (OutOfMemoryException)
        {
            return false;
        }

        VirtualMemory.PreferHugePages(Start(segment), SegmentBytes);
        VirtualMemory.Populate(Start(segment), SegmentBytes);
        _budget.ChargeIdle(SegmentBytes);       // before somebody takes it
        lock (_lock) _ready.Push(segment);
        return true;
    }

    private bool TryTakeCold(out int segment)
    {
        Debug.Assert(_lock.IsHeldByCurrentThread, "the stacks are the lock's");
        if (_cold.TryPop(out segment)) return true;
        if (_next == _segmentsMax) return false;
        // Room for all that there are, so that taking one back never needs memory.
        _warm.EnsureCapacity(_next);
        _cold.EnsureCapacity(_next);
        _ready.EnsureCapacity(ReadyMax);
        segment = _next++;
        return true;
    }

    /// <summary>Bytes of segments that are retired, and free when an epoch has passed: charged to nobody.</summary>
    public long RetiredBytes => Volatile.Read(ref _retired) * (long)SegmentBytes;

    /// <summary>Bytes of free segments that are kept for the writers.</summary>
    public long WarmBytes
    {
        get
        {
            lock (_lock) return (_warm.Count + _ready.Count) * (long)SegmentBytes;
        }
    }

    // 3 % of what is in use stays warm for the writers: a page fault costs more than a record.
    private int KeptFree => _budget.IsBeyond ? 0 : Math.Max(KeptFreeMin, _taken / 32);

    /// <summary>Notes that a segment has nothing alive: nobody is to append to it or to look for anything in
    /// it.</summary>
    public void Retire(int segment)
    {
        Debug.Assert(Info(segment)->State is not (SegmentState.Free or SegmentState.Retired), "it is in use");
        AssertAllDead(segment);
        Volatile.Write(ref *(int*)&Info(segment)->State, (int)SegmentState.Retired);
        Interlocked.Increment(ref _retired);
        _budget.ChargeIdle(SegmentBytes);
    }

    [Conditional("DEBUG")]
    private void AssertAllDead(int segment)
    {
        var scan = new LogScanner(this, segment);
        while (scan.Next(out _, out ulong word)) Debug.Assert(RecordWord.IsDead(word), "nothing in it is alive");
    }

    /// <summary>Takes back a segment that nobody can reach any more.</summary>
    public void Free(int segment, int chargedBytes)
    {
        Debug.Assert(Info(segment)->State != SegmentState.Free, "it is freed once");
        if (Info(segment)->State == SegmentState.Retired) Interlocked.Decrement(ref _retired);
        else _budget.ChargeIdle(SegmentBytes);
        Info(segment)->State = SegmentState.Free;
        _budget.ChargeLog(-chargedBytes);
        if (PoisonFreed) new Span<byte>(Start(segment), SegmentBytes).Fill(0xDB);
        bool keep;
        lock (_lock)
        {
            _taken--;
            Debug.Assert(_taken >= 0, "it was taken");
            keep = _warm.Count < KeptFree;
            if (keep) _warm.Push(segment);
        }

        if (keep) return;
        GiveBack(segment);
    }

    private void GiveBack(int segment)
    {
        Debug.Assert(Info(segment)->State == SegmentState.Free, "only free segments go to the system");
        VirtualMemory.GiveBack(Start(segment), SegmentBytes);
        _budget.ChargeIdle(-SegmentBytes);
        lock (_lock) _cold.Push(segment);
    }

    /// <summary>Gives warm free segments above the reserve back to the system.</summary>
    public void Trim()
    {
        // Ends: each round takes one off the stack, and stops at the reserve.
        while (true)
        {
            int segment;
            lock (_lock)
            {
                if (_warm.Count <= KeptFree || !_warm.TryPop(out segment)) return;
            }

            GiveBack(segment);
        }
    }

    /// <summary>Gives all warm free segments back to the system, those of the reserve and those taken ahead,
    /// too.</summary>
    public void TrimAll()
    {
        // Ends: each round takes one off a stack; writers that free others meanwhile are slower.
        while (true)
        {
            int segment;
            lock (_lock)
            {
                if (!_warm.TryPop(out segment) && !_ready.TryPop(out segment)) return;
            }

            GiveBack(segment);
        }
    }

    public void Dispose()
    {
        VirtualMemory.Release(Base, (nuint)((long)_segmentsMax * SegmentBytes));
        VirtualMemory.Release((byte*)_infos, (nuint)((long)_segmentsMax * SegmentInfo.SizeBytes));
    }
}

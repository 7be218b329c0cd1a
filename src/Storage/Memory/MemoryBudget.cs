using System.Diagnostics;
using System.Runtime.InteropServices;

namespace Kv.Storage;

/// <summary>What a store holds, by use, and the most that it may.</summary>
/// <remarks>
/// Threads: any; the counters are added to atomically and read without order, so a sum may be some operations old.
/// The block counter lives in native memory because blocks carry its address (they may be let go of by anybody).
/// </remarks>
internal sealed unsafe class MemoryBudget : IDisposable
{
    /// <summary>What the first key takes: a limit below that leaves room for none.</summary>
    private const long LeastBytes = 64 * 1024;

    private const int SparePartOfMax = 16;

    private long* _blocks = (long*)NativeMemory.AlignedAlloc(64, 64);
    private long _index, _log, _external, _managed, _heap, _tables, _peak, _blocksAtEnd, _clientAllowance, _slack;

    public MemoryBudget() => *_blocks = 0;

    /// <summary>Most bytes in use; 0: no limit.</summary>
    public long MaxBytes { get; set; }

    public long IndexBytes => Volatile.Read(ref _index);
    public long LogBytes => Volatile.Read(ref _log);
    public long BlockBytes => _blocks == null ? _blocksAtEnd : Volatile.Read(ref *_blocks);
    public long ExternalBytes => Volatile.Read(ref _external);

    /// <summary>What of <see cref="ExternalBytes"/> lies in the managed heap.</summary>
    public long ManagedBytes => Volatile.Read(ref _managed);

    /// <summary>What else is alive in the managed heap, where the process has it for this store only; 0 where others
    /// use it, too.</summary>
    // Volatile: written now and then by whoever looks at the heap, read before writes; some time old is good enough.
    public long HeapBytes
    {
        get => Volatile.Read(ref _heap);
        set => Volatile.Write(ref _heap, value);
    }

    /// <summary>What of <see cref="ExternalBytes"/> is the store's own, and no client's.</summary>
    public long TableBytes => Volatile.Read(ref _tables);

    /// <summary>The counter that blocks of this store charge themselves to.</summary>
    public long* BlockCounter => _blocks;

    public long UsedBytes
    {
        get
        {
            long used = IndexBytes + LogBytes + BlockBytes + ExternalBytes + HeapBytes;
            if (used > Volatile.Read(ref _peak)) Volatile.Write(ref _peak, used);   // a race loses a sample, no more
            return used;
        }
    }

    public long PeakBytes => Math.Max(Volatile.Read(ref _peak), UsedBytes);

    /// <summary>For tests: asked before each allocation of native memory; true refuses it, as the system
    /// might.</summary>
    public Func<bool>? Refuse { get; set; }

    public bool RefusesAllocation() => Refuse is { } refuse && refuse();

    /// <summary>Bytes that clients may hold without anything being evicted or refused for it; 0: all of it
    /// counts.</summary>
    // Volatile: set with an option, read for writes; stale for a moment is as good as an option set a moment later.
    public long ClientAllowanceBytes
    {
        get => Volatile.Read(ref _clientAllowance);
        set => Volatile.Write(ref _clientAllowance, value);
    }

    /// <summary>What of <see cref="UsedBytes"/> does not count against <see cref="MaxBytes"/>.</summary>
    public long UncountedBytes => Math.Clamp(ExternalBytes - TableBytes, 0, ClientAllowanceBytes);

    /// <summary>What counts against <see cref="MaxBytes"/>.</summary>
    public long CountedBytes => UsedBytes - UncountedBytes;

    /// <summary>Whether more is used than <see cref="MaxBytes"/>: what has not begun is to wait for room, or to be
    /// refused.</summary>
    public bool IsOver => IsOverBy(0);

    /// <summary>Bytes beyond <see cref="MaxBytes"/> for what has begun and cannot wait: a transaction, a script. Where
    /// keys are evicted for them at once.</summary>
    // Volatile: as ClientAllowanceBytes.
    public long SlackBytes
    {
        get => Volatile.Read(ref _slack);
        set => Volatile.Write(ref _slack, value);
    }

    /// <summary>Whether more is used than even what cannot wait may use.</summary>
    public bool IsFarOver => IsOverBy(SlackBytes);

    /// <summary>Whether somebody who cannot wait may have so many bytes.</summary>
    public bool HasRoomFor(long bytes) => MaxBytes == 0 || CountedBytes + bytes <= MaxBytes + SlackBytes;

    /// <summary>Whether what is free here and there is to be looked for.</summary>
    public bool IsNearlyFull => MaxBytes != 0 && CountedBytes > MaxBytes / 10 * 9;

    /// <summary>How much free memory may be kept from the system: what the limit leaves, and a share of the limit, so
    /// that a full store need not ask the system for every value.</summary>
    public long SpareBytes =>
        MaxBytes == 0 ? long.MaxValue : (MaxBytes / SparePartOfMax) + Math.Max(0, MaxBytes - UsedBytes);

    public void ResetPeak() => Volatile.Write(ref _peak, 0);

    public void ChargeIndex(long bytes) => Add(ref _index, bytes);
    public void ChargeLog(long bytes) => Add(ref _log, bytes);
    public void ChargeExternal(long bytes) => Add(ref _external, bytes);

    /// <summary>Charges objects of the managed heap.</summary>
    public void ChargeManaged(long bytes)
    {
        Add(ref _managed, bytes);
        ChargeExternal(bytes);
    }

    /// <summary>Charges objects of the managed heap that are the store's own, and no client's.</summary>
    public void ChargeTable(long bytes)
    {
        Add(ref _tables, bytes);
        ChargeManaged(bytes);
    }

    private bool IsOverBy(long bytes) => MaxBytes != 0 && Math.Max(CountedBytes, LeastBytes) > MaxBytes + bytes;

    private static void Add(ref long sum, long bytes)
    {
        long now = Interlocked.Add(ref sum, bytes);
        Debug.Assert(now >= 0, "no more is given back than was charged");
    }

    /// <summary>Ends the counting of blocks; the figures can still be asked for.</summary>
    public void Dispose()
    {
        if (_blocks == null) return;
        _blocksAtEnd = *_blocks;
        NativeMemory.AlignedFree(_blocks);
        _blocks = null;
    }
}

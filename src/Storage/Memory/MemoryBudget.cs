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

    /// <summary>What the process may take beyond the limit: 3/20 of the limit and <see cref="BeyondBytes"/>.</summary>
    private const int BeyondPartOfMax = 20;

    private const long BeyondBytes = 64L << 20;

    /// <summary>What a limit of buffers may be at least, whatever the store's limit is.</summary>
    private const long BufferBytesLeast = 4 << 20;

    /// <summary>The least that <see cref="SpareBytes"/> is.</summary>
    public const long SpareMin = 1 << 20;

    private long* _blocks = (long*)NativeMemory.AlignedAlloc(64, 64);
    private long _index, _log, _external, _managed, _heap, _tables, _peak, _idle, _blocksAtEnd,
        _feed, _clientAllowance, _slack, _program = BeyondBytes;

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

    /// <summary>What of <see cref="ExternalBytes"/> is changes on their way to the disk and to replicas.</summary>
    public long FeedBytes => Volatile.Read(ref _feed);

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

    /// <summary>What clients hold, and their commands work with.</summary>
    public long ClientBytes => ExternalBytes - TableBytes - FeedBytes;

    /// <summary>What of a limit of buffers is left beside a store's limit (0: none): an eighth of that, but 4 MB at
    /// least. They evict no keys, so the process takes them beside it.</summary>
    public static long BufferLimit(long limit, long maxBytes) =>
        maxBytes == 0 ? limit : Math.Min(limit, Math.Max(maxBytes / 8, BufferBytesLeast));

    /// <summary>What of <see cref="UsedBytes"/> does not count against <see cref="MaxBytes"/>: what clients hold, as
    /// far as they may, and the feed, which has bounds of its own and is gone when the disk and replicas have
    /// it.</summary>
    public long UncountedBytes => Math.Clamp(ClientBytes, 0, ClientAllowanceBytes) + FeedBytes;

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

    /// <summary>Whether somebody who cannot wait may have <paramref name="bytes"/> more.</summary>
    public bool HasRoomFor(long bytes) => MaxBytes == 0 || CountedBytes + bytes <= MaxBytes + SlackBytes;

    /// <summary>Whether so little is left that it pays to collect what is free in many small places.</summary>
    public bool IsNearlyFull => IsNearlyFullWith(0);

    /// <summary>Whether that would be so with <paramref name="bytes"/> more.</summary>
    public bool IsNearlyFullWith(long bytes) => MaxBytes != 0 && CountedBytes + bytes > MaxBytes / 10 * 9;

    /// <summary>Segments of the log that are free, or will be soon, and are still resident: in no account.</summary>
    public long IdleBytes => Volatile.Read(ref _idle);

    /// <summary>What else is resident, where the process is this store's: code, stacks, what is free in the managed
    /// heap.</summary>
    // Volatile: written now and then by whoever looks at the process, read by who gives memory back; some time old is
    // good enough.
    public long ProgramBytes
    {
        get => Volatile.Read(ref _program);
        set => Volatile.Write(ref _program, value);
    }

    /// <summary>How much free memory beside the log's may be kept from the system, so that a full store need not ask it
    /// for every value: a quarter of what all else leaves of what the process may take. Until the store's thread comes
    /// by it may be twice as much (<see cref="Extents"/>); the other half is for what comes between two looks at the
    /// process.</summary>
    public long SpareBytes => MaxBytes == 0 ? long.MaxValue : Math.Max(SpareMin, LeftBytes / 4);

    /// <summary>Whether the process takes more than it may even without such memory: free segments of the log are to be
    /// given back, too.</summary>
    public bool IsBeyond => MaxBytes != 0 && LeftBytes < 0;

    private long LeftBytes =>
        MaxBytes + (MaxBytes / BeyondPartOfMax * 3) + BeyondBytes - UsedBytes - IdleBytes - ProgramBytes;

    public void ResetPeak() => Volatile.Write(ref _peak, 0);

    public void ChargeIndex(long bytes) => Add(ref _index, bytes);
    public void ChargeLog(long bytes) => Add(ref _log, bytes);
    public void ChargeIdle(long bytes) => Add(ref _idle, bytes);
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

    /// <summary>Charges objects of the managed heap that hold changes on their way to the disk and to
    /// replicas.</summary>
    public void ChargeFeed(long bytes)
    {
        Add(ref _feed, bytes);
        ChargeManaged(bytes);
    }

    /// <summary>Charges native memory of that kind: the stream for replicas.</summary>
    public void ChargeStream(long bytes)
    {
        Add(ref _feed, bytes);
        ChargeExternal(bytes);
    }

    public bool IsOverBy(long bytes) => MaxBytes != 0 && Math.Max(CountedBytes, LeastBytes) > MaxBytes + bytes;

    private static void Add(ref long sum, long bytes)
    {
        long now = Interlocked.Add(ref sum, bytes);
        Debug.Assert(now >= 0, "no more is given back than was charged");
    }

    /// <summary>Ends the counting of blocks; the figures can still be asked for.</summary>
    public void Dispose()
    {
        Debug.Assert(_blocks == null || *_blocks >= 0, "no more blocks were given back than were charged");
        if (_blocks == null) return;
        _blocksAtEnd = *_blocks;
        NativeMemory.AlignedFree(_blocks);
        _blocks = null;
    }
}

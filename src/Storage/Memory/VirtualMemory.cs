using System.Diagnostics;
using System.Numerics;
using System.Runtime.InteropServices;

namespace Kv.Storage;

/// <summary>Address ranges from the system: reserved at once, paid for page by page as they are touched.</summary>
/// <remarks>
/// Linux and macOS. Every call returns null or false instead of throwing: the command ends with -OOM. What the system
/// refuses to take back is counted (<see cref="Failures"/>).
/// </remarks>
internal static unsafe partial class VirtualMemory
{
    /// <summary>Below this size a huge page wastes more than its faster look-ups win (docs/decisions).</summary>
    public const long HugePagesFromBytes = 8L << 20;

    public static readonly nuint PageBytes = (nuint)Environment.SystemPageSize;

    /// <summary>How many mappings there are of ours; ranges that are reserved for good count as one, whatever is
    /// advised for parts of them.</summary>
    public static readonly MappingLimit Mappings = MappingLimit.OfSystem();

    private const int ProtReadWrite = 3, MapPrivate = 2, MapFixed = 16, RemapMayMove = 1, RemapFixed = 2,
        RemapDontUnmap = 4;
    private const int AdviseDontNeed = 4, AdviseHugePage = 14, AdviseNoHugePage = 15, AdvisePopulateWrite = 23;

    private const nuint MovedAtOnce = 2 << 20;

    private const nint ProcessAdvise = 440, OwnProcess = -10001;

    private static long _failures;
    private static volatile bool _isBatchRefused, _hasNoHeapTrim;

    /// <summary>How often the system has refused to unmap something or to take pages back: they stay
    /// resident.</summary>
    public static long Failures => Volatile.Read(ref _failures);

    private static int MapAnonymousNoReserve => OperatingSystem.IsMacOS() ? 0x1000 | 0x40 : 0x20 | 0x4000;

    /// <summary>Reserves zeroed memory, aligned to <paramref name="alignment"/> (a power of two); null when
    /// refused.</summary>
    /// <param name="mappings">How many mappings the range may become: <see cref="Release"/> is given the same
    /// number.</param>
    public static byte* Reserve(nuint bytes, nuint alignment = 4096, int mappings = 1)
    {
        Debug.Assert(bytes > 0 && BitOperations.IsPow2(alignment),
            "a range has bytes, and alignments are powers of two");
        if (!OperatingSystem.IsLinux() && !OperatingSystem.IsMacOS())
            throw new PlatformNotSupportedException("Kv's store runs on Linux and macOS.");
        if (!Mappings.TryAdd(mappings)) return null;
        nuint slack = alignment > PageBytes ? alignment : 0;
        byte* start = (byte*)Map(null, bytes + slack, ProtReadWrite, MapPrivate | MapAnonymousNoReserve, -1, 0);
        if ((nint)start == -1)
        {
            Mappings.Remove(mappings);
            return null;
        }

        if (slack == 0) return start;
        byte* aligned = (byte*)(((nuint)start + alignment - 1) & ~(alignment - 1));
        if (aligned > start) UnmapOrCount(start, (nuint)(aligned - start));
        nuint after = (nuint)(start + bytes + slack - (aligned + bytes));
        if (after > 0) UnmapOrCount(aligned + bytes, after);
        return aligned;
    }

    /// <summary>Releases a range that was reserved, whole.</summary>
    public static void Release(byte* start, nuint bytes, int mappings = 1)
    {
        // Where the system refuses, which it does when that would split a mapping and there are too many, the pages go
        // nevertheless.
        if (UnmapOrCount(start, bytes)) Mappings.Remove(mappings);
        else GiveBack(start, bytes);
    }

    /// <summary>Returns the pages to the system; the range stays reserved, its content is zeros.</summary>
    /// <returns>False when the system refused: the pages are as they were.</returns>
    public static bool GiveBack(byte* start, nuint bytes)
    {
        bool isGiven = OperatingSystem.IsMacOS()
            ? Map(start, bytes, ProtReadWrite, MapPrivate | MapAnonymousNoReserve | MapFixed, -1, 0) == start
            : Advise(start, bytes, AdviseDontNeed) == 0;
        if (!isGiven) Interlocked.Increment(ref _failures);
        return isGiven;
    }

    /// <summary>Returns the pages of some ranges to the system, in one call where the system has one for that (Linux
    /// since 6.14 does).</summary>
    /// <returns>False when the system refused some of them: all may still have their pages, and none is to be taken for
    /// zeros.</returns>
    /// <remarks>
    /// Each call of its own for 72 KB took 600 us on a virtual machine where the hypervisor has to flush each page from
    /// the processor's tables, 11 us in one call for hundreds, which flushes once.
    /// </remarks>
    public static bool GiveBack(ReadOnlySpan<PageRange> ranges)
    {
        if (ranges.Length > 1 && OperatingSystem.IsLinux() && !_isBatchRefused)
        {
            nint bytes = 0;
            foreach (var range in ranges) bytes += (nint)range.Bytes;
            fixed (PageRange* first = ranges)
                if (SystemCall(ProcessAdvise, OwnProcess, first, (nuint)ranges.Length, AdviseDontNeed, 0) == bytes)
                    return true;
            _isBatchRefused = true;     // a race: several learn it
        }

        bool all = true;
        foreach (var range in ranges) all &= GiveBack(range.Start, range.Bytes);
        return all;
    }

    /// <summary>Returns what is free in the heap of the C library to the system, between pieces that are in use, too:
    /// by itself it gives back only what is free at its end. Does nothing where it is not glibc's.</summary>
    /// <remarks>Cost: 1 to 2 ms for 15 MB, up to 29 on a busy machine, during which a heap's lock is held.</remarks>
    public static void TrimHeap()
    {
        if (!OperatingSystem.IsLinux() || _hasNoHeapTrim) return;
        try
        {
            TrimHeapBut(0);
        }
        catch (EntryPointNotFoundException)
        {
            _hasNoHeapTrim = true;
        }
    }

    public static void PreferHugePages(byte* start, nuint bytes)
    {
        if (OperatingSystem.IsLinux()) Advise(start, bytes, AdviseHugePage);
    }

    /// <summary>Takes the pages from the system now, not when they are first touched. The content stays as it
    /// is.</summary>
    /// <returns>False when the system does not do that (Linux since 5.14 does), or has no memory.</returns>
    public static bool Populate(byte* start, nuint bytes) =>
        OperatingSystem.IsLinux() && Advise(start, bytes, AdvisePopulateWrite) == 0;

    /// <summary>Keeps a sparsely touched range small where the system's default is huge pages everywhere.</summary>
    public static void AvoidHugePages(byte* start, nuint bytes)
    {
        if (OperatingSystem.IsLinux()) Advise(start, bytes, AdviseNoHugePage);
    }

    /// <summary>Moves pages to a larger range; the old range stays readable, without its content, until it is
    /// released.</summary>
    /// <returns>The new range; null when refused, with the old one as it was.</returns>
    public static byte* MoveAway(byte* start, nuint usedBytes, nuint newBytes, int mappings)
    {
        Debug.Assert(usedBytes <= newBytes, "the larger range has room for what is used");
        byte* target = Reserve(newBytes, mappings: mappings);
        if (target == null) return null;
        nuint pages = (usedBytes + PageBytes - 1) / PageBytes * PageBytes;
        if (TryMove(start, target, pages)) return target;
        // The system does not move what is two mappings, as a range is that has been moved to before: all but what is
        // on their border.
        for (nuint done = 0; done < pages; done += MovedAtOnce)
        {
            nuint part = Math.Min(MovedAtOnce, pages - done);
            if (TryMove(start + done, target + done, part)) continue;
            Buffer.MemoryCopy(start + done, target + done, part, part);
            GiveBack(start + done, part);
        }

        return target;
    }

    private static bool TryMove(byte* start, byte* target, nuint bytes) =>
        OperatingSystem.IsLinux()
        && (nint)RemapTo(start, bytes, bytes, RemapMayMove | RemapFixed | RemapDontUnmap, target) != -1;

    private static bool UnmapOrCount(byte* start, nuint bytes)
    {
        if (Unmap(start, bytes) == 0) return true;
        Interlocked.Increment(ref _failures);
        return false;
    }

    [LibraryImport("libc", EntryPoint = "mmap")]
    private static partial void* Map(void* address, nuint bytes, int protection, int flags, int fd, nint offset);

    [LibraryImport("libc", EntryPoint = "munmap")]
    private static partial int Unmap(void* address, nuint bytes);

    [LibraryImport("libc", EntryPoint = "madvise")]
    private static partial int Advise(void* address, nuint bytes, int advice);

    [LibraryImport("libc", EntryPoint = "malloc_trim")]
    private static partial int TrimHeapBut(nuint bytes);

    [LibraryImport("libc", EntryPoint = "syscall")]
    private static partial nint SystemCall(nint number, nint process, PageRange* ranges, nuint count, nint advice,
        nuint flags);

    [LibraryImport("libc", EntryPoint = "mremap")]
    private static partial void* RemapTo(void* address, nuint oldBytes, nuint newBytes, int flags, void* target);
}

/// <summary>Some pages. The kernel's struct iovec.</summary>
[StructLayout(LayoutKind.Sequential)]
internal unsafe struct PageRange
{
    public byte* Start;
    public nuint Bytes;
}

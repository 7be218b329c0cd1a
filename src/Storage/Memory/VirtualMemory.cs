using System.Runtime.InteropServices;

namespace Kv.Storage;

/// <summary>Address ranges from the system: reserved at once, paid for page by page as they are touched.</summary>
/// <remarks>Linux and macOS. Every call says no with null or false instead of throwing: the caller answers -OOM.</remarks>
internal static unsafe partial class VirtualMemory
{
    /// <summary>Below this size a huge page wastes more than its faster look-ups win (docs/decisions).</summary>
    public const long HugePagesFromBytes = 8L << 20;

    public static readonly nuint PageBytes = (nuint)Environment.SystemPageSize;

    private const int ProtReadWrite = 3, MapPrivate = 2, RemapMayMove = 1, RemapFixed = 2, RemapDontUnmap = 4;
    private const int AdviseDontNeed = 4, AdviseFreeMac = 5, AdviseHugePage = 14, AdviseNoHugePage = 15, AdvisePopulateWrite = 23;

    private static int MapAnonymousNoReserve => OperatingSystem.IsMacOS() ? 0x1000 | 0x40 : 0x20 | 0x4000;

    /// <summary>Reserves zeroed memory, aligned to <paramref name="alignment"/> (a power of two); null when refused.</summary>
    public static byte* Reserve(nuint bytes, nuint alignment = 4096)
    {
        if (!OperatingSystem.IsLinux() && !OperatingSystem.IsMacOS())
            throw new PlatformNotSupportedException("Kv's store runs on Linux and macOS.");
        nuint slack = alignment > PageBytes ? alignment : 0;
        byte* start = (byte*)Map(null, bytes + slack, ProtReadWrite, MapPrivate | MapAnonymousNoReserve, -1, 0);
        if ((nint)start == -1) return null;
        if (slack == 0) return start;

        byte* aligned = (byte*)(((nuint)start + alignment - 1) & ~(alignment - 1));
        if (aligned > start) Unmap(start, (nuint)(aligned - start));
        nuint behind = (nuint)(start + bytes + slack - (aligned + bytes));
        if (behind > 0) Unmap(aligned + bytes, behind);
        return aligned;
    }

    public static void Release(byte* start, nuint bytes) => Unmap(start, bytes);

    /// <summary>Returns the pages to the system; the range stays reserved, its content is void.</summary>
    public static void GiveBack(byte* start, nuint bytes) =>
        Advise(start, bytes, OperatingSystem.IsMacOS() ? AdviseFreeMac : AdviseDontNeed);

    public static void PreferHugePages(byte* start, nuint bytes)
    {
        if (OperatingSystem.IsLinux()) Advise(start, bytes, AdviseHugePage);
    }

    /// <summary>Takes the pages from the system now, not when they are first touched. The content stays as it is.</summary>
    /// <returns>False when the system does not do that (Linux since 5.14 does), or has no memory.</returns>
    public static bool Populate(byte* start, nuint bytes) =>
        OperatingSystem.IsLinux() && Advise(start, bytes, AdvisePopulateWrite) == 0;

    /// <summary>Keeps a sparsely touched range small where the system's default is huge pages everywhere.</summary>
    public static void AvoidHugePages(byte* start, nuint bytes)
    {
        if (OperatingSystem.IsLinux()) Advise(start, bytes, AdviseNoHugePage);
    }

    /// <summary>Moves pages to a larger range; the old range stays readable, without its content, until it is released.</summary>
    /// <returns>The new range; null when refused, with the old one as it was.</returns>
    public static byte* MoveAway(byte* start, nuint usedBytes, nuint newBytes)
    {
        byte* target = Reserve(newBytes);
        if (target == null) return null;
        nuint pages = (usedBytes + PageBytes - 1) / PageBytes * PageBytes;
        if (OperatingSystem.IsLinux() && (nint)RemapTo(start, pages, pages, RemapMayMove | RemapFixed | RemapDontUnmap, target) != -1) return target;
        Buffer.MemoryCopy(start, target, newBytes, usedBytes);
        return target;
    }

    [LibraryImport("libc", EntryPoint = "mmap")]
    private static partial void* Map(void* address, nuint bytes, int protection, int flags, int fd, nint offset);

    [LibraryImport("libc", EntryPoint = "munmap")]
    private static partial int Unmap(void* address, nuint bytes);

    [LibraryImport("libc", EntryPoint = "madvise")]
    private static partial int Advise(void* address, nuint bytes, int advice);

    [LibraryImport("libc", EntryPoint = "mremap")]
    private static partial void* RemapTo(void* address, nuint oldBytes, nuint newBytes, int flags, void* target);
}

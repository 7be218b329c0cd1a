using System.Diagnostics;
using System.Runtime.InteropServices;

namespace Kv.Storage;

/// <summary>Where the bytes of a region come from: by how many there are, the heap, a shelf, a run, an extent or a
/// mapping of its own.</summary>
/// <remarks>
/// What kind it is follows from the size alone. From a run on a region has many more addresses than it needs, since
/// these cost nothing, and moving costs. Threads: any.
/// </remarks>
internal static unsafe class RegionMemory
{
    private const long HeapBytesMax = 8 * 1024 - 64;
    private const int ReserveFactor = 32;

    // Up to 8 MB an extent of up to 32 MB, which all have one mapping; above, up to 32 times the addresses, which are
    // two or three once pages have been moved there.
    private const long ExtentUsedMax = 8L << 20, ExtentBytesMax = 32L << 20;
    private const int Mappings = 3;

    /// <summary>What a region of addresses takes at once.</summary>
    public const long ChargeStep = 16 * 1024;

    /// <summary>Whether it has addresses of its own, and takes pages of them as it grows: no piece of the heap, nor one
    /// on a shelf.</summary>
    public static bool IsPaged(long size) => size > PageShelves.BytesMax;

    /// <summary>Takes memory for a region; null when there is none.</summary>
    /// <param name="size">In: the bytes wanted. Out: the bytes, or addresses, that there are.</param>
    public static byte* Acquire(ref long size)
    {
        Debug.Assert(size > 0, "a region has bytes");
        if (size <= HeapBytesMax)
        {
            try
            {
                return (byte*)NativeMemory.AlignedAlloc((nuint)size, 64);
            }
            catch (OutOfMemoryException)
            {
                return null;
            }
        }

        if (size <= PageShelves.BytesMax) return PageShelves.TryTake(ref size);
        if (size <= PageRuns.BytesMax) return PageRuns.TryTake(ref size);
        bool isExtent = size <= ExtentUsedMax;
        size = isExtent ? Math.Min(size * ReserveFactor, ExtentBytesMax) : size * ReserveFactor;
        size = RoundToPages(size);
        // All zeros: few of its pages will be used, and none is to have memory before.
        return isExtent ? Extents.Shared.TryTake(ref size, isZeroed: true)
            : VirtualMemory.Reserve((nuint)size, mappings: Mappings);
    }

    /// <summary>Takes larger memory and brings the content there; null when there is none, and then nothing has
    /// changed.</summary>
    /// <param name="start">The memory so far: to be freed by <see cref="Free"/>, and without its pages if <paramref
    /// name="keepsPages"/>.</param>
    /// <param name="used">Bytes of the content.</param>
    /// <param name="size">In: the size so far. Out: the size of the new memory.</param>
    /// <param name="wanted">Bytes wanted.</param>
    /// <param name="keepsPages">Whether the pages themselves were moved, so that those that were the system's still
    /// are.</param>
    public static byte* TryEnlarge(byte* start, long used, ref long size, long wanted, out bool keepsPages)
    {
        Debug.Assert(used <= size && wanted > size, "the content fits, and more is wanted");
        keepsPages = size > PageRuns.BytesMax;
        if (keepsPages)
        {
            size = RoundToPages(Math.Max(wanted * ReserveFactor, ExtentBytesMax + 1));
            return VirtualMemory.MoveAway(start, (nuint)used, (nuint)size, Mappings);
        }

        size = wanted <= HeapBytesMax ? RoundUp(Math.Max(wanted, size + (size / 4)), 64) : wanted;
        byte* larger = Acquire(ref size);
        if (larger != null) Buffer.MemoryCopy(start, larger, size, used);
        return larger;
    }

    /// <summary>Frees the memory of a region.</summary>
    /// <param name="touched">Bytes at its beginning that may have been touched.</param>
    public static void Free(byte* start, long size, long touched)
    {
        Debug.Assert(start != null && size > 0 && touched <= size,
            "what is freed is there, and was touched within its size");
        if (size > ExtentBytesMax) VirtualMemory.Release(start, (nuint)size, Mappings);
        // What it has moved away from has its first page again, to say how long it is.
        else if (size > PageRuns.BytesMax)
            Extents.Shared.Give(start, size, Math.Max(touched, (long)VirtualMemory.PageBytes));
        else if (size > PageShelves.BytesMax) PageRuns.Give(start, size, touched);
        else if (size > HeapBytesMax) PageShelves.Give(start, size);
        else NativeMemory.AlignedFree(start);
    }

    /// <summary>What is charged for the first <paramref name="bytes"/> of a region of some size.</summary>
    public static long ChargeFor(long size, long bytes)
    {
        if (!IsPaged(size)) return size;
        return Math.Min(size, size <= PageRuns.BytesMax ? RoundToPages(bytes) : RoundUp(bytes, ChargeStep));
    }

    private static long RoundToPages(long size) => RoundUp(size, (long)VirtualMemory.PageBytes);

    private static long RoundUp(long size, long step) => (size + step - 1) / step * step;
}

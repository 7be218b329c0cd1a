using System.Diagnostics;

namespace Kv.Storage;

//  a chunk of addresses, an extent that is never given back:
//  +-----------+-----------+-----------+- - - - - - - - -+
//  |  run      |  run      |  run      |  not yet taken  |     a run: 64 KB or 512 KB of addresses,
//  +-----------+-----------+-----------+- - - - - - - - -+     of which the pages that were touched take memory
//
/// <summary>Ranges of addresses for regions of 16 to some hundred kilobytes, and for shelves of smaller ones: what of a
/// range is touched is paid for, by the page.</summary>
/// <remarks>
/// A region grows in its run without moving, and leaves no holes as it would on a heap (lists of 1,000 elements, grown
/// side by side, took 2.4 times their bytes there). A run that is given back keeps its addresses for the next one and
/// returns its pages.
/// Threads: any; the lists are the lock's.
/// </remarks>
internal static unsafe class PageRuns
{
    /// <summary>The most bytes of a run.</summary>
    public const long BytesMax = 512 * 1024;

    private const long SmallBytes = 64 * 1024, ChunkBytes = 256L << 20;

    private static readonly Lock Gate = new();
    private static readonly Stack<nint> SmallRuns = new(), LargeRuns = new();
    private static byte* _next, _end;

    /// <summary>Takes a run with room for twice the bytes wanted, at a multiple of 64 KB; null when the system has no
    /// addresses.</summary>
    /// <param name="size">In: the bytes wanted. Out: the run's size.</param>
    public static byte* TryTake(ref long size)
    {
        Debug.Assert(size is > 0 and <= BytesMax, "longer ones are extents");
        bool isSmall = size <= SmallBytes / 2;
        size = isSmall ? SmallBytes : BytesMax;
        lock (Gate)
        {
            if ((isSmall ? SmallRuns : LargeRuns).TryPop(out nint free)) return (byte*)free;
            if (_end - _next < size && !TryReserveChunk()) return null;
            byte* run = _next;
            _next += size;
            return run;
        }
    }

    /// <summary>Gives a run back.</summary>
    /// <param name="touched">Bytes at its beginning that may have been touched.</param>
    public static void Give(byte* run, long size, long touched)
    {
        Debug.Assert(size is SmallBytes or BytesMax, "a run has one of two sizes");
        Debug.Assert((nuint)run % (nuint)SmallBytes == 0, "a run is given back from its start");
        Debug.Assert(touched >= 0 && touched <= size, "no more was touched than there is");
        long pages = (touched + (long)VirtualMemory.PageBytes - 1) & -(long)VirtualMemory.PageBytes;
        VirtualMemory.GiveBack(run, (nuint)Math.Min(size, pages));
        lock (Gate)
        {
            try
            {
                (size == SmallBytes ? SmallRuns : LargeRuns).Push((nint)run);
            }
            catch (OutOfMemoryException)
            {
                // The list could not grow: some addresses are not used again. Their pages are the system's.
            }
        }
    }

    // What is left of the last chunk is less than a large run.
    private static bool TryReserveChunk()
    {
        long size = ChunkBytes + SmallBytes;
        byte* chunk = Extents.Shared.TryTake(ref size, isZeroed: true);
        if (chunk == null) return false;
        _next = (byte*)(((nuint)chunk + (nuint)SmallBytes - 1) & ~(nuint)(SmallBytes - 1));
        _end = _next + ChunkBytes;
        return true;
    }
}

using System.Diagnostics;
using System.Runtime.InteropServices;

namespace Kv.Storage;

/// <summary>What the pages of an extent are.</summary>
internal enum ExtentState
{
    /// <summary>Somebody's.</summary>
    Taken = 1,

    /// <summary>Free; its pages are the system's, and read as zeros.</summary>
    Cold = 2,

    /// <summary>Free; its pages are still ours, with whatever was in them.</summary>
    Warm = 3,
}

/// <summary>What an <see cref="ExtentMap"/> says of an extent, at its first page and at its last.</summary>
[StructLayout(LayoutKind.Sequential, Size = SizeBytes)]
internal struct ExtentEntry
{
    public const int SizeBytes = 16;

    public int Pages;
    public ExtentState State;
    public int Next, Previous;      // in a list of free extents; at the first page only
}

//  16 bytes for each page of an arena; only an extent's first and last page say something, all others are left over
//
//   | pages 4 | state 4 | next 4 | previous 4 |  ... not valid ...  | pages 4 | state 4 | - | - |
//     first page                                                      last page
//
// Invariant: extents lie end to end, from page 0 to the top. So the entry in front of an extent is the last one of
// its neighbour, and the entry after it, below the top, the first one of the other neighbour.

/// <summary>Which extents of an arena there are, in memory of its own: nobody who writes past an extent can damage
/// it.</summary>
/// <remarks>Threads: the owner's lock. Cost: what is touched of 1/256 of the arena's addresses.</remarks>
internal readonly unsafe struct ExtentMap(ExtentEntry* entries)
{
    public ref ExtentEntry this[int page] => ref entries[page];

    public bool IsNone => entries == null;

    /// <summary>Says what an extent is.</summary>
    public void Describe(int first, int pages, ExtentState state)
    {
        Debug.Assert(first >= 0 && pages > 0, "an extent has pages");
        entries[first].Pages = pages;
        entries[first].State = state;
        entries[first + pages - 1].Pages = pages;
        entries[first + pages - 1].State = state;
    }

    /// <summary>Gives the memory of entries from a page on back: nothing is described there any more.</summary>
    public void Forget(int fromPage, int toPage)
    {
        Debug.Assert(fromPage <= toPage, "the range has an order");
        nuint page = VirtualMemory.PageBytes;
        byte* from = (byte*)(((nuint)(entries + fromPage) + page - 1) & ~(page - 1));
        byte* to = (byte*)(entries + toPage);
        if (to > from) VirtualMemory.GiveBack(from, (nuint)(to - from));
    }
}

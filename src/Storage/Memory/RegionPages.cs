using System.Runtime.CompilerServices;

namespace Kv.Storage;

//   0       4       8    12    16           20     24      28     32        48             56               280
//  +-------+-------+----+-----+------------+------+-------+------+---------+--------------+----------------+------------------+------------------+
//  | pages | phase | at | end | next round | room | found | used | walk 16 | run, units 8 | old lists 56x4 | firsts, pages x 4| free units, p. x 2|
//  +-------+-------+----+-----+------------+------+-------+------+---------+--------------+----------------+------------------+------------------+
//   how many pages it counts for; of a round: which phase, which page is next, and behind the last; units that the region has when the next
//   round may begin; bytes that the next piece to be moved needs; units of pages that the round has emptied; units that the region had a while
//   ago; how far the walk over the collection is; a free piece that the next page may have more of; what was in the lists when the round
//   began, and has not been looked at; in a round, the first of the free pieces that begin in a page
//   free units: of a page, 0 to 512, and the highest bit: the page is closed, what is free in it is in no list
//
//  A round:  sort     the sparsest pages are closed; free pieces go from the lists to the pages that they begin in
//            join     page after page they are put in order, those that lie side by side become one, and go back to the lists, but for
//                     what is in closed pages
//            move     the collection is walked, and what lies in a closed page moves elsewhere
//            collect  closed pages that are free now go to the lists as a whole, and no page stays closed

/// <summary>What a round of tidying a region is doing.</summary>
internal enum TidyPhase : uint
{
    None,
    Sort,
    Join,
    Move,
    Collect,
}

/// <summary>How much of each page of a region is free, so that whole pages become free again out of pieces of any size.</summary>
/// <remarks>
/// A piece of the region, once that has over 32 KB: two bytes for each page of 4 KB.
/// Free pieces have no neighbours that they know; instead of joining two, whole pages are emptied: the pieces in them move.
/// Threads: as the region's.
/// </remarks>
internal readonly unsafe struct RegionPages(byte* start)
{
    public const int PageUnits = 512, PageBytes = PageUnits * Region.UnitBytes;

    /// <summary>Free lists of a region.</summary>
    public const int Lists = 56;

    private const int WalkOffset = 32, RunOffset = 48, OldListsOffset = 56, HeaderBytes = OldListsOffset + (Lists * sizeof(uint));
    private const ushort Closed = 0x8000;
    private const int BytesPerPage = sizeof(uint) + sizeof(ushort);
    private const uint Mask = (2 * PageUnits) - 1;

    // Of a page: below that emptying it copies more than seven bytes for each that it wins.
    private const uint LeastFree = PageUnits / 8, StepUnits = 32;

    /// <summary>Pages that it counts for.</summary>
    public uint Count => ((uint*)start)[0];

    public ref TidyPhase Phase => ref ((TidyPhase*)start)[1];

    /// <summary>The page that is looked at next.</summary>
    public ref uint At => ref ((uint*)start)[2];

    public ref uint End => ref ((uint*)start)[3];

    /// <summary>When a new round may begin: when the region has had to grow by so much since the last.</summary>
    public ref uint NextRound => ref ((uint*)start)[4];

    /// <summary>Bytes of the next piece that is to be moved, when these were more than were reserved.</summary>
    public ref uint Room => ref ((uint*)start)[5];

    /// <summary>Units of free pages that the round has found.</summary>
    public ref uint Found => ref ((uint*)start)[6];

    /// <summary>Units that the region had when that was last asked.</summary>
    public ref uint UsedBefore => ref ((uint*)start)[7];

    /// <summary>What was in the lists when the round began, and has not been looked at.</summary>
    public uint* OldLists => (uint*)(start + OldListsOffset);

    /// <summary>Where the walk over the collection goes on: what it means is the collection's.</summary>
    public ulong* Walk => (ulong*)(start + WalkOffset);

    /// <summary>A free piece that ends where the next page to be looked at begins, or in it; 0 units: none.</summary>
    public uint* Run => (uint*)(start + RunOffset);

    /// <summary>Of each page, in a round, the first of the free pieces that begin in it.</summary>
    public uint* Firsts => (uint*)(start + HeaderBytes);

    /// <summary>Bytes of the whole piece.</summary>
    public long Bytes => BytesFor(Count);

    /// <summary>Free units of all pages. For tests.</summary>
    public long Sum
    {
        get
        {
            long sum = 0;
            for (uint page = 0; page < Count; page++) sum += Free[page] & ~Closed;
            return sum;
        }
    }

    private ushort* Free => (ushort*)(Firsts + Count);
    public static long BytesFor(long pages) => HeaderBytes + (((pages + 3) & ~3L) * BytesPerPage);

    /// <summary>Begins one in which nothing is free.</summary>
    public static RegionPages Begin(byte* start, long bytes)
    {
        Unsafe.InitBlockUnaligned(start, 0, (uint)bytes);
        *(uint*)start = (uint)((bytes - HeaderBytes) / BytesPerPage);
        return new RegionPages(start);
    }

    /// <summary>Brings everything into a larger one.</summary>
    public void CopyTo(RegionPages larger)
    {
        byte* to = (byte*)larger.Firsts - HeaderBytes;
        uint count = larger.Count;
        Unsafe.CopyBlockUnaligned(to, start, HeaderBytes + (Count * sizeof(uint)));
        *(uint*)to = count;
        Unsafe.CopyBlockUnaligned(larger.Free, Free, Count * sizeof(ushort));
    }

    /// <summary>Counts a piece that becomes free.</summary>
    /// <returns>Whether it may go to a list.</returns>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public bool Give(uint piece, uint units)
    {
        uint page = piece / PageUnits;
        if ((piece + units - 1) / PageUnits != page) return GiveLong(piece, units);
        uint free = Free[page] + units;
        Free[page] = (ushort)free;
        return free < Closed;
    }

    /// <summary>Counts a free piece that is taken.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void Take(uint piece, uint units)
    {
        uint page = piece / PageUnits;
        if ((piece + units - 1) / PageUnits != page) TakeLong(piece, units);
        else Free[page] = (ushort)(Free[page] - units);
    }

    /// <summary>Whether a piece is in a page that is to be emptied.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public bool IsClosed(uint piece, uint units)
    {
        // Ends: at the page with the last unit.
        for (uint page = piece / PageUnits, last = (piece + units - 1) / PageUnits; page <= last; page++)
            if (Free[page] >= Closed) return true;
        return false;
    }

    /// <summary>Whether a piece of up to a page, whose size is not known, may be in one.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public bool MayBeClosed(uint piece)
    {
        uint page = piece / PageUnits;
        return ((Free[page] | Free[page + 1 < Count ? page + 1 : page]) & Closed) != 0;
    }

    /// <summary>Begins a round: closes the sparsest pages.</summary>
    /// <param name="pages">All that are in use from their first to their last unit.</param>
    /// <param name="spare">So many units more than are in free pages may be moved.</param>
    /// <param name="together">How many pages, side by side, are emptied or not: one to use them again, some to give them back.</param>
    public void Close(uint pages, long spare, uint together)
    {
        // Units that are in use in pages of which so many times 32 are free.
        const int steps = (PageUnits / (int)StepUnits) + 1;
        Span<long> used = stackalloc long[steps];
        used.Clear();
        long most = spare;
        for (uint page = 0; page < pages; page += together)
        {
            uint all = FreeOf(page, pages, together, out uint count);
            used[(int)(all / count / StepUnits)] += (PageUnits * count) - all;
            for (uint i = page; i < page + count; i++) most += Free[i] == PageUnits ? PageUnits : 0;
        }

        // The sparsest, as long as they are worth it. Ends: at the first step.
        uint least = PageUnits;
        for (int step = steps - 1; least > LeastFree && used[step] <= most; step--)
        {
            most -= used[step];
            least = (uint)step * StepUnits;
        }

        for (uint page = 0; page < pages; page += together)
        {
            uint all = FreeOf(page, pages, together, out uint count);
            if (all / count < least || all == PageUnits * count) continue;
            for (uint i = page; i < page + count; i++) Free[i] |= Closed;
        }

        (At, End, Found, Phase, Run[1]) = (0, pages, 0, TidyPhase.Sort, 0);
    }

    /// <summary>Opens a page.</summary>
    /// <returns>Whether it was closed, and all of it is free.</returns>
    public bool Open(uint page)
    {
        if (Free[page] < Closed) return false;
        Free[page] = (ushort)(Free[page] & Mask);
        if (Free[page] != PageUnits) return false;
        Found += PageUnits;
        return true;
    }

    /// <summary>Whether what is free in a page is in no list.</summary>
    public bool IsPageClosed(uint page) => Free[page] >= Closed;

    /// <summary>Free units of pages that belong together.</summary>
    private uint FreeOf(uint page, uint pages, uint together, out uint count)
    {
        count = Math.Min(together, pages - page);
        uint all = 0;
        for (uint i = 0; i < count; i++) all += Free[page + i] & Mask;
        return all;
    }

    private bool GiveLong(uint piece, uint units)
    {
        bool isOpen = true;
        // Ends: each round counts the units of a page.
        while (units != 0)
        {
            uint page = piece / PageUnits, here = Math.Min(units, PageUnits - (piece % PageUnits)), free = Free[page] + here;
            Free[page] = (ushort)free;
            isOpen &= free < Closed;
            piece += here;
            units -= here;
        }

        return isOpen;
    }

    private void TakeLong(uint piece, uint units)
    {
        // Ends: each round counts the units of a page.
        while (units != 0)
        {
            uint page = piece / PageUnits, here = Math.Min(units, PageUnits - (piece % PageUnits));
            Free[page] = (ushort)(Free[page] - here);
            piece += here;
            units -= here;
        }
    }
}

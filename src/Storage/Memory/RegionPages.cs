using System.Diagnostics;
using System.Runtime.CompilerServices;

namespace Kv.Storage;

//   0       4       8    12    16           20     24      28     32        64             72       76      80      84
//  +-------+-------+----+-----+------------+------+-------+------+---------+--------------+--------+-------+-------+--
//  | pages | phase | at | end | next round | room | limit | used | walk 32 | run, units 8 | pieces | share | found |
//  +-------+-------+----+-----+------------+------+-------+------+---------+--------------+--------+-------+-------+--
//   84      88               312
//  +-------+----------------+------------------+-------------------+
//  | spare | old lists 56x4 | firsts, pages x 4| free units, p. x 2|
//  +-------+----------------+------------------+-------------------+
//   how many pages it counts for; of a round: its phase, the next page, the one after the last; how much of it must
//   be free, in 1,024ths, when the next round begins; bytes that the next piece to be moved needs; units in memory at
//   which moving ends; units that the region had a while ago; how far the walk over the collection is; a free piece
//   that the next page may have more of; free pieces that were sorted; eighths of what is free that pieces which move
//   are expected to fit into; units of pages that were emptied; what was in the lists and has not been looked at; in a
//   round, the first of the free pieces that begin in a page and are in no list
//   free units: of a page, 0 to 512, and two bits:  15 the page is closed, what is free in it is in no list
//                                                   14 the page is the system's, all of it is free, and no free
//                                                      piece begins in it
//
//  A round:  sort       free pieces go from the lists to the pages that they begin in; then the sparsest pages are closed
//            join       page after page they are put in order, those that lie side by side become one, and go back to the lists, but for
//                       what is in closed pages, which stays with its page
//            move       the collection is walked, and what lies in a closed page moves elsewhere
//            collect    the same as join, of the pages that were closed, which are open then
//            give back  where more is free than is soon used again, whole pages of it go back to the system

/// <summary>What a round of tidying a region is doing.</summary>
internal enum TidyPhase : uint
{
    None,
    Sort,
    Join,
    Move,
    Collect,
    GiveBack,
}

/// <summary>How much of each page of a region is free, so that whole pages become free again out of pieces of any
/// size.</summary>
/// <remarks>
/// A piece of the region, once that has over 32 KB: two bytes for each page of 4 KB.
/// Free pieces have no neighbours that they know; instead of joining two, whole pages are emptied: the pieces in them
/// move. Threads: as the region's.
/// </remarks>
internal readonly unsafe struct RegionPages(byte* start)
{
    public const int PageUnits = 512, PageBytes = PageUnits * Region.UnitBytes;

    /// <summary>Shares of free units are fractions of this.</summary>
    public const uint DeadShareUnit = 1024;

    /// <summary>Bytes in which the walk over a collection keeps its place.</summary>
    public const int WalkBytes = 32;

    private const int WalkOffset = 32, RunOffset = 64, OldListsOffset = 88,
        HeaderBytes = OldListsOffset + (FreePieces.Lists * sizeof(uint));
    private const ushort Closed = 0x8000, GivenBack = 0x4000;
    private const int BytesPerPage = sizeof(uint) + sizeof(ushort);
    private const uint Mask = (2 * PageUnits) - 1, StepUnits = 16;
    private const int Steps = (PageUnits / (int)StepUnits) + 1, ShareAtFirst = 2;

    /// <summary>Pages that it counts for.</summary>
    public uint Count => ((uint*)start)[0];

    public ref TidyPhase Phase => ref ((TidyPhase*)start)[1];

    /// <summary>The page that is looked at next.</summary>
    public ref uint At => ref ((uint*)start)[2];

    public ref uint End => ref ((uint*)start)[3];

    /// <summary>The share of what is in memory that must be free before a new round begins, in parts of <see
    /// cref="DeadShareUnit"/>.</summary>
    public ref uint NextRound => ref ((uint*)start)[4];

    /// <summary>Bytes of the next piece to be moved, when they were more than was reserved.</summary>
    public ref uint Room => ref ((uint*)start)[5];

    /// <summary>Units in memory at which moving ends: pieces did not fit into what is free.</summary>
    public ref uint Limit => ref ((uint*)start)[6];

    /// <summary>Units of the region in memory and units free in memory, summed when this round began.</summary>
    public ref uint UsedBefore => ref ((uint*)start)[7];

    /// <summary>Free pieces that this round has sorted.</summary>
    public ref uint Pieces => ref ((uint*)start)[18];

    /// <summary>Eighths of what is free into which pieces that move are expected to fit.</summary>
    public ref uint Share => ref ((uint*)start)[19];

    /// <summary>Units of the pages that this round has emptied; below 0 while those that it found empty are still
    /// closed.</summary>
    public ref int Found => ref ((int*)start)[20];

    /// <summary>The lists as they were when the round began: free pieces that have not been looked at.</summary>
    public uint* OldLists => (uint*)(start + OldListsOffset);

    /// <summary>Where the walk over the collection goes on: what it means is the collection's.</summary>
    public ulong* Walk => (ulong*)(start + WalkOffset);

    /// <summary>A free piece that ends where the next page to be looked at begins, or in it; 0 units: none.</summary>
    public uint* Run => (uint*)(start + RunOffset);

    /// <summary>Of each page, in a round, the first of the free pieces that begin in it and are in no list.</summary>
    public uint* Firsts => (uint*)(start + HeaderBytes);

    /// <summary>Bytes of the whole piece.</summary>
    public long Bytes => BytesFor(Count);

    /// <summary>Free units of all pages. For tests.</summary>
    public long Sum
    {
        get
        {
            long sum = 0;
            for (uint page = 0; page < Count; page++) sum += Free[page] & Mask;
            return sum;
        }
    }

    private ushort* Free => (ushort*)(Firsts + Count);
    public static long BytesFor(long pages) => HeaderBytes + (((pages + 3) & ~3L) * BytesPerPage);

    /// <summary>Begins one in which nothing is free.</summary>
    public static RegionPages Begin(byte* start, long bytes)
    {
        Debug.Assert(bytes > HeaderBytes, "there is room for the counts of pages");
        Unsafe.InitBlockUnaligned(start, 0, (uint)bytes);
        *(uint*)start = (uint)((bytes - HeaderBytes) / BytesPerPage);
        var pages = new RegionPages(start);
        pages.Share = ShareAtFirst;
        return pages;
    }

    /// <summary>Brings everything into a larger one.</summary>
    public void CopyTo(RegionPages larger)
    {
        Debug.Assert(larger.Count > Count, "the other one counts for more pages");
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
        Debug.Assert((free & Mask) <= PageUnits, "a page has no more units");
        Free[page] = (ushort)free;
        return free < Closed;
    }

    /// <summary>Counts a free piece that is taken.</summary>
    /// <returns>Units of pages that were the system's, and are to be charged for again.</returns>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public uint Take(uint piece, uint units)
    {
        uint page = piece / PageUnits, free = Free[page];
        if ((piece + units - 1) / PageUnits != page || (free & GivenBack) != 0) return TakeLong(piece, units);
        Debug.Assert((free & Mask) >= units, "they were free");
        Free[page] = (ushort)(free - units);
        return 0;
    }

    /// <summary>Notes that the page on which a free piece begins is written to, and so in memory.</summary>
    /// <inheritdoc cref="Take"/>
    public uint Touch(uint piece)
    {
        ref ushort free = ref Free[piece / PageUnits];
        if ((free & GivenBack) == 0) return 0;
        free = (ushort)(free & ~GivenBack);
        return PageUnits;
    }

    /// <summary>Free units of a page.</summary>
    public uint FreeOf(uint page) => Free[page] & Mask;

    /// <summary>Whether a page, which is free, is the system's.</summary>
    public bool IsGivenBack(uint page) => (Free[page] & GivenBack) != 0;

    /// <summary>Notes that pages are the system's. No free piece begins in them.</summary>
    /// <returns>Units of those pages that were not the system's before.</returns>
    public uint GiveToSystem(uint page, uint end)
    {
        Debug.Assert(page < end && end <= Count, "there are such pages");
        uint units = 0;
        for (; page < end; page++)
        {
            if ((Free[page] & GivenBack) != 0) continue;
            Debug.Assert((Free[page] & Mask) == PageUnits, "all of it is free");
            Free[page] |= GivenBack;
            units += PageUnits;
        }

        return units;
    }

    /// <summary>Forgets which pages were the system's: for a copy, which has all of its pages.</summary>
    public void ForgetGivenBack()
    {
        for (uint page = 0; page < Count; page++) Free[page] = (ushort)(Free[page] & ~GivenBack);
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

    /// <summary>Whether a piece of up to a page, whose size is not known, may be in a page that is to be
    /// emptied.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public bool MayBeClosed(uint piece)
    {
        uint page = piece / PageUnits;
        return ((Free[page] | Free[page + 1 < Count ? page + 1 : page]) & Closed) != 0;
    }

    /// <summary>Closes the sparsest pages, as many as what moves has room for elsewhere.</summary>
    /// <param name="pages">How many pages are in use from their first to their last unit.</param>
    /// <param name="free">Units that are free and in memory.</param>
    /// <param name="spare">Units that may be moved beyond those that fit into what is free.</param>
    /// <param name="together">How many pages, side by side, are emptied or not: one where pieces are short, more where
    /// they are long.</param>
    /// <param name="least">Units of a page that must be free for that.</param>
    public void Close(uint pages, long free, long spare, uint together, uint least)
    {
        Debug.Assert(pages <= Count && together > 0, "no more pages are closed than are counted for");
        // What it costs, in units, to empty the pages with `step` times 16 units free.
        Span<long> costs = stackalloc long[Steps];
        costs.Clear();
        for (uint page = 0; page < pages; page += together)
            if (TryCost(page, pages, together, out int step, out long cost)) costs[step] += cost;

        // The sparsest, as long as there is room. Ends: at the first step.
        long room = spare + (free * Share / 8);
        int last = Steps - 1;
        for (int first = (int)(least / StepUnits); last >= first && costs[last] <= room; last--) room -= costs[last];
        bool isPartly = last >= least / StepUnits;
        for (uint page = 0; page < pages; page += together)
        {
            if (!TryCost(page, pages, together, out int step, out long cost) || step < last
                || (step == last && !isPartly)) continue;
            if (step == last && (room -= cost) < 0) continue;
            for (uint i = page, end = Math.Min(page + together, pages); i < end; i++)
            {
                if ((Free[i] & GivenBack) != 0) continue;
                if (Free[i] == PageUnits) Found -= PageUnits;
                Free[i] |= Closed;
            }
        }

        End = pages;
    }

    /// <summary>Works out what it costs to empty pages that belong together: the pieces in them, and the free units
    /// that are then not filled.</summary>
    /// <returns>False when all of them are empty.</returns>
    private bool TryCost(uint page, uint pages, uint together, out int step, out long cost)
    {
        uint all = 0, count = 0;
        for (uint end = Math.Min(page + together, pages); page < end; page++)
        {
            if ((Free[page] & GivenBack) != 0) continue;
            all += Free[page] & Mask;
            count++;
        }

        (step, cost) = (0, 0);
        if (all == PageUnits * count) return false;
        step = (int)(all / count / StepUnits);
        cost = (PageUnits * count) - all + (all * Share / 8);
        return true;
    }

    /// <summary>Opens a page.</summary>
    /// <returns>Whether it was closed.</returns>
    public bool Open(uint page)
    {
        Debug.Assert(page < Count, "there is such a page");
        if (Free[page] < Closed) return false;
        Free[page] = (ushort)(Free[page] & Mask);
        if (Free[page] == PageUnits) Found += PageUnits;
        return true;
    }

    /// <summary>Whether what is free in a page is in no list.</summary>
    public bool IsPageClosed(uint page) => Free[page] >= Closed;

    private bool GiveLong(uint piece, uint units)
    {
        bool isOpen = true;
        // Ends: each round counts the units of a page.
        while (units != 0)
        {
            uint page = piece / PageUnits, here = Math.Min(units, PageUnits - (piece % PageUnits)),
                free = Free[page] + here;
            Debug.Assert((free & Mask) <= PageUnits, "a page has no more units");
            Free[page] = (ushort)free;
            isOpen &= free < Closed;
            piece += here;
            units -= here;
        }

        return isOpen;
    }

    private uint TakeLong(uint piece, uint units)
    {
        uint givenBack = 0;
        // Ends: each round counts the units of a page.
        while (units != 0)
        {
            uint page = piece / PageUnits, here = Math.Min(units, PageUnits - (piece % PageUnits)), free = Free[page];
            Debug.Assert((free & Mask) >= here, "they were free");
            if ((free & GivenBack) != 0) givenBack += PageUnits;
            Free[page] = (ushort)((free & ~(uint)GivenBack) - here);
            piece += here;
            units -= here;
        }

        return givenBack;
    }
}

using System.Diagnostics;
using System.Numerics;

namespace Kv.Storage;

/// <summary>A round of tidying a region: free neighbours become one, sparse pages are emptied, and what is not needed
/// goes back to the system.</summary>
/// <remarks>
/// What each phase does is drawn above <see cref="RegionPages"/>. Each call does a little and leaves the region in
/// order. Between two, pieces are taken and given as ever. The collection moves its own pieces
/// (<see cref="PieceMover"/>). Threads: as the region's.
/// </remarks>
internal readonly unsafe struct RegionRound(Region region)
{
    private const int TogetherMax = 16, PagesPerPiece = 4, UsefulShare = 128;

    private RegionPages Pages => region.Pages;

    private FreePieces Free => region.FreePieces;

    /// <summary>Begins a round: nothing that is free is used until <see cref="Join"/> has looked at where it
    /// is.</summary>
    public void Begin()
    {
        Debug.Assert(Pages.Phase == TidyPhase.None && !region.IsTidied, "one round at a time");
        RegionPages pages = Pages;
        Free.MoveTo(pages.OldLists, 0);
        (pages.Phase, pages.Pieces, pages.Found) = (TidyPhase.Sort, 0, 0);
        pages.UsedBefore = region.TouchedUnits + region.DeadUnits;
        region.IsTidied = true;
    }

    /// <summary>Brings free pieces to their pages, then closes the sparsest.</summary>
    /// <param name="most">At most this many pieces.</param>
    /// <param name="least">A page is emptied only if one part in <paramref name="least"/> of it is free.</param>
    public void Sort(int most, uint least)
    {
        Debug.Assert(Pages.Phase == TidyPhase.Sort && most > 0 && least > 0, "a round begins with sorting");
        RegionPages pages = Pages;
        // Ends: a piece less each round. What was given meanwhile is sorted, too: nothing in a list is in a page that
        // is closed.
        for (int list = 0; list < FreePieces.Lists || Free.Occupied != 0; list++)
        {
            if (list == FreePieces.Lists)
            {
                Free.MoveTo(pages.OldLists, 0);
                list = 0;
            }

            ref uint old = ref pages.OldLists[list];
            while (old != 0)
            {
                if (most-- == 0) return;
                uint piece = old;
                old = Free.Next(piece);
                new FreeLinks(region).Keep(piece);
                pages.Pieces++;
            }
        }

        Close(RegionPages.PageUnits / least);
        (pages.Phase, pages.At, pages.Run[1]) = (TidyPhase.Join, 0, 0);
    }

    private void Close(uint least)
    {
        uint touched = region.TouchedUnits, dead = region.DeadUnits,
            missed = region.Missed == 0 ? 0 : 1u << (region.Missed - 1);
        // Where pieces are long several pages are emptied together, else most of what moves would lie in the pages
        // beside them.
        uint units = Math.Max(dead / Math.Max(1, Pages.Pieces), missed);
        uint together = BitOperations.RoundUpToPowerOf2(
            Math.Clamp(units * PagesPerPiece / RegionPages.PageUnits, 1, TogetherMax));
        Pages.Close(region.UsedUnits / RegionPages.PageUnits, dead, touched / 128, together, least);
        region.Missed = 0;
    }

    /// <summary>Makes free pieces side by side one, and puts them into the lists.</summary>
    /// <param name="most">At most this many pages are looked at.</param>
    public void Join(int most)
    {
        Debug.Assert(Pages.Phase == TidyPhase.Join && most > 0, "what was sorted is joined");
        RegionPages pages = Pages;
        uint end = (uint)Math.Min(pages.Count, pages.At + (long)most);
        for (; pages.At < end; pages.At++) JoinPage(pages.At);
        if (end != pages.Count) return;
        EndRun();
        new Span<ulong>(pages.Walk, RegionPages.WalkBytes / sizeof(ulong)).Clear();
        (pages.Phase, pages.Room) = (TidyPhase.Move, 0);
        pages.Limit = region.TouchedUnits + (region.TouchedUnits / 64);
    }

    /// <summary>Whether pieces that moved have not fit into what is free.</summary>
    public bool IsOverLimit => region.TouchedUnits > Pages.Limit;

    /// <summary>Goes on to looking at pages that are closed: most are free now.</summary>
    public void BeginCollecting()
    {
        Debug.Assert(Pages.Phase == TidyPhase.Move, "what has moved is collected");
        RegionPages pages = Pages;
        pages.Share = IsOverLimit ? pages.Share / 2 : Math.Min(8, pages.Share + 1);
        (pages.Phase, pages.At, pages.Run[1]) = (TidyPhase.Collect, 0, 0);
    }

    /// <summary>Opens closed pages; what is free in them goes to the lists.</summary>
    /// <param name="most">At most this many pages are looked at.</param>
    public void Collect(int most)
    {
        Debug.Assert(Pages.Phase == TidyPhase.Collect && most > 0, "collecting has begun");
        RegionPages pages = Pages;
        uint end = (uint)Math.Min(pages.End, pages.At + (long)most);
        for (; pages.At < end; pages.At++)
            if (pages.Open(pages.At)) JoinPage(pages.At);
        if (end != pages.End) return;
        EndRun();
        pages.Phase = TidyPhase.GiveBack;
        if (region.CanGiveBack) Free.MoveTo(pages.OldLists, FreePieces.ListOf(RegionPages.PageUnits + 1));
    }

    /// <summary>Gives pages of long free pieces to the system, until they are taken.</summary>
    /// <param name="most">At most this many pieces are looked at.</param>
    /// <param name="kept">One part in <paramref name="kept"/> of the region may stay free.</param>
    /// <param name="nextShare">The next round begins when one unit in <paramref name="nextShare"/> is free, if this
    /// round was of use.</param>
    /// <returns>True when that was all, and the round has ended.</returns>
    public bool GiveBack(int most, uint kept, uint nextShare)
    {
        Debug.Assert(Pages.Phase == TidyPhase.GiveBack && most > 0 && kept > 0 && nextShare > 0,
            "a round ends with giving back");
        RegionPages pages = Pages;
        Span<PageRange> ranges = stackalloc PageRange[32];
        int count = 0;
        uint left = region.DeadUnits, keep = region.TouchedUnits / kept, found = 0;
        Span<(uint First, uint End)> given = stackalloc (uint, uint)[32];
        bool isAll = true;
        for (int list = FreePieces.Lists - 1; list >= 0 && isAll; list--)
        {
            ref uint old = ref pages.OldLists[list];
            // Ends: a piece less each round.
            while (old != 0)
            {
                if (most-- == 0 || count == ranges.Length)
                {
                    isAll = false;
                    break;
                }

                uint piece = old, units = Free.Units(piece), first = (piece / RegionPages.PageUnits) + 1,
                    end = (piece + units) / RegionPages.PageUnits;
                old = Free.Next(piece);
                Free.Link(piece, units);
                // Ends: a page further each round.
                while (first < end && left > keep + found && count < ranges.Length)
                {
                    if (pages.IsGivenBack(first))
                    {
                        first++;
                        continue;
                    }

                    uint next = first + 1;
                    while (next < end && !pages.IsGivenBack(next)) next++;
                    ranges[count] = new PageRange { Start = region.At(first * RegionPages.PageUnits),
                        Bytes = (nuint)(next - first) * RegionPages.PageBytes };
                    given[count++] = (first, next);
                    found += (next - first) * RegionPages.PageUnits;
                    first = next;
                }
            }
        }

        if (count != 0 && VirtualMemory.GiveBack(ranges[..count]))
            foreach (var (first, end) in given[..count]) region.NoteGivenBack(pages.GiveToSystem(first, end));
        if (!isAll) return false;
        pages.Phase = TidyPhase.None;
        // One that has emptied little is of no use soon: not before a 64th more of the region is free.
        bool isUseful = pages.Found >= region.TouchedUnits / UsefulShare || !region.IsMuchDead;
        ulong dead = region.DeadUnits * (ulong)RegionPages.DeadShareUnit / region.TouchedUnits;
        pages.NextRound = isUseful
            ? RegionPages.DeadShareUnit / nextShare
            : (uint)dead + (RegionPages.DeadShareUnit / 64);
        region.IsTidied = false;
        return true;
    }

    private void JoinPage(uint page)
    {
        Debug.Assert(!Pages.IsGivenBack(page) || Pages.Firsts[page] == 0,
            "no free piece begins in a page of the system's");
        RegionPages pages = Pages;
        ref uint first = ref pages.Firsts[page];
        if (first == 0) return;
        Span<uint> found = stackalloc uint[RegionPages.PageUnits];
        uint* run = pages.Run;
        int count = 0;
        for (; first != 0; first = Free.Next(first)) found[count++] = first;
        found[..count].Sort();
        foreach (uint piece in found[..count])
        {
            uint units = Free.Units(piece);
            if (run[1] == 0 || run[0] + run[1] != piece)
            {
                EndRun();
                run[0] = piece;
            }

            run[1] += units;
        }
    }

    private void EndRun()
    {
        uint* run = Pages.Run;
        uint units = run[1];
        run[1] = 0;
        if (units != 0) new FreeLinks(region).Link(run[0], units);
    }
}

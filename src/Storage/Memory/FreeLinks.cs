using System.Diagnostics;

namespace Kv.Storage;

/// <summary>Where free pieces of a region are found again: in a list by their size, or, while a round of tidying has
/// closed the page that they begin in, with that page.</summary>
/// <remarks>For the owner of the region's lock.</remarks>
internal readonly unsafe struct FreeLinks(Region region)
{
    private RegionPages Pages => region.Pages;

    private FreePieces Free => region.FreePieces;

    /// <summary>Puts what is free into the lists; what is in closed pages stays with them.</summary>
    public void Link(uint piece, uint units)
    {
        RegionPages pages = Pages;
        if (!pages.IsClosed(piece, units))
        {
            LinkTouched(piece, units);
            return;
        }

        uint open = 0;
        // Ends: a page further on each round.
        for (uint at = piece, behind = piece + units; at < behind;)
        {
            uint next = Math.Min(behind, (at / RegionPages.PageUnits * RegionPages.PageUnits) + RegionPages.PageUnits);
            bool isClosed = pages.IsPageClosed(at / RegionPages.PageUnits);
            if (!isClosed) open += next - at;
            if (open != 0 && (isClosed || next == behind)) LinkTouched((isClosed ? at : next) - open, open);
            if (isClosed)
            {
                open = 0;
                Free.Units(at) = next - at;
                Keep(at);
            }

            at = next;
        }
    }

    /// <summary>Links a free piece that may begin in a page of the system's.</summary>
    private void LinkTouched(uint piece, uint units)
    {
        Debug.Assert(units != 0 && !Pages.IsClosed(piece, units), "what is in a list is in open pages");
        region.TakeBack(Pages.Touch(piece));
        Free.Link(piece, units);
    }

    /// <summary>Has a free piece stay with the page that it begins in.</summary>
    public void Keep(uint piece)
    {
        ref uint first = ref Pages.Firsts[piece / RegionPages.PageUnits];
        Free.Next(piece) = first;
        first = piece;
    }
}

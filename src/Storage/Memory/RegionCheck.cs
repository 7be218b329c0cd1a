namespace Kv.Storage;

/// <summary>Whether what is free of a region is what it counts as free. For tests.</summary>
internal static unsafe class RegionCheck
{
    /// <summary>Walks the lists and the pages, and throws when they and the counts disagree.</summary>
    public static void Run(Region region, uint free, uint givenBack, bool hasPages)
    {
        FreePieces pieces = region.FreePieces;
        long linked = 0, longer = 0, aside = 0;
        for (int list = 0; list < FreePieces.Lists; list++)
        {
            Require(pieces.Firsts[list] != 0 == ((pieces.Occupied >> list & 1) != 0),
                $"the bit of free list {list} is wrong");
            for (uint piece = pieces.Firsts[list]; piece != 0; piece = pieces.Next(piece))
            {
                uint units = pieces.Units(piece);
                Require(FreePieces.ListOf(units) == list, $"free piece {piece} of {units} units is in list {list}");
                Require(!hasPages || !region.Pages.IsClosed(piece, units),
                    $"free piece {piece} is in a page that is being emptied");
                linked += CheckPiece(region, piece, hasPages);
                if (units > RegionPages.PageUnits) longer += units;
                Require(linked <= region.UsedUnits, $"free list {list} has a cycle");
            }
        }

        Require(longer == pieces.LongUnits,
            $"{pieces.LongUnits} units are counted in long free pieces, the lists have {longer}");
        if (hasPages)
        {
            RegionPages pages = region.Pages;
            for (int list = 0; list < FreePieces.Lists; list++)
                for (uint piece = pages.OldLists[list]; piece != 0; piece = pieces.Next(piece))
                    aside += CheckPiece(region, piece, hasPages);
            long system = 0;
            for (uint page = 0; page < pages.Count; page++)
            {
                for (uint piece = pages.Firsts[page]; piece != 0; piece = pieces.Next(piece))
                    aside += CheckPiece(region, piece, hasPages);
                if (!pages.IsGivenBack(page)) continue;
                system += RegionPages.PageUnits;
                Require(pages.FreeOf(page) == RegionPages.PageUnits, $"page {page} is the system's, and not free");
            }

            if (pages.Phase is TidyPhase.Join or TidyPhase.Collect) aside += pages.Run[1];
            Require(system == givenBack, $"{givenBack} units are counted as given back, the pages have {system}");
            Require(pages.Sum == free, $"{free} units are counted free, the pages have {pages.Sum}");
        }

        Require(linked + aside == free, $"{free} units are counted free, the lists have {linked}, the round {aside}");
    }

    private static uint CheckPiece(Region region, uint piece, bool hasPages)
    {
        uint units = region.FreePieces.Units(piece);
        Require(piece >= Region.FirstUnit
            && piece + units <= region.UsedUnits, $"free piece {piece} of {units} units is outside of the region");
        Require(!hasPages || !region.Pages.IsGivenBack(piece / RegionPages.PageUnits),
            $"free piece {piece} begins in a page of the system's");
        return units;
    }

    private static void Require(bool holds, string what)
    {
        if (!holds) throw new InvalidOperationException($"A region is damaged: {what}.");
    }
}

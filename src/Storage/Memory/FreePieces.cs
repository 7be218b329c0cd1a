using System.Diagnostics;
using System.Numerics;
using System.Runtime.CompilerServices;

namespace Kv.Storage;

//  a free piece:  | next free 4 | units 4 | ...
//
//  Lists 0 to 31: pieces of exactly 1 to 32 units; then two for each doubling, up to a megabyte; the last has all that
// are longer.

/// <summary>The lists of a region's free pieces, by their sizes.</summary>
/// <param name="start">Of the region.</param>
/// <remarks>Threads: as the region's.</remarks>
internal readonly unsafe struct FreePieces(byte* start)
{
    public const int Lists = 56, ListsOffset = 56, OccupiedOffset = 24;

    private const int LongOffset = 52, ExactUnits = 32;

    /// <summary>One bit for each list that is not empty.</summary>
    public ref ulong Occupied => ref *(ulong*)(start + OccupiedOffset);

    /// <summary>Units of all that are longer than a page.</summary>
    public ref uint LongUnits => ref *(uint*)(start + LongOffset);

    /// <summary>The first of each list; 0: none.</summary>
    public uint* Firsts => (uint*)(start + ListsOffset);

    /// <summary>The free piece that follows a free piece in its list; 0: none.</summary>
    public ref uint Next(uint piece) => ref *(uint*)At(piece);

    /// <summary>Units of a free piece.</summary>
    public ref uint Units(uint piece) => ref ((uint*)At(piece))[1];

    /// <summary>The list of pieces of this many units, or about as many.</summary>
    public static int ListOf(uint units)
    {
        Debug.Assert(units != 0, "a piece has a length");
        if (units <= ExactUnits) return (int)units - 1;
        uint below = units - 1;
        int log = BitOperations.Log2(below);
        return Math.Min(ExactUnits + (2 * (log - 5)) + (int)(below >> (log - 1) & 1), Lists - 1);
    }

    /// <summary>Whether there is a list of pieces of exactly this many units, and it has one.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public bool HasExact(uint units) => units <= ExactUnits && (Occupied & (1UL << ((int)units - 1))) != 0;

    /// <summary>Puts a free piece into its list.</summary>
    public void Link(uint piece, uint units)
    {
        Debug.Assert(piece >= Region.FirstUnit, "a free piece lies after the head");
        int list = ListOf(units);
        Next(piece) = Firsts[list];
        Units(piece) = units;
        Firsts[list] = piece;
        Occupied |= 1UL << list;
        if (units > RegionPages.PageUnits) LongUnits += units;
    }

    /// <summary>Takes a free piece out of its list.</summary>
    /// <param name="before">The piece before it; 0: it is the first.</param>
    /// <returns>Its units.</returns>
    public uint Unlink(int list, uint before, uint piece)
    {
        Debug.Assert((Occupied & (1UL << list)) != 0, "the list has pieces");
        Debug.Assert((before == 0 ? Firsts[list] : Next(before)) == piece, "the piece follows the one before it");
        uint next = Next(piece), units = Units(piece);
        if (units > RegionPages.PageUnits) LongUnits -= units;
        if (before != 0)
        {
            Next(before) = next;
            return units;
        }

        Firsts[list] = next;
        if (next == 0) Occupied &= ~(1UL << list);
        return units;
    }

    /// <summary>Takes all pieces out of the lists from one on.</summary>
    /// <param name="to">Where the first of each list is then.</param>
    /// <param name="from">The first list; the pieces of all that are longer than a page are in one of these, or in
    /// none.</param>
    public void MoveTo(uint* to, int from)
    {
        Debug.Assert((uint)from < Lists, "there is such a list");
        new Span<uint>(Firsts + from, Lists - from).CopyTo(new Span<uint>(to + from, Lists - from));
        new Span<uint>(Firsts + from, Lists - from).Clear();
        Occupied &= (1UL << from) - 1;
        LongUnits = 0;
    }

    private byte* At(uint piece) => start + ((long)piece * Region.UnitBytes);
}

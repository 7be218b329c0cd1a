using System.Diagnostics;
using System.Numerics;

namespace Kv.Storage;

//  a shelf: a run of 64 KB from PageRuns, in units of 1 KB
//
//   0                                  1 KB                                                          64 KB
//  +------+------+----------+- - - - -+-----------------------+----------------+- - - - - - - - - -+
//  | free | next | previous |         |  extent of 9 units    |  extent of 12  |   free             |
//  +------+------+----------+- - - - -+-----------------------+----------------+- - - - - - - - - -+
//   free   8: a bit for each unit that is free, unit 0 the lowest; next, previous 8 each: shelves with as long a longest free extent

/// <summary>Memory for regions of 8 to 16 KB, by the kilobyte: there the rest of a page would be much.</summary>
/// <remarks>
/// Many share a page, so one that grows by more than its last kilobyte moves. The first shelf whose longest free extent
/// is just long enough is taken; a page goes back to the system when nothing is on it any more.
/// Threads: any; everything here is the lock's.
/// Cost: some 100 ns, and for what is given back a call of the system.
/// </remarks>
internal static unsafe class PageShelves
{
    /// <summary>The most bytes of an extent.</summary>
    public const long BytesMax = 16 * 1024;

    private const int UnitBytes = 1024, Units = 64;
    private const ulong AllFree = ~1UL;     // but the first unit, which is the shelf's own
    private const long ShelfBytes = UnitBytes * Units;

    private static readonly Lock Gate = new();

    // Shelves by their longest free extent, in units; a bit for each list that has any. Full ones are in none.
    private static readonly nint[] Lists = new nint[Units];
    private static ulong _occupied;

    private struct Shelf
    {
        public ulong Free;
        public Shelf* Next, Previous;
    }

    /// <summary>Takes an extent; null when the system has no memory.</summary>
    /// <param name="size">In: the bytes wanted, at most <see cref="BytesMax"/>. Out: the bytes that the extent
    /// has.</param>
    public static byte* TryTake(ref long size)
    {
        Debug.Assert(size is > 0 and <= BytesMax, "longer ones are of whole pages");
        int units = UnitsFor(size);
        size = (long)units * UnitBytes;
        lock (Gate)
        {
            ulong longEnough = _occupied >> units << units;
            Shelf* shelf = longEnough != 0 ? (Shelf*)Lists[BitOperations.TrailingZeroCount(longEnough)] : NewShelf();
            if (shelf == null) return null;
            Unlink(shelf);
            int unit = Find(shelf->Free, units);
            Debug.Assert((shelf->Free & Mask(unit, units)) == Mask(unit, units), "they are free");
            shelf->Free &= ~Mask(unit, units);
            Link(shelf);
            return (byte*)shelf + ((long)unit * UnitBytes);
        }
    }

    /// <summary>Gives an extent back.</summary>
    public static void Give(byte* start, long size)
    {
        Debug.Assert(size is > 0 and <= BytesMax && (nuint)start % UnitBytes == 0, "it is an extent of a shelf");
        var shelf = (Shelf*)((nuint)start & ~(nuint)(ShelfBytes - 1));
        int unit = (int)((start - (byte*)shelf) / UnitBytes), units = UnitsFor(size);
        lock (Gate)
        {
            Unlink(shelf);
            Debug.Assert((shelf->Free & Mask(unit, units)) == 0, "they were taken");
            shelf->Free |= Mask(unit, units);
            if (shelf->Free == AllFree)
            {
                PageRuns.Give((byte*)shelf, ShelfBytes, ShelfBytes);
                return;
            }

            GiveFreePages(shelf, unit, units);
            Link(shelf);
        }
    }

    private static Shelf* NewShelf()
    {
        long size = ShelfBytes / 2;
        var shelf = (Shelf*)PageRuns.TryTake(ref size);
        if (shelf == null) return null;
        *shelf = new Shelf { Free = AllFree };
        Link(shelf);
        return shelf;
    }

    // Pages that these units are on, as far as the others on them are free, too.
    private static void GiveFreePages(Shelf* shelf, int unit, int units)
    {
        int page = (int)VirtualMemory.PageBytes / UnitBytes, first = unit / page * page,
            end = Math.Min(Units, (unit + units + page - 1) / page * page);
        if (page == 0 || page >= Units) return;
        if ((~shelf->Free & Mask(first, page)) != 0) first += page;
        if (first < end && (~shelf->Free & Mask(end - page, page)) != 0) end -= page;
        if (first < end)
            VirtualMemory.GiveBack((byte*)shelf + ((long)first * UnitBytes), (nuint)((end - first) * UnitBytes));
    }

    private static void Link(Shelf* shelf)
    {
        Debug.Assert(Gate.IsHeldByCurrentThread, "the shelves are the lock's");
        int longest = Longest(shelf->Free);
        if (longest == 0) return;
        var first = (Shelf*)Lists[longest];
        shelf->Next = first;
        shelf->Previous = null;
        if (first != null) first->Previous = shelf;
        Lists[longest] = (nint)shelf;
        _occupied |= 1UL << longest;
    }

    private static void Unlink(Shelf* shelf)
    {
        Debug.Assert(Gate.IsHeldByCurrentThread, "the shelves are the lock's");
        int longest = Longest(shelf->Free);
        if (longest == 0) return;
        if (shelf->Next != null) shelf->Next->Previous = shelf->Previous;
        if (shelf->Previous != null) shelf->Previous->Next = shelf->Next;
        else Lists[longest] = (nint)shelf->Next;
        if (Lists[longest] == 0) _occupied &= ~(1UL << longest);
    }

    /// <summary>The length of the longest run of ones. Ends: each round shortens each run by one.</summary>
    private static int Longest(ulong ones)
    {
        int longest = 0;
        for (; ones != 0; ones &= ones << 1) longest++;
        return longest;
    }

    /// <summary>The lowest bit at which a run of <paramref name="count"/> ones begins.</summary>
    private static int Find(ulong ones, int count)
    {
        Debug.Assert(Longest(ones) >= count, "there is a run that is long enough");
        // After each round a bit is one where a run of `have` ones begins.
        for (int have = 1; have < count;)
        {
            int more = Math.Min(have, count - have);
            ones &= ones >> more;
            have += more;
        }

        return BitOperations.TrailingZeroCount(ones);
    }

    private static ulong Mask(int unit, int units) => ((1UL << units) - 1) << unit;

    private static int UnitsFor(long bytes) => (int)((bytes + UnitBytes - 1) / UnitBytes);
}

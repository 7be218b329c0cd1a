using System.Diagnostics;
using System.Numerics;

namespace Kv.Storage;

//  list of an extent of n pages:    n below 8: n         else: 3 bits below the highest one: 8 lists a doubling
//
//     pages   1 .. 7 | 8 | 9 | ... | 15 | 16-17 | 18-19 | ... | 30-31 | 32-35 | ...
//     list    1 .. 7 | 8 | 9 | ... | 15 |  16   |  17   | ... |  23   |  24   | ...

/// <summary>Free extents of one state, by their length: one that is long enough is found without a search.</summary>
/// <remarks>
/// Threads: the owner's lock. Cost: some loads. What is found is at most an eighth longer than the shortest one that
/// would do, or the shortest of the next lists; what is left of it stays free.
/// </remarks>
internal sealed class ExtentLists(ExtentMap map, ExtentState state)
{
    private const int ListCount = 256, TriesMax = 8;

    private readonly int[] _first = new int[ListCount];     // page of the first extent; 0: none, page 0 is nobody's
    private readonly ulong[] _occupied = new ulong[ListCount / 64];

    private long _pages;

    /// <summary>Pages of all of them. Without the lock: of some recent moment.</summary>
    // Volatile, for those without the lock: it orders nothing, the lists themselves are read under it.
    public long Pages => Volatile.Read(ref _pages);

    public int Count { get; private set; }

    /// <summary>Adds an extent, and describes it.</summary>
    public void Add(int page, int pages)
    {
        Debug.Assert(page > 0 && pages > 0, "an extent has pages, and page 0 is nobody's");
        map.Describe(page, pages, state);
        int list = ListOf(pages), next = _first[list];
        map[page].Next = next;
        map[page].Previous = 0;
        if (next != 0) map[next].Previous = page;
        _first[list] = page;
        _occupied[list >> 6] |= 1UL << list;
        Volatile.Write(ref _pages, _pages + pages);
        Count++;
    }

    /// <summary>Takes an extent out, whole.</summary>
    public void Remove(int page)
    {
        ref ExtentEntry entry = ref map[page];
        Invariant.Check(entry.State == state, "an extent is in the list of its state");
        int list = ListOf(entry.Pages);
        if (entry.Next != 0) map[entry.Next].Previous = entry.Previous;
        if (entry.Previous != 0) map[entry.Previous].Next = entry.Next;
        else _first[list] = entry.Next;
        if (_first[list] == 0) _occupied[list >> 6] &= ~(1UL << list);
        Volatile.Write(ref _pages, _pages - entry.Pages);
        Count--;
    }

    /// <summary>Takes this many pages out of an extent that is long enough; what is left of it stays free.</summary>
    /// <returns>The first page; 0 when none is long enough.</returns>
    public int TryTake(int pages)
    {
        Debug.Assert(pages > 0, "an extent has pages");
        int found = Find(pages);
        if (found != 0) Cut(found, pages);
        return found;
    }

    /// <summary>Takes the longest extent, or <paramref name="pagesMax"/> pages of it.</summary>
    /// <returns>The first page; 0 when there is none.</returns>
    public int TryTakeLongest(int pagesMax, out int pages)
    {
        Debug.Assert(pagesMax > 0, "an extent has pages");
        pages = 0;
        for (int word = _occupied.Length - 1; word >= 0; word--)
        {
            if (_occupied[word] == 0) continue;
            int found = _first[(word * 64) + 63 - BitOperations.LeadingZeroCount(_occupied[word])];
            pages = Math.Min(map[found].Pages, pagesMax);
            Cut(found, pages);
            return found;
        }

        return 0;
    }

    /// <summary>Walks all lists and throws when they and the map disagree. For tests.</summary>
    public void Check()
    {
        long pages = 0;
        int count = 0;
        for (int list = 0; list < ListCount; list++)
        {
            Require(_first[list] != 0 == ((_occupied[list >> 6] >> list & 1) != 0), "the bit of a list is wrong");
            for (int page = _first[list], before = 0; page != 0; before = page, page = map[page].Next)
            {
                Require(map[page].State == state && ListOf(map[page].Pages) == list, "an extent is in a wrong list");
                Require(map[page].Previous == before, "a list is not linked back");
                pages += map[page].Pages;
                Require(++count <= Count, "a list has a cycle");
            }
        }

        Require(pages == Pages && count == Count, "the sums are wrong");
    }

    private void Cut(int page, int pages)
    {
        Debug.Assert(pages > 0 && pages <= map[page].Pages, "no more is cut off than there is");
        int left = map[page].Pages - pages;
        Remove(page);
        map.Describe(page, pages, ExtentState.Taken);
        if (left > 0) Add(page + pages, left);
    }

    private int Find(int pages)
    {
        // The list of this length may have one that is long enough: what was given back last comes first.
        int list = ListOf(pages);
        int page = _first[list];
        for (int tries = 0; page != 0 && tries < TriesMax; tries++, page = map[page].Next)
            if (map[page].Pages >= pages) return page;

        // In every later list all extents are long enough.
        list++;
        ulong longer = _occupied[list >> 6] >> list << list;
        for (int word = list >> 6; ;)
        {
            if (longer != 0) return _first[(word * 64) + BitOperations.TrailingZeroCount(longer)];
            if (++word == _occupied.Length) return 0;
            longer = _occupied[word];
        }
    }

    private static int ListOf(int pages)
    {
        if (pages < 8) return pages;
        int log = BitOperations.Log2((uint)pages);
        return ((log - 2) * 8) + ((pages >> (log - 3)) & 7);
    }

    private static void Require(bool holds, string what)
    {
        if (!holds) throw new InvalidOperationException($"The extents are damaged: {what}.");
    }
}

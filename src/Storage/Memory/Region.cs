using System.Numerics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Kv.Storage;

//   0        8         16        24          32     36     40      41       42      44      48           52      56                280            448
//  +--------+---------+---------+-----------+------+------+-------+--------+-------+-------+------------+-------+-----------------+--------------+------- - - -
//  | bytes  | charged | counter | occupied  | used | free | noted | tidied | missed| pages | given back | long  | free lists 56x4 | head of type | pieces ...
//  +--------+---------+---------+-----------+------+------+-------+--------+-------+-------+------------+-------+-----------------+--------------+------- - - -
//   bytes of the allocation (over 16 KB: of addresses, a run's, an extent's or its own); bytes charged to *counter (the budget's
//   address), but for those given back; one bit for each free list that is not empty; units handed out, units of those that are free
//   again; when it was noted as sparse, 0: never; whether it is being tidied; how many pages, 1 + log2, the longest piece takes that it
//   had to grow for though much was free; a piece, the counts of free units by page (RegionPages), 0 below 32 KB; units of free pieces
//   whose pages are the system's; units of those pieces in the lists that have a page or more
//
//  A piece is a whole number of units of 8 bytes, named by its first unit: 32 bits reach 32 GB, and stay right when the
//  region moves. A free piece:  | next free 4 | given back 1 bit, units 31 bits | ...      Lists 0 to 31: pieces of exactly 1 to 32 units;
//  then two for each doubling, up to a megabyte; the last has all that are longer.
//
// Invariant: used and free are exact, and so are the counts of each page. A free piece is in a list, or in one of the old lists of a
// round that has just begun, or it lies in a page that is closed, or a page beside it was when a round took it out of the list (RegionPages).

/// <summary>The memory of one large collection, all of it: a head, and pieces that are taken and given back.</summary>
/// <remarks>
/// One region for each collection, so that freeing one is one call, copying one is one copy, and its bytes are known.
/// Whoever changes it reserves first (<see cref="TryReserve"/>): that is all that can fail or move the region. Pointers into
/// it hold until the next reservation.
/// Threads: the owner of the record's lock, readers too; but look-ahead, which reads what may be torn or old and believes none
/// of it. Hence memory that the region moved away from, and the region itself, are freed after an epoch.
/// </remarks>
internal readonly unsafe struct Region
{
    public const int UnitBytes = 8;

    /// <summary>Where the head of the collection's type is, and its most bytes.</summary>
    public const int HeadOffset = 280, HeadBytes = 168;

    private const int FirstUnit = (HeadOffset + HeadBytes) / UnitBytes, ExactUnits = 32, ListsOffset = 56, Lists = RegionPages.Lists;
    private const uint GivenBack = 1u << 31, TidyShare = 10, ReserveShare = 32, GiveBackUnits = 32 * 1024 / UnitBytes;
    private const long FirstBytes = 1024, HeapBytesMax = 8 * 1024 - 64, ChargeStep = 16 * 1024;
    private const int TriesMax = 8, TogetherLogMax = 5;
    private const long PagesFrom = 32 * 1024;   // of a smaller one all that is free is not much
    private const int ReserveFactor = 32;       // addresses cost nothing, and moving costs

    // Up to 8 MB an extent of up to 32 MB, which all have one mapping; above, up to 32 times the addresses, which are two or three
    // once pages have been moved there.
    private const long ExtentUsedMax = 8L << 20, ExtentBytesMax = 32L << 20;
    private const int Mappings = 3;

    public Region(byte* start) => Start = start;

    public byte* Start { get; }

    public bool IsNone => Start == null;

    /// <summary>The type's own part, zeros at first.</summary>
    public byte* Head => Start + HeadOffset;

    /// <summary>What the budget is charged with for it.</summary>
    public long ChargedBytes => Field(8) - (GivenBackUnits * (long)UnitBytes);

    /// <summary>Bytes of head and pieces that are in use, but for the counts of pages.</summary>
    public long UsedBytes => ((long)(UsedUnits - FreeUnits) * UnitBytes) - PagesBytes;

    /// <summary>Bytes that have been used at some time, and not given back to the system.</summary>
    public long TouchedBytes => (long)(UsedUnits - GivenBackUnits) * UnitBytes;

    private long PagesBytes => PagesPiece == 0 ? 0 : SizeOf((int)Pages.Bytes);

    /// <summary>When it was last noted as sparse, as <see cref="SparseRegions"/> counts; 0: not yet.</summary>
    public ref byte NotedAt => ref *(Start + 40);

    private ref long Field(int offset) => ref *(long*)(Start + offset);
    private ref ulong Occupied => ref *(ulong*)(Start + 24);
    private ref uint UsedUnits => ref *(uint*)(Start + 32);
    private ref uint FreeUnits => ref *(uint*)(Start + 36);
    private ref bool IsTidied => ref *(bool*)(Start + 41);
    private ref byte Missed => ref *(Start + 42);
    private ref uint PagesPiece => ref *(uint*)(Start + 44);
    private ref uint GivenBackUnits => ref *(uint*)(Start + 48);
    private ref uint LongUnits => ref *(uint*)(Start + 52);
    private RegionPages Pages => new(At(PagesPiece));
    private uint* FreeLists => (uint*)(Start + ListsOffset);
    /// <summary>Whether it has addresses that nobody else uses, and takes pages of them as it grows.</summary>
    private bool IsMapped => Field(0) > ExtentBytesMax;

    private bool IsExtent => Field(0) is > PageRuns.BytesMax and <= ExtentBytesMax;

    private bool IsRun => Field(0) is > PageShelves.BytesMax and <= PageRuns.BytesMax;

    private bool IsOnShelf => Field(0) is > HeapBytesMax and <= PageShelves.BytesMax;

    /// <summary>Makes an empty region with room for so many bytes of pieces; none when there is no memory.</summary>
    /// <param name="isTight">No more than these: what is made so often stays as small as it is.</param>
    public static Region Create(MemoryBudget budget, long bytes, bool isTight = false)
    {
        if (budget.RefusesAllocation()) return default;
        long wanted = (FirstUnit * UnitBytes) + bytes, pagesBytes = PagesBytesFor(wanted, 0);
        wanted += pagesBytes;
        long size = Math.Max(isTight ? 0 : FirstBytes, RoundUp(wanted));
        byte* start = Acquire(ref size);
        if (start == null) return default;
        NativeMemory.Clear(start, FirstUnit * UnitBytes);
        var region = new Region(start);
        region.Field(0) = size;
        region.Field(16) = (long)budget.BlockCounter;
        region.UsedUnits = FirstUnit;
        region.Charge(region.ChargeFor(wanted));
        if (pagesBytes != 0) region.TakePages(pagesBytes);
        return region;
    }

    /// <summary>The same content in another region; none when there is no memory.</summary>
    public Region Copy(MemoryBudget budget)
    {
        Region copy = BeginCopy(budget);
        if (!copy.IsNone) CopyTo(copy, 0, long.MaxValue);
        return copy;
    }

    /// <summary>Makes a region with room for the same content; none when there is no memory.</summary>
    public Region BeginCopy(MemoryBudget budget) => Create(budget, ((long)UsedUnits - FirstUnit) * UnitBytes);

    /// <summary>Copies a part of the content, which must not change in between; a copy is right when it has all parts.</summary>
    /// <param name="copy">From <see cref="BeginCopy"/>.</param>
    /// <param name="from">0 to begin, else what the last call returned.</param>
    /// <param name="bytes">At most so many.</param>
    /// <returns>Where to go on; below 0: that was all.</returns>
    public long CopyTo(Region copy, long from, long bytes)
    {
        const int shared = 24;      // what is in front is each region's own
        long end = (long)UsedUnits * UnitBytes;
        from = Math.Max(from, shared);
        bytes = Math.Min(bytes, end - from);
        Buffer.MemoryCopy(Start + from, copy.Start + from, bytes, bytes);
        copy.NotedAt = 0;
        copy.GivenBackUnits = 0;
        return from + bytes == end ? -1 : from + bytes;
    }

    /// <summary>Makes sure that pieces of so many bytes in all can be taken without fail. May move the region.</summary>
    /// <param name="bytes">Of the pieces, each rounded up to 8, and 56 more for each that is aligned.</param>
    /// <param name="left">None, or what it has moved away from: the caller's to end with <see cref="FreeMemory"/>.</param>
    /// <returns>False when there is no memory; nothing has changed then.</returns>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static bool TryReserve(ref Region region, MemoryBudget budget, long bytes, out Region left)
    {
        left = default;
        long wanted = ((long)region.UsedUnits * UnitBytes) + bytes;
        return wanted <= region.Field(8) || TryReserveSlow(ref region, budget, wanted, ref left);
    }

    /// <summary>Whether reserving so much takes a piece for its own use, so that what is the last piece now is not the last any more.</summary>
    public bool TakesPages(long bytes)
    {
        long wanted = ((long)UsedUnits * UnitBytes) + bytes;
        return wanted > Field(8) && PagesBytesFor(wanted, PagesPiece == 0 ? 0 : Pages.Count) != 0;
    }

    /// <summary>The same of a region that nobody else knows of: what it has moved away from is freed.</summary>
    public static bool TryReserve(ref Region region, MemoryBudget budget, long bytes)
    {
        if (!TryReserve(ref region, budget, bytes, out Region left)) return false;
        if (!left.IsNone) left.FreeMemory();
        return true;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static bool TryReserveSlow(ref Region region, MemoryBudget budget, long wanted, ref Region left)
    {
        long pagesBytes = PagesBytesFor(wanted, region.PagesPiece == 0 ? 0 : region.Pages.Count);
        wanted += pagesBytes;
        if (wanted > uint.MaxValue * (long)UnitBytes || budget.RefusesAllocation()) return false;
        long size = region.Field(0);
        if (wanted > size)
        {
            long newSize = wanted <= HeapBytesMax ? RoundUp(Math.Max(wanted, size + (size / 4))) : wanted;
            byte* start;
            long used = (long)region.UsedUnits * UnitBytes;
            if (region.IsMapped || region.IsExtent)
            {
                newSize = Math.Max(wanted * ReserveFactor, ExtentBytesMax + 1);
                start = VirtualMemory.MoveAway(region.Start, (nuint)used, (nuint)RoundToPages(ref newSize), Mappings);
            }
            else
            {
                start = Acquire(ref newSize);
                if (start != null) Buffer.MemoryCopy(region.Start, start, newSize, used);
            }

            if (start == null) return false;
            left = region;
            region = new Region(start);
            region.Field(0) = newSize;
            left.Field(0) = size;       // its pages may have gone
        }

        region.Charge(region.ChargeFor(wanted));
        if (pagesBytes != 0) region.TakePages(pagesBytes);
        return true;
    }

    /// <summary>Bytes of a piece for the counts of all pages of a region, and of one that grows to twice the size; 0: those that there are do.</summary>
    private static long PagesBytesFor(long bytes, uint pages)
    {
        if (bytes <= PagesFrom || pages * (long)RegionPages.PageBytes >= bytes + ChargeStep) return 0;
        return RegionPages.BytesFor((2 * bytes / RegionPages.PageBytes) + (2 * ChargeStep / RegionPages.PageBytes));
    }

    private void TakePages(long bytes)
    {
        uint piece = Extend(UnitsFor((int)bytes)), old = PagesPiece;
        RegionPages pages = RegionPages.Begin(At(piece), bytes);
        if (old != 0)
        {
            Pages.CopyTo(pages);
            PagesPiece = piece;
            Push(old, UnitsFor((int)new RegionPages(At(old)).Bytes));
            return;
        }

        // Ends: what is free of a region that has been small so far is little.
        for (ulong lists = Occupied; lists != 0; lists &= lists - 1)
            for (uint free = FreeLists[BitOperations.TrailingZeroCount(lists)]; free != 0; free = *(uint*)At(free)) pages.Give(free, SizeAt(free));
        PagesPiece = piece;
    }

    /// <summary>A piece of so many bytes (what is in it is undefined), out of what was reserved.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public uint Take(int bytes)
    {
        uint units = UnitsFor(bytes);
        if (units <= ExactUnits && (Occupied & (1UL << ((int)units - 1))) != 0) return Pop((int)units - 1);
        return TakeSlow(units);
    }

    /// <summary>The same, at a multiple of 64 bytes of address, as long as the region stays at one.</summary>
    public uint TakeAligned(int bytes)
    {
        uint units = UnitsFor(bytes);
        if (TryTakeAligned(units, out uint piece)) return piece;
        uint gap = (0 - UsedUnits) & 7;
        if (gap != 0) Push(Extend(gap), gap);
        return Extend(units);
    }

    private bool TryTakeAligned(uint units, out uint piece)
    {
        int list = ListOf(units);
        piece = FreeLists[list];
        uint before = 0;
        for (int tries = 0; piece != 0 && tries < TriesMax; tries++)
        {
            uint next = *(uint*)At(piece);
            if (SizeAt(piece) == units && (piece & 7) == 0)
            {
                TakeWhole(list, before, piece);
                return true;
            }

            before = piece;
            piece = next;
        }

        if (!IsMuchFree) return false;
        ulong larger = Occupied & ~((2UL << ListOf(units + 7)) - 1);
        if (larger == 0) return false;
        uint taken = TakeFront(BitOperations.TrailingZeroCount(larger), 0, units + 7), gap = (0 - taken) & 7;
        piece = taken + gap;
        if (gap != 0) Push(taken, gap);
        if (gap != 7) Push(piece + units, 7 - gap);
        return true;
    }

    /// <summary>A piece of so many bytes, or one that is free and about as large, whole. For those who know how long theirs are.</summary>
    /// <param name="bytes">What was reserved; what the piece has.</param>
    /// <param name="least">A free one has no fewer than these,</param>
    /// <param name="most">and no more.</param>
    /// <remarks>So pieces of changing sizes are used again, and not cut into ever smaller ones.</remarks>
    public uint TakeAbout(ref int bytes, int least, int most)
    {
        uint units = UnitsFor(bytes), leastUnits = UnitsFor(least), mostUnits = UnitsFor(most), smaller = 0, beforeSmaller = 0;
        if (IsMuchFree)
        {
            for (int list = ListOf(leastUnits), last = ListOf(mostUnits); list <= last; list++)
            {
                uint before = 0, piece = FreeLists[list];
                for (int tries = 0; piece != 0 && tries < TriesMax; tries++)
                {
                    uint size = SizeAt(piece);
                    if (size <= mostUnits && size >= units)
                    {
                        bytes = (int)size * UnitBytes;
                        return TakeWhole(list, before, piece);
                    }

                    if (size >= leastUnits && size < units) (smaller, beforeSmaller) = (piece, before);
                    before = piece;
                    piece = *(uint*)At(piece);
                }
            }

            if (smaller != 0)
            {
                uint size = SizeAt(smaller);
                bytes = (int)size * UnitBytes;
                return TakeWhole(ListOf(size), beforeSmaller, smaller);
            }
        }

        bytes = (int)units * UnitBytes;
        return TakeSlow(units);
    }

    /// <summary>Gives a piece back.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void Give(uint piece, int bytes) => Push(piece, UnitsFor(bytes));

    /// <summary>Whether nothing is behind a piece: then it can be made longer where it is.</summary>
    public bool IsLast(uint piece, int bytes) => piece + UnitsFor(bytes) == UsedUnits;

    /// <summary>Makes the last piece longer, out of what was reserved.</summary>
    public void Lengthen(uint piece, int bytes, int newBytes)
    {
        Invariant.Check(IsLast(piece, bytes), "only the last piece can be made longer");
        Extend(UnitsFor(newBytes) - UnitsFor(bytes));
    }

    /// <summary>Makes the last piece shorter.</summary>
    public void Shorten(uint piece, int bytes, int newBytes)
    {
        Invariant.Check(IsLast(piece, bytes), "only the last piece can be made shorter");
        UsedUnits -= UnitsFor(bytes) - UnitsFor(newBytes);
    }

    /// <summary>Where a piece is, until the next reservation.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public byte* At(uint piece) => Start + ((long)piece * UnitBytes);

    /// <summary>Bytes that a piece for so many bytes takes.</summary>
    public static int SizeOf(int bytes) => (int)UnitsFor(bytes) * UnitBytes;

    /// <summary>Whether so much of it is free, and of no use as it lies, that pages are to be emptied; or whether that has begun.</summary>
    public bool WantsTidying =>
        IsTidied || (FreeUnits > UsedUnits / TidyShare && PagesPiece != 0
            && (Missed != 0 || LongUnits < UsedUnits / ReserveShare) && UsedUnits >= Pages.NextRound);

    /// <summary>What a round of tidying is doing, and where it is. There must be counts: somebody wanted it.</summary>
    public RegionPages Round => Pages;

    /// <summary>Whether what is free of it can go back to the system.</summary>
    public bool CanGiveBack => PagesPiece != 0 && (IsMapped || IsExtent) && (nuint)Start % VirtualMemory.PageBytes == 0;

    /// <summary>Begins a round: nothing that is free is used until <see cref="Join"/> has looked at where it is.</summary>
    /// <param name="together">At least so many pages are emptied together (<see cref="RegionPages.Close"/>); as many as what it had to grow for takes.</param>
    public void BeginRound(int together)
    {
        uint missed = Missed > 1 ? 1u << Missed : 1;        // what is longer than a page is not the first thing in it
        Pages.Close(UsedUnits / RegionPages.PageUnits, UsedUnits / 64, Math.Max((uint)together, missed));
        new Span<uint>(FreeLists, Lists).CopyTo(new Span<uint>(Pages.OldLists, Lists));
        new Span<uint>(FreeLists, Lists).Clear();
        (Occupied, LongUnits, IsTidied, Missed) = (0, 0, true, 0);
        Pages.UsedBefore = UsedUnits;
    }

    /// <summary>Brings free pieces to their pages.</summary>
    /// <param name="most">At most so many.</param>
    public void Sort(int most)
    {
        RegionPages pages = Pages;
        for (int list = 0; list < Lists; list++)
        {
            ref uint old = ref pages.OldLists[list];
            // Ends: a piece less each round.
            while (old != 0)
            {
                if (most-- == 0) return;
                uint piece = old;
                uint* at = (uint*)At(piece);
                old = at[0];
                // Its pages are not this process': it is not joined with others, whose pages are.
                if (IsGivenBack(piece) && !pages.IsClosed(piece, SizeAt(piece)))
                {
                    Link(piece, at[1]);
                    continue;
                }

                if (IsGivenBack(piece)) TakeBack(WholePages(piece, SizeAt(piece)));
                at[1] &= ~GivenBack;
                ref uint first = ref pages.Firsts[piece / RegionPages.PageUnits];
                at[0] = first;
                first = piece;
            }
        }

        pages.Phase = TidyPhase.Join;
    }

    /// <summary>Makes free pieces side by side one, and puts them into the lists.</summary>
    /// <param name="most">Of at most so many pages.</param>
    public void Join(int most)
    {
        RegionPages pages = Pages;
        Span<uint> found = stackalloc uint[RegionPages.PageUnits];
        uint end = (uint)Math.Min(pages.Count, pages.At + (long)most);
        uint* run = pages.Run;
        for (; pages.At < end; pages.At++)
        {
            ref uint first = ref pages.Firsts[pages.At];
            int count = 0;
            for (; first != 0; first = *(uint*)At(first)) found[count++] = first;
            found[..count].Sort();
            foreach (uint piece in found[..count])
            {
                if (run[1] == 0 || run[0] + run[1] != piece)
                {
                    LinkOpen(run[0], run[1]);
                    (run[0], run[1]) = (piece, 0);
                }

                run[1] += SizeAt(piece);
            }
        }

        if (end != pages.Count) return;
        LinkOpen(run[0], run[1]);
        run[1] = 0;
        (pages.Phase, pages.Walk[0], pages.Walk[1], pages.Room) = (TidyPhase.Move, 0, 0, 0);
    }

    /// <summary>Goes on to looking at pages that are closed: most are free now.</summary>
    public void BeginCollecting() => (Pages.Phase, Pages.At) = (TidyPhase.Collect, 0);

    /// <summary>Opens closed pages; those that are free go to the lists as a whole.</summary>
    /// <param name="most">At most so many are looked at.</param>
    /// <returns>True when that was the last, and the round has ended.</returns>
    public bool Collect(int most)
    {
        RegionPages pages = Pages;
        uint end = (uint)Math.Min(pages.End, pages.At + (long)most), first = pages.At;
        for (; pages.At < end; pages.At++)
        {
            if (pages.Open(pages.At)) continue;
            LinkPages(first, pages.At);
            first = pages.At + 1;
        }

        LinkPages(first, end);
        if (end != pages.End) return false;
        pages.Phase = TidyPhase.None;
        // One that has found little is of no use soon.
        pages.NextRound = pages.Found >= UsedUnits / 128 ? 0 : UsedUnits + (UsedUnits / 128);
        IsTidied = false;
        return true;
    }

    /// <summary>Puts what is free into the lists, but for what is in closed pages.</summary>
    private void LinkOpen(uint piece, uint units)
    {
        if (units == 0) return;
        RegionPages pages = Pages;
        if (!pages.IsClosed(piece, units))
        {
            Link(piece, units);
            return;
        }

        uint open = 0;
        // Ends: a page further on each round.
        for (uint at = piece, behind = piece + units; at < behind;)
        {
            uint next = Math.Min(behind, (at / RegionPages.PageUnits * RegionPages.PageUnits) + RegionPages.PageUnits);
            bool isClosed = pages.IsPageClosed(at / RegionPages.PageUnits);
            if (!isClosed) open += next - at;
            if (open != 0 && (isClosed || next == behind)) Link((isClosed ? at : next) - open, open);
            if (isClosed) open = 0;
            at = next;
        }
    }

    /// <summary>Bytes by which it has grown since this was last asked, in a round.</summary>
    public long TakeGrowth()
    {
        long grown = UsedUnits - (long)Pages.UsedBefore;
        Pages.UsedBefore = UsedUnits;
        return grown * UnitBytes;
    }

    private void LinkPages(uint first, uint end)
    {
        if (first < end) Link(first * RegionPages.PageUnits, (end - first) * RegionPages.PageUnits);
    }

    /// <summary>Gives pages of long free pieces back to the system, until they are taken.</summary>
    /// <param name="most">Of at most so many pieces.</param>
    /// <returns>False when no such piece is left.</returns>
    public bool GiveBackFree(int most)
    {
        for (int list = Lists - 1; list >= ListOf(GiveBackUnits); list--)
        {
            for (uint piece = FreeLists[list]; piece != 0; piece = *(uint*)At(piece))
            {
                uint units = SizeAt(piece), whole = WholePages(piece, units);
                if (IsGivenBack(piece) || whole == 0) continue;
                if (most-- == 0) return true;
                uint behind = (piece + units) / SystemPageUnits * SystemPageUnits;
                VirtualMemory.GiveBack(At(behind - whole), whole * (nuint)UnitBytes);
                ((uint*)At(piece))[1] |= GivenBack;
                GivenBackUnits += whole;
                Interlocked.Add(ref *(long*)Field(16), -whole * (long)UnitBytes);
            }
        }

        return false;
    }

    /// <summary>Charges for pages that were given back: they are used again. Of a copy, they had never been given back.</summary>
    private void TakeBack(uint units)
    {
        units = Math.Min(units, GivenBackUnits);
        if (units == 0) return;
        GivenBackUnits -= units;
        Interlocked.Add(ref *(long*)Field(16), units * (long)UnitBytes);
    }

    private static uint SystemPageUnits => (uint)VirtualMemory.PageBytes / UnitBytes;

    /// <summary>Units of the system's pages that are wholly in a free piece, behind what links it.</summary>
    private static uint WholePages(uint piece, uint units)
    {
        uint first = (piece + SystemPageUnits) / SystemPageUnits, end = (piece + units) / SystemPageUnits;
        return first < end ? (end - first) * SystemPageUnits : 0;
    }

    /// <summary>Frees everything. The handle is void.</summary>
    public void Free()
    {
        Interlocked.Add(ref *(long*)Field(16), -ChargedBytes);
        FreeMemory();
    }

    /// <summary>Frees what another region has moved away from.</summary>
    public void FreeMemory()
    {
        if (IsMapped) VirtualMemory.Release(Start, (nuint)Field(0), Mappings);
        // What it has moved away from has its first page again, to say how long it is.
        else if (IsExtent) Extents.Shared.Give(Start, Field(0), Math.Max(Field(8), (long)VirtualMemory.PageBytes));
        else if (IsRun) PageRuns.Give(Start, Field(0), Field(8));
        else if (IsOnShelf) PageShelves.Give(Start, Field(0));
        else NativeMemory.AlignedFree(Start);
    }

    /// <summary>Walks the free lists and throws when they and the counts disagree. For tests.</summary>
    public void Check()
    {
        long free = 0, givenBack = 0, longer = 0;
        for (int list = 0; list < Lists; list++)
        {
            Require(FreeLists[list] != 0 == ((Occupied >> list & 1) != 0), $"the bit of free list {list} is wrong");
            for (uint piece = FreeLists[list]; piece != 0; piece = *(uint*)At(piece))
            {
                uint units = SizeAt(piece);
                Require(piece >= FirstUnit && piece + units <= UsedUnits, $"free piece {piece} is outside of the region");
                Require(ListOf(units) == list, $"free piece {piece} of {units} units is in list {list}");
                Require(PagesPiece == 0 || !Pages.IsClosed(piece, units), $"free piece {piece} is in a page that is being emptied");
                free += units;
                if (units >= RegionPages.PageUnits) longer += units;
                if (IsGivenBack(piece)) givenBack += WholePages(piece, units);
                Require(free <= UsedUnits, $"free list {list} has a cycle");
            }
        }

        Require(PagesPiece == 0 ? free == FreeUnits : free <= FreeUnits, $"{FreeUnits} units are counted free, the lists have {free}");
        Require(PagesPiece == 0 || Pages.Sum == FreeUnits, $"{FreeUnits} units are counted free, the pages have {(PagesPiece == 0 ? 0 : Pages.Sum)}");
        Require(longer == LongUnits, $"{LongUnits} units are counted in long free pieces, the lists have {longer}");
        Require(IsTidied || GivenBackUnits <= givenBack, $"{GivenBackUnits} units are counted as given back, the lists have {givenBack}");
    }

    /// <summary>Whether so much is free that it is used ahead of fresh memory, which is next to what was taken last.</summary>
    private bool IsMuchFree => FreeUnits > UsedUnits / 16;

    [MethodImpl(MethodImplOptions.NoInlining)]
    private uint TakeSlow(uint units)
    {
        int list = ListOf(units);
        if (FreeLists[list] != 0 && TryTakeFrom(list, units, out uint found)) return found;
        if (!IsMuchFree) return Extend(units);
        // A list whose pieces all are large enough.
        ulong larger = Occupied & ~((2UL << list) - 1);
        if (larger != 0) return TakeFront(BitOperations.TrailingZeroCount(larger), 0, units);
        int log = BitOperations.Log2((units / RegionPages.PageUnits) + 1);
        Missed = (byte)Math.Max(Missed, 1 + Math.Min(log, TogetherLogMax));
        return Extend(units);
    }

    /// <summary>Looks among the first pieces of a list for one that is just as large, else for one to take the front of.</summary>
    /// <remarks>So what grows and shrinks by turns, as a table's segments do, takes again what it gave.</remarks>
    private bool TryTakeFrom(int list, uint units, out uint piece)
    {
        uint before = 0, larger = 0, beforeLarger = 0, least = uint.MaxValue;
        piece = FreeLists[list];
        for (int tries = 0; piece != 0 && tries < TriesMax; tries++)
        {
            uint size = SizeAt(piece);
            if (size == units)
            {
                TakeWhole(list, before, piece);
                return true;
            }

            if (size > units && size < least) (larger, beforeLarger, least) = (piece, before, size);
            before = piece;
            piece = *(uint*)At(piece);
        }

        piece = larger;
        if (larger == 0 || !IsMuchFree) return false;
        TakeFront(list, beforeLarger, units);
        return true;
    }

    private uint Extend(uint units)
    {
        uint piece = UsedUnits;
        Invariant.Check((long)(piece + units) * UnitBytes <= Field(8), "what is taken was reserved");
        UsedUnits += units;
        return piece;
    }

    private uint Pop(int list)
    {
        uint piece = FreeLists[list];
        TakeWhole(list, 0, piece);
        return piece;
    }

    /// <summary>Takes a free piece.</summary>
    /// <param name="before">The one ahead of it in its list; 0: it is the first.</param>
    private uint TakeWhole(int list, uint before, uint piece)
    {
        Unlink(list, before, piece);
        uint units = SizeAt(piece);
        if (IsGivenBack(piece)) TakeBack(WholePages(piece, units));
        FreeUnits -= units;
        if (PagesPiece != 0) Pages.Take(piece, units);
        return piece;
    }

    /// <summary>Takes the front of a free piece that is longer. What is behind stays free.</summary>
    /// <param name="before">The one ahead of it in its list; 0: it is the first.</param>
    private uint TakeFront(int list, uint before, uint units)
    {
        uint piece = before == 0 ? FreeLists[list] : *(uint*)At(before), size = SizeAt(piece), rest = size - units;
        Unlink(list, before, piece);
        bool isGivenBack = IsGivenBack(piece);
        if (isGivenBack) TakeBack(WholePages(piece, size) - WholePages(piece + units, rest));
        FreeUnits -= units;
        if (PagesPiece != 0) Pages.Take(piece, units);
        if (rest != 0) Link(piece + units, rest | (isGivenBack ? GivenBack : 0));
        return piece;
    }

    private void Push(uint piece, uint units)
    {
        FreeUnits += units;
        if (PagesPiece == 0 || Pages.Give(piece, units)) Link(piece, units);
        else if (units > 1) LinkOpen(piece, units);
    }

    /// <summary>Puts a free piece into its list.</summary>
    /// <param name="size">Its units, and whether its pages are the system's.</param>
    private void Link(uint piece, uint size)
    {
        int list = ListOf(size & ~GivenBack);
        uint* at = (uint*)At(piece);
        at[0] = FreeLists[list];
        at[1] = size;
        FreeLists[list] = piece;
        Occupied |= 1UL << list;
        if ((size & ~GivenBack) >= RegionPages.PageUnits) LongUnits += size & ~GivenBack;
    }

    private void Unlink(int list, uint before, uint piece)
    {
        uint next = *(uint*)At(piece), units = SizeAt(piece);
        if (units >= RegionPages.PageUnits) LongUnits -= units;
        if (before != 0)
        {
            *(uint*)At(before) = next;
            return;
        }

        FreeLists[list] = next;
        if (next == 0) Occupied &= ~(1UL << list);
    }

    /// <summary>Units of a free piece.</summary>
    private uint SizeAt(uint piece) => ((uint*)At(piece))[1] & ~GivenBack;

    private bool IsGivenBack(uint piece) => (((uint*)At(piece))[1] & GivenBack) != 0;

    private static int ListOf(uint units)
    {
        if (units <= ExactUnits) return (int)units - 1;
        uint below = units - 1;
        int log = BitOperations.Log2(below);
        return Math.Min(ExactUnits + (2 * (log - 5)) + (int)(below >> (log - 1) & 1), Lists - 1);
    }

    private static uint UnitsFor(int bytes) => Math.Max(1, ((uint)bytes + UnitBytes - 1) / UnitBytes);

    /// <summary>What it may take of its addresses, to hold so much.</summary>
    private long ChargeFor(long bytes)
    {
        if (IsRun) return Math.Min(Field(0), RoundUpTo(bytes, (long)VirtualMemory.PageBytes));
        return IsMapped || IsExtent ? Math.Min(Field(0), RoundUpTo(bytes, ChargeStep)) : Field(0);
    }

    private void Charge(long bytes)
    {
        Interlocked.Add(ref *(long*)Field(16), bytes - Field(8));
        Field(8) = bytes;
    }

    private static byte* Acquire(ref long size)
    {
        if (size <= HeapBytesMax)
        {
            try
            {
                return (byte*)NativeMemory.AlignedAlloc((nuint)size, 64);
            }
            catch (OutOfMemoryException)
            {
                return null;
            }
        }

        if (size <= PageShelves.BytesMax) return PageShelves.TryTake(ref size);
        if (size <= PageRuns.BytesMax) return PageRuns.TryTake(ref size);
        bool isExtent = size <= ExtentUsedMax;
        size = isExtent ? Math.Min(size * ReserveFactor, ExtentBytesMax) : size * ReserveFactor;
        RoundToPages(ref size);
        // All zeros: few of its pages will be used, and none is to have memory before.
        return isExtent ? Extents.Shared.TryTake(ref size, isZeroed: true) : VirtualMemory.Reserve((nuint)size, mappings: Mappings);
    }

    private static long RoundToPages(ref long size) => size = RoundUpTo(size, (long)VirtualMemory.PageBytes);

    private static long RoundUp(long size) => RoundUpTo(size, 64);

    private static long RoundUpTo(long size, long step) => (size + step - 1) / step * step;

    private static void Require(bool holds, string what)
    {
        if (!holds) throw new InvalidOperationException($"A region is damaged: {what}.");
    }
}

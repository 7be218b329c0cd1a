using System.Diagnostics;
using System.Numerics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Kv.Storage;

//   0        8         16        24          32     36     40      41       42       43      44      48
//  +--------+---------+---------+-----------+------+------+-------+--------+--------+-------+-------+------------+
//  | bytes  | charged | counter | occupied  | used | free | noted | tidied | missed | short | pages | given back |
//  +--------+---------+---------+-----------+------+------+-------+--------+--------+-------+-------+------------+
//   52     56                280            448
//  +------+-----------------+--------------+------- - - -
//  | long | free lists 56x4 | head of type | pieces ...
//  +------+-----------------+--------------+------- - - -
//   bytes of the allocation (over 16 KB: of addresses, a run's, an extent's or its own); bytes charged to *counter (the
//   budget's address), but for those given back; one bit for each free list that is not empty; units handed out, units
//   of those that are free again; when it was noted as sparse, 0: never; whether it is being tidied; 1 + log2 of the
//   units of the longest piece that it had to grow for though much was free; whether the last piece ever became
//   shorter; a piece, the counts of free units by page (RegionPages), 0 below 32 KB; units of free pages that are the
//   system's; units of those pieces in the lists that have more than a page
//
//  A piece is a whole number of units of 8 bytes, named by its first unit: 32 bits reach 32 GB, and stay right when the
//  region moves. Free pieces are in lists (FreePieces); how its bytes are had is RegionMemory's.
//
// Invariant: used and free are exact, and so are the counts of each page. A free piece is in a list; or, in a round, in
// one of the lists that the round has put aside, or with its page, which waits to be looked at or is closed
// (RegionRound).

/// <summary>The memory of one large collection, all of it: a head, and pieces that are taken and given back.</summary>
/// <remarks>
/// One region for each collection, so that freeing one is one call, copying one is one copy, and its bytes are known.
/// Whoever changes it reserves first (<see cref="TryReserve"/>): that is all that can fail or move the region. Pointers
/// into it hold until the next reservation.
/// Threads: the owner of the record's lock, readers too; but look-ahead, which reads what may be torn or old and
/// believes none of it. Hence memory that the region moved away from, and the region itself, are freed after an epoch.
/// </remarks>
internal readonly unsafe struct Region
{
    public const int UnitBytes = 8;

    /// <summary>What <see cref="CopyTo"/> returns when all has been copied.</summary>
    public const long CopyEnded = -1;

    /// <summary>Where the head of the collection's type is, and its most bytes.</summary>
    public const int HeadOffset = 280, HeadBytes = 168;

    /// <summary>The first unit that is a piece's.</summary>
    public const int FirstUnit = (HeadOffset + HeadBytes) / UnitBytes;

    private const int TriesMax = 8;
    private const uint TidyShare = 8, MostDeadShare = 6, ReserveShare = 32;
    private const long FirstBytes = 1024;
    private const long PagesFrom = 32 * 1024;   // of a smaller one all that is free is not much

    public Region(byte* start) => Start = start;

    public byte* Start { get; }

    public bool IsNone => Start == null;

    /// <summary>The type's own part, zeros at first.</summary>
    public byte* Head => Start + HeadOffset;

    /// <summary>Bytes that the account is charged for this region.</summary>
    public long ChargedBytes => Field(8) - (GivenBackUnits * (long)UnitBytes);

    /// <summary>Bytes of head and pieces that are in use, but for the counts of pages.</summary>
    public long UsedBytes => ((long)(UsedUnits - FreeUnits) * UnitBytes) - PagesBytes;

    /// <summary>Bytes that have been used at some time, and not given back to the system.</summary>
    public long TouchedBytes => (long)TouchedUnits * UnitBytes;

    /// <summary>When it was last noted as sparse, as <see cref="SparseRegions"/> counts; 0: not yet.</summary>
    public ref byte NotedAt => ref *(Start + 40);

    /// <summary>Whether pages that are free can go back to the system.</summary>
    public bool CanGiveBack =>
        PagesPiece != 0 && RegionMemory.IsPaged(Field(0)) && VirtualMemory.PageBytes == RegionPages.PageBytes;

    /// <summary>Whether pages are to be emptied, since much of the region is free and of no use as it lies; or whether
    /// that has begun.</summary>
    public bool WantsTidying =>
        IsTidied || (IsMuchDead && DeadUnits * (ulong)RegionPages.DeadShareUnit >= Pages.NextRound * (ulong)TouchedUnits
            && (Missed != 0 || (long)FreePieces.LongUnits - GivenBackUnits < UsedUnits / ReserveShare
                || DeadUnits > TouchedUnits / MostDeadShare));

    /// <summary>Whether enough is free and in memory to be worth a round.</summary>
    internal bool IsMuchDead => PagesPiece != 0 && DeadUnits > TouchedUnits / TidyShare;

    /// <summary>The round of tidying; there must be <see cref="Pages"/>.</summary>
    public RegionRound Round => new(this);

    /// <summary>What is known of each page, and where the round of tidying is.</summary>
    public RegionPages Pages
    {
        get
        {
            Debug.Assert(PagesPiece != 0, "only a region that has counts of its pages is asked for them");
            return new RegionPages(At(PagesPiece));
        }
    }

    internal FreePieces FreePieces => new(Start);

    internal ref uint UsedUnits => ref *(uint*)(Start + 32);
    internal ref bool IsTidied => ref *(bool*)(Start + 41);
    internal ref byte Missed => ref *(Start + 42);

    private ref bool IsShortened => ref *(bool*)(Start + 43);

    /// <summary>Units that are free and in memory.</summary>
    internal uint DeadUnits => FreeUnits - GivenBackUnits;

    /// <summary>Units of pieces and of what is free, in memory.</summary>
    internal uint TouchedUnits => UsedUnits - GivenBackUnits;

    private ref uint FreeUnits => ref *(uint*)(Start + 36);
    private ref uint PagesPiece => ref *(uint*)(Start + 44);
    private ref uint GivenBackUnits => ref *(uint*)(Start + 48);
    private long PagesBytes => PagesPiece == 0 ? 0 : SizeOf((int)Pages.Bytes);

    private ref long Field(int offset) => ref *(long*)(Start + offset);

    /// <summary>Makes an empty region with room for <paramref name="bytes"/> of pieces; none when there is no
    /// memory.</summary>
    /// <param name="isTight">No room beyond that: for collections that mostly stay as small as they begin.</param>
    public static Region Create(MemoryBudget budget, long bytes, bool isTight = false)
    {
        Debug.Assert(bytes >= 0, "pieces have lengths");
        if (budget.RefusesAllocation()) return default;
        long wanted = (FirstUnit * UnitBytes) + bytes, pagesBytes = PagesBytesFor(wanted, 0);
        wanted += pagesBytes;
        long size = Math.Max(isTight ? 0 : FirstBytes, (wanted + 63) & ~63L);
        byte* start = RegionMemory.Acquire(ref size);
        if (start == null) return default;
        NativeMemory.Clear(start, FirstUnit * UnitBytes);
        var region = new Region(start);
        region.Field(0) = size;
        region.Field(16) = (long)budget.BlockCounter;
        region.UsedUnits = FirstUnit;
        region.Charge(RegionMemory.ChargeFor(region.Field(0), wanted));
        if (pagesBytes != 0) region.TakePages(pagesBytes);
        return region;
    }

    /// <summary>Copies the content into a new region; none when there is no memory.</summary>
    public Region Copy(MemoryBudget budget)
    {
        Region copy = BeginCopy(budget);
        if (!copy.IsNone) CopyTo(copy, 0, long.MaxValue);
        return copy;
    }

    /// <summary>Makes a region with room for this region's content; none when there is no memory.</summary>
    public Region BeginCopy(MemoryBudget budget) => Create(budget, ((long)UsedUnits - FirstUnit) * UnitBytes);

    /// <summary>Copies a part of the content, which must not change in between; a copy is right when it has all
    /// parts.</summary>
    /// <param name="copy">From <see cref="BeginCopy"/>.</param>
    /// <param name="from">0 to begin, else what the last call returned.</param>
    /// <param name="bytes">At most this many are copied.</param>
    /// <returns>Where to go on; <see cref="CopyEnded"/>: that was all.</returns>
    public long CopyTo(Region copy, long from, long bytes)
    {
        Debug.Assert(bytes > 0 && from >= 0, "each part gets the copy on");
        Debug.Assert(copy.Field(8) >= (long)UsedUnits * UnitBytes, "the copy has room for all of it");
        const int shared = 24;      // what lies before is each region's own
        long end = (long)UsedUnits * UnitBytes;
        from = Math.Max(from, shared);
        bytes = Math.Min(bytes, end - from);
        Buffer.MemoryCopy(Start + from, copy.Start + from, bytes, bytes);
        copy.NotedAt = 0;
        if (from + bytes != end) return from + bytes;
        if (GivenBackUnits != 0) copy.Pages.ForgetGivenBack();
        copy.GivenBackUnits = 0;
        return CopyEnded;
    }

    /// <summary>Makes sure that pieces of <paramref name="bytes"/> in all can be taken without fail. May move the
    /// region.</summary>
    /// <param name="bytes">The sum of the pieces, each rounded up to 8, and 56 more for each that is aligned.</param>
    /// <param name="left">None, or what it has moved away from: the caller's to end with
    /// <see cref="FreeMemory"/>.</param>
    /// <returns>False when there is no memory; nothing has changed then.</returns>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static bool TryReserve(ref Region region, MemoryBudget budget, long bytes, out Region left)
    {
        Debug.Assert(bytes >= 0 && !region.IsNone, "what is reserved has a length, and a region");
        Debug.Assert(region.Field(16) == (long)budget.BlockCounter, "a region is charged to one account");
        left = default;
        long wanted = ((long)region.UsedUnits * UnitBytes) + bytes;
        return wanted <= region.Field(8) || TryReserveSlow(ref region, budget, wanted, ref left);
    }

    /// <summary>Gives up what was reserved and not taken, if that is much: what many elements take at most is known
    /// before, not what they will.</summary>
    /// <param name="mostBytes">What may stay, beside <paramref name="mostShare"/>.</param>
    /// <param name="mostShare">As a power of two, the part of what is used that may stay.</param>
    /// <remarks>Not where the last piece ever became shorter: pages behind it may have been touched.</remarks>
    public void EndReservation(long mostBytes, int mostShare)
    {
        long size = Field(0), used = (long)UsedUnits * UnitBytes;
        if (Field(8) - used <= mostBytes + (used >> mostShare) || IsShortened || !RegionMemory.IsPaged(size)) return;
        Charge(RegionMemory.ChargeFor(size, used));
    }

    /// <summary>Whether <paramref name="bytes"/> can be taken though they were not reserved.</summary>
    public bool CanTake(long bytes) => ((long)UsedUnits * UnitBytes) + bytes <= Field(8);

    /// <summary>Whether reserving <paramref name="bytes"/> takes a piece for the counts of pages, so that what is the
    /// last piece now is not the last any more.</summary>
    public bool TakesPages(long bytes)
    {
        long wanted = ((long)UsedUnits * UnitBytes) + bytes;
        return wanted > Field(8) && PagesBytesFor(wanted, PagesPiece == 0 ? 0 : Pages.Count) != 0;
    }

    /// <summary>Reserves in a region that nobody else knows of: what it has moved away from is freed at once.</summary>
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
            long newSize = size, used = (long)region.UsedUnits * UnitBytes;
            byte* start = RegionMemory.TryEnlarge(region.Start, used, ref newSize, wanted, out bool keepsPages);
            if (start == null) return false;
            left = region;
            region = new Region(start);
            region.Field(0) = newSize;
            left.Field(0) = size;       // its pages may have gone
            if (!keepsPages && region.GivenBackUnits != 0)
            {
                region.Pages.ForgetGivenBack();
                region.TakeBack(region.GivenBackUnits);
            }
        }

        region.Charge(RegionMemory.ChargeFor(region.Field(0), wanted));
        if (pagesBytes != 0) region.TakePages(pagesBytes);
        return true;
    }

    /// <summary>Bytes of a piece with the counts of all pages of a region, enough until it has grown to twice the size;
    /// 0: the counts that there are suffice.</summary>
    private static long PagesBytesFor(long bytes, uint pages)
    {
        if (bytes <= PagesFrom || pages * (long)RegionPages.PageBytes >= bytes + RegionMemory.ChargeStep) return 0;
        return RegionPages.BytesFor((2 * bytes / RegionPages.PageBytes)
            + (2 * RegionMemory.ChargeStep / RegionPages.PageBytes));
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
        FreePieces pieces = FreePieces;
        for (ulong lists = pieces.Occupied; lists != 0; lists &= lists - 1)
            for (uint free = pieces.Firsts[BitOperations.TrailingZeroCount(lists)]; free != 0; free = pieces.Next(free))
                pages.Give(free, pieces.Units(free));
        PagesPiece = piece;
    }

    /// <summary>Takes a piece out of what was reserved. Its content is undefined.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public uint Take(int bytes)
    {
        Debug.Assert(bytes > 0, "a piece has a length");
        uint units = UnitsFor(bytes);
        FreePieces free = FreePieces;
        return free.HasExact(units) ? TakeWhole((int)units - 1, 0, free.Firsts[units - 1]) : TakeSlow(units);
    }

    /// <summary>Takes a piece whose address is a multiple of 64 bytes, as long as the region's is.</summary>
    public uint TakeAligned(int bytes)
    {
        Debug.Assert(bytes > 0, "a piece has a length");
        uint units = UnitsFor(bytes);
        if (TryTakeAligned(units, out uint piece)) return piece;
        uint gap = (0 - UsedUnits) & 7;
        if (gap != 0) Push(Extend(gap), gap);
        return Extend(units);
    }

    private bool TryTakeAligned(uint units, out uint piece)
    {
        FreePieces free = FreePieces;
        int list = FreePieces.ListOf(units);
        piece = free.Firsts[list];
        uint before = 0;
        for (int tries = 0; piece != 0 && tries < TriesMax; tries++)
        {
            uint next = free.Next(piece);
            if (free.Units(piece) == units && (piece & 7) == 0)
            {
                TakeWhole(list, before, piece);
                return true;
            }

            before = piece;
            piece = next;
        }

        if (!IsMuchFree) return false;
        ulong larger = free.Occupied & ~((2UL << FreePieces.ListOf(units + 7)) - 1);
        if (larger == 0) return false;
        uint taken = TakeFront(BitOperations.TrailingZeroCount(larger), 0, units + 7), gap = (0 - taken) & 7;
        piece = taken + gap;
        if (gap != 0) Push(taken, gap);
        if (gap != 7) Push(piece + units, 7 - gap);
        return true;
    }

    /// <summary>Takes a piece of <paramref name="bytes"/>, or a free one of about that size without splitting it. For
    /// callers that note how long their pieces are.</summary>
    /// <param name="bytes">In: the bytes that were reserved. Out: the bytes that the piece has.</param>
    /// <param name="least">The fewest bytes that a free piece may have.</param>
    /// <param name="most">The most bytes that a free piece may have.</param>
    /// <remarks>So pieces of changing sizes are used again, and not cut into ever smaller ones.</remarks>
    public uint TakeAbout(ref int bytes, int least, int most)
    {
        Debug.Assert(least > 0 && least <= bytes && least <= most, "the sizes have an order");
        uint units = UnitsFor(bytes), leastUnits = UnitsFor(least), mostUnits = UnitsFor(most), smaller = 0,
            beforeSmaller = 0;
        FreePieces free = FreePieces;
        if (IsMuchFree)
        {
            for (int list = FreePieces.ListOf(leastUnits), last = FreePieces.ListOf(mostUnits); list <= last; list++)
            {
                uint before = 0, piece = free.Firsts[list];
                for (int tries = 0; piece != 0 && tries < TriesMax; tries++)
                {
                    uint size = free.Units(piece);
                    if (size <= mostUnits && size >= units)
                    {
                        bytes = (int)size * UnitBytes;
                        return TakeWhole(list, before, piece);
                    }

                    if (size >= leastUnits && size < units) (smaller, beforeSmaller) = (piece, before);
                    before = piece;
                    piece = free.Next(piece);
                }
            }

            if (smaller != 0)
            {
                uint size = free.Units(smaller);
                bytes = (int)size * UnitBytes;
                return TakeWhole(FreePieces.ListOf(size), beforeSmaller, smaller);
            }
        }

        bytes = (int)units * UnitBytes;
        return TakeSlow(units);
    }

    /// <summary>Gives a piece back.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void Give(uint piece, int bytes)
    {
        Debug.Assert(piece != 0 && piece + UnitsFor(bytes) <= UsedUnits, "a piece is of the region");
        Push(piece, UnitsFor(bytes));
    }

    /// <summary>Whether a piece is the last one: then it can be made longer where it is.</summary>
    public bool IsLast(uint piece, int bytes) => piece + UnitsFor(bytes) == UsedUnits;

    /// <summary>Makes the last piece longer, out of what was reserved.</summary>
    public void Lengthen(uint piece, int bytes, int newBytes)
    {
        Invariant.Check(IsLast(piece, bytes), "only the last piece can be made longer");
        Debug.Assert(newBytes >= bytes, "longer is not shorter");
        Extend(UnitsFor(newBytes) - UnitsFor(bytes));
    }

    /// <summary>Makes the last piece shorter.</summary>
    public void Shorten(uint piece, int bytes, int newBytes)
    {
        Invariant.Check(IsLast(piece, bytes), "only the last piece can be made shorter");
        Debug.Assert(newBytes <= bytes, "shorter is not longer");
        UsedUnits -= UnitsFor(bytes) - UnitsFor(newBytes);
        IsShortened = true;
    }

    /// <summary>Where a piece is, until the next reservation.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public byte* At(uint piece)
    {
        Debug.Assert(piece < UsedUnits, "a piece is of the region");
        return Start + ((long)piece * UnitBytes);
    }

    /// <summary>Bytes that a piece for <paramref name="bytes"/> takes.</summary>
    public static int SizeOf(int bytes) => (int)UnitsFor(bytes) * UnitBytes;

    /// <summary>Notes that pages of free pieces are the system's: they are not charged for.</summary>
    internal void NoteGivenBack(uint units)
    {
        Debug.Assert(units % RegionPages.PageUnits == 0, "whole pages are given back");
        GivenBackUnits += units;
        Debug.Assert(GivenBackUnits <= FreeUnits, "only pages of free pieces are given back");
        Interlocked.Add(ref *(long*)Field(16), -units * (long)UnitBytes);
    }

    /// <summary>Charges for pages that were the system's, and are used again.</summary>
    internal void TakeBack(uint units)
    {
        if (units == 0) return;
        Debug.Assert(units <= GivenBackUnits, "what is taken back was given back");
        GivenBackUnits -= units;
        Interlocked.Add(ref *(long*)Field(16), units * (long)UnitBytes);
    }

    /// <summary>Frees everything. The handle is void.</summary>
    public void Free()
    {
        Interlocked.Add(ref *(long*)Field(16), -ChargedBytes);
        FreeMemory();
    }

    /// <summary>Frees what another region has moved away from.</summary>
    public void FreeMemory() => RegionMemory.Free(Start, Field(0), Field(8));

    /// <summary>Walks all that is free and throws when it and the counts disagree. For tests.</summary>
    public void Check() => RegionCheck.Run(this, FreeUnits, GivenBackUnits, hasPages: PagesPiece != 0);

    /// <summary>Whether enough is free to use it before fresh memory, which is next to what was taken last.</summary>
    private bool IsMuchFree => FreeUnits > UsedUnits / 16;

    [MethodImpl(MethodImplOptions.NoInlining)]
    private uint TakeSlow(uint units)
    {
        FreePieces free = FreePieces;
        int list = FreePieces.ListOf(units);
        if (free.Firsts[list] != 0 && TryTakeFrom(list, units, out uint found)) return found;
        if (!IsMuchFree) return Extend(units);
        // A list whose pieces all are large enough.
        ulong larger = free.Occupied & ~((2UL << list) - 1);
        if (larger != 0) return TakeFront(BitOperations.TrailingZeroCount(larger), 0, units);
        Miss(units);
        return Extend(units);
    }

    /// <summary>Notes that it grows in memory though much is free.</summary>
    private void Miss(uint units) => Missed = (byte)Math.Max(Missed, 1 + BitOperations.Log2(units));

    /// <summary>Looks among the first pieces of a list for one of exactly this size, else for one to take the front
    /// of.</summary>
    /// <remarks>So what grows and shrinks by turns, as a table's segments do, takes again what it gave back.</remarks>
    private bool TryTakeFrom(int list, uint units, out uint piece)
    {
        FreePieces free = FreePieces;
        uint before = 0, larger = 0, beforeLarger = 0, least = uint.MaxValue;
        piece = free.Firsts[list];
        for (int tries = 0; piece != 0 && tries < TriesMax; tries++)
        {
            uint size = free.Units(piece);
            if (size == units)
            {
                TakeWhole(list, before, piece);
                return true;
            }

            if (size > units && size < least) (larger, beforeLarger, least) = (piece, before, size);
            before = piece;
            piece = free.Next(piece);
        }

        piece = larger;
        if (larger == 0 || !IsMuchFree) return false;
        TakeFront(list, beforeLarger, units);
        return true;
    }

    private uint Extend(uint units)
    {
        uint piece = UsedUnits;
        Debug.Assert(units > 0, "a piece has a length");
        Invariant.Check((long)(piece + units) * UnitBytes <= Field(8), "what is taken was reserved");
        UsedUnits += units;
        return piece;
    }

    /// <summary>Takes a free piece.</summary>
    /// <param name="before">The piece before it in its list; 0: it is the first.</param>
    private uint TakeWhole(int list, uint before, uint piece)
    {
        Debug.Assert(piece != 0, "there is a piece to take");
        CountTaken(piece, FreePieces.Unlink(list, before, piece));
        return piece;
    }

    /// <summary>Takes the front of a free piece that is longer; the rest stays free.</summary>
    /// <param name="before">The piece before it in its list; 0: it is the first.</param>
    private uint TakeFront(int list, uint before, uint units)
    {
        FreePieces free = FreePieces;
        uint piece = before == 0 ? free.Firsts[list] : free.Next(before),
            rest = free.Unlink(list, before, piece) - units;
        CountTaken(piece, units);
        if (rest == 0) return piece;
        if (PagesPiece != 0) TakeBack(Pages.Touch(piece + units));
        free.Link(piece + units, rest);
        return piece;
    }

    private void CountTaken(uint piece, uint units)
    {
        Debug.Assert(units <= FreeUnits, "what is taken was free");
        FreeUnits -= units;
        if (PagesPiece == 0) return;
        uint givenBack = Pages.Take(piece, units);
        if (givenBack == 0) return;
        TakeBack(givenBack);
        Miss(units);
    }

    private void Push(uint piece, uint units)
    {
        Debug.Assert(piece >= FirstUnit && (ulong)piece + units <= UsedUnits,
            "a free piece is of the region, after its head");
        FreeUnits += units;
        Debug.Assert(FreeUnits <= UsedUnits, "no more is free than there is");
        if (PagesPiece == 0 || Pages.Give(piece, units)) FreePieces.Link(piece, units);
        else new FreeLinks(this).Link(piece, units);
    }

    private static uint UnitsFor(int bytes) => Math.Max(1, ((uint)bytes + UnitBytes - 1) / UnitBytes);

    private void Charge(long bytes)
    {
        Debug.Assert(bytes <= Field(0) && bytes >= (long)UsedUnits * UnitBytes, "what is used is charged");
        Interlocked.Add(ref *(long*)Field(16), bytes - Field(8));
        Field(8) = bytes;
    }
}

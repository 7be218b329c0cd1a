using System.Numerics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Kv.Storage;

//   0        8         16        24          32     36     40            48                280            448
//  +--------+---------+---------+-----------+------+------+-------------+-----------------+--------------+------- - - -
//  | bytes  | charged | counter | occupied  | used | free | noted 1 ... | free lists 58x4 | head of type | pieces ...
//  +--------+---------+---------+-----------+------+------+-------------+-----------------+--------------+------- - - -
//   bytes of the allocation (over 16 KB: of addresses, a run's, an extent's or its own); bytes charged to *counter (the budget's address);
//   one bit for each free list that is not empty; units handed out, units of those that are free again; whether it has been
//   noted as sparse
//
//  A piece is a whole number of units of 8 bytes, named by its first unit: 32 bits reach 32 GB, and stay right when the
//  region moves. A free piece:  | next free 4 | units 4 | ...      Lists 0 to 31: pieces of exactly 1 to 32 units;
//  list 32 + i: of over 32 << i, at most 64 << i units.
//
// Invariant: used and free are exact; a piece is free exactly when a list holds it.

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

    private const int FirstUnit = (HeadOffset + HeadBytes) / UnitBytes, ExactUnits = 32, ListsOffset = 48, Lists = 58;
    private const long FirstBytes = 1024, HeapBytesMax = 8 * 1024 - 64, ChargeStep = 16 * 1024;
    private const int TriesMax = 8;
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
    public long ChargedBytes => Field(8);

    /// <summary>Bytes of the pieces that are in use.</summary>
    public long UsedBytes => (long)(UsedUnits - FreeUnits) * UnitBytes;

    /// <summary>Bytes that have been used at some time: the system has given them.</summary>
    public long TouchedBytes => (long)UsedUnits * UnitBytes;

    /// <summary>Whether somebody knows that it is sparse.</summary>
    public ref bool IsNotedAsSparse => ref *(bool*)(Start + 40);

    private ref long Field(int offset) => ref *(long*)(Start + offset);
    private ref ulong Occupied => ref *(ulong*)(Start + 24);
    private ref uint UsedUnits => ref *(uint*)(Start + 32);
    private ref uint FreeUnits => ref *(uint*)(Start + 36);
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
        long size = Math.Max(isTight ? 0 : FirstBytes, RoundUp((FirstUnit * UnitBytes) + bytes));
        byte* start = Acquire(ref size);
        if (start == null) return default;
        NativeMemory.Clear(start, FirstUnit * UnitBytes);
        var region = new Region(start);
        region.Field(0) = size;
        region.Field(16) = (long)budget.BlockCounter;
        region.UsedUnits = FirstUnit;
        region.Charge(region.ChargeFor((FirstUnit * UnitBytes) + bytes));
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
        copy.IsNotedAsSparse = false;
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
        return true;
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
        uint behind = UsedUnits & 7;
        if (behind != 0)
        {
            UsedUnits += 8 - behind;
            Push(UsedUnits - (8 - behind), 8 - behind);
        }

        uint units = UnitsFor(bytes);
        return TryTakeFrom(ListOf(units), units, aligned: true, out uint piece) ? piece : Extend(units);
    }

    /// <summary>A piece of so many bytes, or one that is free and about as large, whole. For those who know how long theirs are.</summary>
    /// <param name="bytes">What was reserved; what the piece has.</param>
    /// <param name="least">A free one has no fewer than these,</param>
    /// <param name="most">and no more.</param>
    /// <remarks>So pieces of changing sizes are used again, and not cut into ever smaller ones.</remarks>
    public uint TakeAbout(ref int bytes, int least, int most)
    {
        uint units = UnitsFor(bytes), leastUnits = UnitsFor(least), mostUnits = UnitsFor(most), smaller = 0;
        if (FreeUnits > UsedUnits / 8)
        {
            for (int list = ListOf(leastUnits), last = ListOf(mostUnits); list <= last; list++)
            {
                uint piece = FreeLists[list];
                for (int tries = 0; piece != 0 && tries < TriesMax; tries++, piece = *(uint*)At(piece))
                {
                    uint size = ((uint*)At(piece))[1];
                    if (size > mostUnits || size < leastUnits) continue;
                    if (size >= units) return TakeWhole(list, piece, out bytes);
                    smaller = piece;
                }
            }

            if (smaller != 0) return TakeWhole(ListOf(((uint*)At(smaller))[1]), smaller, out bytes);
        }

        bytes = (int)units * UnitBytes;
        return Extend(units);
    }

    private uint TakeWhole(int list, uint piece, out int bytes)
    {
        uint* at = (uint*)At(piece);
        bytes = (int)at[1] * UnitBytes;
        uint before = FreeLists[list];
        if (before == piece) return Pop(list);
        // Ends: the piece is in the list, a few places on.
        while (*(uint*)At(before) != piece) before = *(uint*)At(before);
        *(uint*)At(before) = at[0];
        FreeUnits -= at[1];
        return piece;
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
        long free = 0;
        for (int list = 0; list < Lists; list++)
        {
            Require(FreeLists[list] != 0 == ((Occupied >> list & 1) != 0), $"the bit of free list {list} is wrong");
            for (uint piece = FreeLists[list]; piece != 0; piece = *(uint*)At(piece))
            {
                uint units = list < ExactUnits ? (uint)list + 1 : ((uint*)At(piece))[1];
                Require(piece >= FirstUnit && piece + units <= UsedUnits, $"free piece {piece} is outside of the region");
                Require(ListOf(units) == list, $"free piece {piece} of {units} units is in list {list}");
                free += units;
                Require(free <= UsedUnits, $"free list {list} has a cycle");
            }
        }

        Require(free == FreeUnits, $"{FreeUnits} units are counted free, the lists have {free}");
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private uint TakeSlow(uint units)
    {
        // Fresh memory first, while little is free: it is next to what was taken last.
        if (FreeUnits > UsedUnits / 8)
        {
            int list = ListOf(units);
            if (TryTakeFrom(list, units, aligned: false, out uint found)) return found;
            // A list whose pieces all are large enough.
            ulong larger = Occupied & ~((2UL << list) - 1);
            if (larger != 0) return Split(BitOperations.TrailingZeroCount(larger), units);
        }

        return Extend(units);
    }

    /// <summary>Looks among the first pieces of a list for one that will do, and takes it whole.</summary>
    /// <remarks>So what grows and shrinks by turns, as a table's segments do, takes again what it gave.</remarks>
    private bool TryTakeFrom(int list, uint units, bool aligned, out uint piece)
    {
        piece = FreeLists[list];
        uint before = 0;
        for (int tries = 0; piece != 0 && tries < TriesMax; tries++)
        {
            uint* at = (uint*)At(piece);
            // Exactly as large: its bytes are given back as so many.
            if (at[1] == units && (!aligned || (piece & 7) == 0))
            {
                if (before == 0) Pop(list);
                else
                {
                    *(uint*)At(before) = at[0];
                    FreeUnits -= units;
                }

                return true;
            }

            before = piece;
            piece = at[0];
        }

        return false;
    }

    private uint Extend(uint units)
    {
        uint piece = UsedUnits;
        Invariant.Check((long)(piece + units) * UnitBytes <= Field(8), "what is taken was reserved");
        UsedUnits += units;
        return piece;
    }

    private uint Split(int list, uint units)
    {
        uint piece = FreeLists[list];
        uint size = list < ExactUnits ? (uint)list + 1 : ((uint*)At(piece))[1];
        Pop(list);
        if (size > units) Push(piece + units, size - units);
        return piece;
    }

    private uint Pop(int list)
    {
        uint piece = FreeLists[list];
        uint* at = (uint*)At(piece);
        FreeLists[list] = at[0];
        if (at[0] == 0) Occupied &= ~(1UL << list);
        FreeUnits -= list < ExactUnits ? (uint)list + 1 : at[1];
        return piece;
    }

    private void Push(uint piece, uint units)
    {
        int list = ListOf(units);
        uint* at = (uint*)At(piece);
        at[0] = FreeLists[list];
        at[1] = units;
        FreeLists[list] = piece;
        Occupied |= 1UL << list;
        FreeUnits += units;
    }

    private static int ListOf(uint units) =>
        units <= ExactUnits ? (int)units - 1 : ExactUnits + BitOperations.Log2((units - 1) / ExactUnits);

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

using System.Diagnostics;
using System.Runtime.CompilerServices;

namespace Kv.Storage;

//   0         8          16        24          32        40           48         56      64
//  +---------+----------+---------+-----------+---------+------------+----------+-------+---------------- - - -
//  | length  | capacity | extent  | charged   | counter | references | prepared | spare | content ...
//  +---------+----------+---------+-----------+---------+------------+----------+-------+---------------- - - -
//   content bytes used; bytes it may grow to; bytes of the extent; bytes charged to *counter (the budget's address);
//   bytes of the extent, from its start, whose pages have been taken from the system
//
// Invariant: the record that holds a block owns one reference and gives it up only after an epoch has passed. So a
// reader inside of an epoch that found the block in a record may always add a reference: the count it adds to is not 0.

/// <summary>A handle of one large value in memory of its own: counted references, received and sent without a
/// copy.</summary>
/// <remarks>
/// Threads: the count is atomic. Content and length are written by the one that made the block before others know of
/// it, later only by the owner of the record's lock while the record's reference is the only one.
/// Cost: an extent of whole pages (<see cref="Extents"/>).
/// </remarks>
public readonly unsafe struct Block : IEquatable<Block>
{
    internal const int HeaderBytes = 64;

    private const int SpareWarmMax = 4096;

    private readonly byte* _start;

    internal Block(byte* start) => _start = start;

    /// <summary>True for a handle of nothing.</summary>
    public bool IsNone => _start == null;

    /// <summary>Bytes of content.</summary>
    public long Length => Field(0);

    /// <summary>Bytes that the content may grow to without moving.</summary>
    public long Capacity => Field(8);

    /// <summary>First byte of the content; stays put while a reference is held.</summary>
    public byte* Content => _start + HeaderBytes;

    /// <summary>The content, valid while a reference is held.</summary>
    public ReadOnlySpan<byte> Span => new(Content, (int)Length);

    internal byte* Start => _start;

    /// <summary>Bytes that its memory takes, spare and header too.</summary>
    internal long ExtentBytes => Field(16);

    /// <summary>True while the caller's reference is the only one.</summary>
    internal bool IsExclusive => Volatile.Read(ref References) == 1;

    private ref int References => ref Unsafe.AsRef<int>(_start + 40);

    /// <summary>Reserves memory for a value; null handle when the system refuses. One reference, the
    /// caller's.</summary>
    /// <param name="length">Bytes of content, undefined at first.</param>
    /// <param name="capacity">Bytes it may grow to in place.</param>
    /// <param name="budget">Where its bytes are charged.</param>
    /// <param name="isZeroed">Whether content and capacity are to be zeros at first.</param>
    /// <param name="isArriving">Whether the content is charged as it comes (<see cref="ChargeTo"/>), and not all of it
    /// now.</param>
    internal static Block Allocate(
        long length, long capacity, MemoryBudget budget, bool isZeroed = false, bool isArriving = false)
    {
        Debug.Assert(length >= 0 && capacity >= length, "the content fits");
        if (budget.RefusesAllocation()) return default;
        // What it may grow to is not charged, so it is not to have memory either.
        long bytes = HeaderBytes + capacity;
        byte* start = Extents.Shared.TryTake(ref bytes, isZeroed || capacity - length > SpareWarmMax, out bool isCold);
        if (start == null) return default;

        long* fields = (long*)start;
        fields[0] = length;
        fields[1] = bytes - HeaderBytes;
        fields[2] = bytes;
        fields[3] = 0;
        fields[4] = (long)budget.BlockCounter;
        *(int*)(start + 40) = 1;
        fields[6] = isCold ? 0 : bytes;
        var block = new Block(start);
        block.ChargeTo(isArriving ? 0 : length);
        return block;
    }

    /// <summary>Takes one more reference; the caller already has one, or reads it inside of an epoch.</summary>
    public void AddReference()
    {
        int references = Interlocked.Increment(ref References);
        Debug.Assert(references > 1, "a reference is added to one that there is");
    }

    /// <summary>Accounts for the first bytes of content only: for a value that is still arriving. Before others know of
    /// it.</summary>
    public void ChargeTo(long contentBytes)
    {
        Debug.Assert(contentBytes >= 0 && contentBytes <= Capacity, "no more is charged than the block can hold");
        long charge = Math.Min(ExtentBytes, contentBytes + HeaderBytes);
        long* fields = (long*)_start;
        Interlocked.Add(ref *(long*)fields[4], charge - fields[3]);
        fields[3] = charge;
    }

    /// <summary>Takes the pages of the first bytes of content from the system at once, where the block has not got them
    /// yet: taken one by one, as they are touched, they cost many times as much. For whoever is about to fill
    /// them.</summary>
    public void Prepare(long contentBytes)
    {
        Debug.Assert(contentBytes >= 0 && contentBytes <= Capacity, "what is prepared is of the block");
        long* fields = (long*)_start;
        long page = (long)VirtualMemory.PageBytes, from = fields[6] & -page,
            to = Math.Min((HeaderBytes + contentBytes + page - 1) & -page, ExtentBytes);
        if (to <= from) return;
        VirtualMemory.Populate(_start + from, (nuint)(to - from));      // if not, they come as they are touched
        fields[6] = to;
    }

    /// <summary>Gives the pages of the content to the system, but for the first, and is charged for no more: it keeps
    /// its length, and reads as zeros there. Before others know of it.</summary>
    public void GiveBackContent()
    {
        long page = (long)VirtualMemory.PageBytes;
        if (ExtentBytes <= page) return;
        VirtualMemory.GiveBack(_start + page, (nuint)(ExtentBytes - page));     // if not, they go with the block
        ((long*)_start)[6] = page;
        ChargeTo(0);
    }

    /// <summary>Bytes that the account is charged for this block now.</summary>
    internal long ChargedBytes => Field(24);

    internal void SetLength(long length)
    {
        Debug.Assert(length >= 0 && length <= Capacity, "the content fits");
        *(long*)_start = length;
        ChargeTo(length);
    }

    /// <summary>Gives up one reference.</summary>
    /// <returns>True when it was the last: the caller calls <see cref="Free"/>, at once or elsewhere.</returns>
    internal bool Release()
    {
        int left = Interlocked.Decrement(ref References);
        Debug.Assert(left >= 0, "a reference is given up once");
        return left == 0;
    }

    internal void Free()
    {
        Debug.Assert(Volatile.Read(ref References) == 0, "nobody refers to what is freed");
        long* fields = (long*)_start;
        Interlocked.Add(ref *(long*)fields[4], -fields[3]);
        Extents.Shared.Give(_start, ExtentBytes, ExtentBytes);
    }

    private long Field(int offset) => *(long*)(_start + offset);

    public bool Equals(Block other) => _start == other._start;
    public override bool Equals(object? other) => other is Block block && Equals(block);
    public override int GetHashCode() => ((nint)_start).GetHashCode();
    public static bool operator ==(Block left, Block right) => left.Equals(right);
    public static bool operator !=(Block left, Block right) => !left.Equals(right);
}

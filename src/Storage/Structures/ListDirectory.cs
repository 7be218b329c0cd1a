using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Runtime.Intrinsics;

namespace Kv.Storage;

//  head of the region:
//   0        8            16      20         24      28       32
//  +--------+------------+-------+----------+-------+--------+
//  | count  | leaf bytes | table | capacity | first | leaves |
//  +--------+------------+-------+----------+-------+--------+
//   elements of the list; bytes of its leaves
//
//  table, a piece of the region:     | spare | counts of the leaves 4 | spare | spare | names of the leaves 4 | spare |
//                                     0       first                            capacity + first
//
// Spare at both ends: a leaf more at either end moves nothing. A table without is recentred, or doubled when it is 3/4
// full.

/// <summary>Where the leaves of a large list are, and how many elements each has.</summary>
/// <remarks>
/// Counts stand by themselves so that they are added eight at a time: the leaf of an index among 1,000,000 elements of
/// 8 bytes, about 620 counts from the nearer end, is found in less than 100 ns.
/// Pointers and this view are void after a reservation.
/// </remarks>
internal readonly unsafe struct ListDirectory(Region region)
{
    private const int EntryBytes = 8, CapacityMin = 8, BlockCounts = 64;

    private readonly Region _region = region;

    [StructLayout(LayoutKind.Sequential)]
    private struct ListHead
    {
        public long Count, LeafBytes;
        public uint Table, Capacity, First, Leaves;
    }

    private ref ListHead Head => ref *(ListHead*)_region.Head;

    /// <summary>Elements of the list.</summary>
    public ref long Count => ref Head.Count;

    /// <summary>Bytes of all leaves that are in use.</summary>
    public ref long LeafBytes => ref Head.LeafBytes;

    /// <summary>How many leaves there are.</summary>
    public int Leaves => (int)Head.Leaves;

    /// <summary>How many elements each leaf has.</summary>
    public uint* Counts => (uint*)_region.At(Head.Table) + Head.First;

    /// <summary>Where each leaf is.</summary>
    public uint* Names => Counts + Head.Capacity;

    /// <summary>Bytes of the table itself.</summary>
    public int TableBytes => (int)Head.Capacity * EntryBytes;

    /// <summary>A leaf.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public ListLeaf Leaf(int index) => new(_region.At(Names[index]));

    /// <summary>Bytes that must be reserved before <paramref name="more"/> leaves are added.</summary>
    public static long ReserveBytes(Region region, long more)
    {
        Debug.Assert(more >= 0, "leaves are added");
        if (region.IsNone) return (long)CapacityFor(more) * EntryBytes;
        ref ListHead head = ref new ListDirectory(region).Head;
        return HasRoom(in head, more) ? 0 : (long)CapacityFor(head.Leaves + more) * EntryBytes;
    }

    /// <summary>Makes room for leaves, out of what was reserved.</summary>
    public void MakeRoom(long more)
    {
        Debug.Assert(more >= 0, "leaves are added");
        ref ListHead head = ref Head;
        if (HasRoom(in head, more)) return;
        uint capacity = CapacityFor(head.Leaves + more), first = (capacity - head.Leaves) / 2,
            table = _region.Take((int)capacity * EntryBytes);
        uint bytes = head.Leaves * sizeof(uint);
        if (head.Capacity != 0)
        {
            uint* to = (uint*)_region.At(table) + first;
            Unsafe.CopyBlockUnaligned(to, Counts, bytes);
            Unsafe.CopyBlockUnaligned(to + capacity, Names, bytes);
            _region.Give(head.Table, TableBytes);
        }

        (head.Table, head.Capacity, head.First) = (table, capacity, first);
    }

    /// <summary>Adds a leaf; there must be room.</summary>
    public void Insert(int index, uint name, int count)
    {
        ref ListHead head = ref Head;
        int leaves = Leaves;
        Debug.Assert((uint)index <= (uint)leaves && head.Leaves < head.Capacity, "there is room");
        bool moveLeft = index < leaves - index;
        if (head.First == 0 || head.First + head.Leaves == head.Capacity)
        {
            if (index == 0 || index == leaves) Recentre();
            else moveLeft = head.First != 0;
        }

        if (moveLeft)
        {
            head.First--;
            Move(1, 0, index);
        }
        else
        {
            Move(index, index + 1, leaves - index);
        }

        head.Leaves++;
        Counts[index] = (uint)count;
        Names[index] = name;
    }

    /// <summary>Takes leaves out.</summary>
    public void Remove(int index, int count)
    {
        ref ListHead head = ref Head;
        int behind = Leaves - index - count;
        Debug.Assert(index >= 0 && count >= 0 && behind >= 0, "there are as many");
        if (index < behind)
        {
            Move(0, count, index);
            head.First += (uint)count;
        }
        else
        {
            Move(index + count, index, behind);
        }

        head.Leaves -= (uint)count;
    }

    /// <summary>Takes out the leaves without elements.</summary>
    public void RemoveEmpty()
    {
        uint* counts = Counts, names = Names;
        int kept = 0, leaves = Leaves;
        for (int i = 0; i < leaves; i++)
        {
            if (counts[i] == 0) continue;
            counts[kept] = counts[i];
            names[kept++] = names[i];
        }

        Head.Leaves = (uint)kept;
    }

    /// <summary>Finds the leaf of an element.</summary>
    /// <param name="index">Of the element, from 0 to <see cref="Count"/> - 1.</param>
    /// <param name="offset">Its place in the leaf.</param>
    public int Find(long index, out int offset)
    {
        long count = Count;
        Debug.Assert((ulong)index < (ulong)count, "there is such an element");
        if (index < count / 2) return FindFromLeft(index, out offset);
        int leaf = FindFromRight(count - 1 - index, out long fromRight);
        offset = (int)((int)Counts[leaf] - 1 - fromRight);
        return leaf;
    }

    private int FindFromLeft(long index, out int offset)
    {
        uint* counts = Counts;
        int leaf = 0, leaves = Leaves;
        // Ends: the counts add up to more than the index.
        for (; leaf + BlockCounts <= leaves; leaf += BlockCounts)
        {
            long sum = Sum(counts + leaf);
            if (index < sum) break;
            index -= sum;
        }

        for (; index >= counts[leaf]; leaf++) index -= counts[leaf];
        offset = (int)index;
        return leaf;
    }

    private int FindFromRight(long index, out long offset)
    {
        uint* counts = Counts;
        int leaf = Leaves;
        for (; leaf >= BlockCounts; leaf -= BlockCounts)
        {
            long sum = Sum(counts + leaf - BlockCounts);
            if (index < sum) break;
            index -= sum;
        }

        leaf--;
        for (; index >= counts[leaf]; leaf--) index -= counts[leaf];
        offset = index;
        return leaf;
    }

    // A leaf has less than 2^15 elements: 64 of them add up to less than 2^32.
    private static uint Sum(uint* counts)
    {
        var sum = Vector256.Load(counts);
        for (int i = Vector256<uint>.Count; i < BlockCounts; i += Vector256<uint>.Count)
            sum += Vector256.Load(counts + i);
        return Vector256.Sum(sum);
    }

    private static bool HasRoom(in ListHead head, long more) => (head.Leaves + more) * 4 <= head.Capacity * 3L;

    // Half full with the leaves that are added: the next doubling is as many leaves away.
    private static uint CapacityFor(long leaves) => (uint)Math.Max(CapacityMin, leaves * 2);

    private void Recentre()
    {
        Debug.Assert(Head.Leaves < Head.Capacity, "there is a gap to move");
        ref ListHead head = ref Head;
        uint first = (head.Capacity - head.Leaves) / 2;
        Move(0, (int)first - (int)head.First, Leaves);
        head.First = first;
    }

    private void Move(int from, int to, int count)
    {
        long bytes = (long)count * sizeof(uint);
        uint* counts = Counts, names = Names;
        Buffer.MemoryCopy(counts + from, counts + to, bytes, bytes);
        Buffer.MemoryCopy(names + from, names + to, bytes, bytes);
    }
}

using System.Diagnostics;
using System.Runtime.CompilerServices;

namespace Kv.Storage;

/// <summary>A list of many leaves, in a region.</summary>
/// <remarks>
/// A leaf has 512 to 8,192 bytes, a multiple of 512. The one at an end that grows alone is the last piece of the
/// region: it is made small and lengthened where it is, so that hardly more than a 64th of the list is spare. Any other
/// is an eighth of the list, or as much as is being added, and stays as it is. A leaf that is made at the left is
/// reversed: pushing and popping at either end moves no bytes (lengthening, the slots). As long as its elements are
/// equally long a leaf has no slots. An element of over 1,024 bytes has a leaf of its own. A leaf without elements is
/// given back, neighbours that are sparse become one, and one in between that has much spare gives that back. One that
/// is full becomes a larger one, as long as there is one, and is divided then: so it stays about as large as what is in
/// it. Threads: the owner of the record's lock. Every change begins with a reservation; nothing fails after it.
/// Cost: push, pop: O(1). Index: a sum over the counts of leaves, then O(1). In the middle: as much as a leaf has.
/// </remarks>
internal readonly unsafe struct LargeList(Region region)
{
    /// <summary>Most bytes of a leaf, with its header.</summary>
    public const int LeafBytesMax = 8192;

    /// <summary>Most bytes of an element that shares a leaf.</summary>
    public const int SharedBytesMax = 1024;

    /// <summary>Where <see cref="EndRemoval"/> begins.</summary>
    public const int RemovalEnds = -1;

    private const int LeafStep = 512, EighthShift = 3, LastShift = 6, SparseBytes = LeafBytesMax / 2, SpareShift = 4,
        MuchSpareShift = 3;

    private readonly Region _region = region;

    private ListDirectory Directory => new(_region);

    public long Count => Directory.Count;

    public int Leaves => Directory.Leaves;

    /// <summary>The element at a place, from 0 to <see cref="Count"/> - 1.</summary>
    public ReadOnlySpan<byte> this[long index]
    {
        get
        {
            ListDirectory directory = Directory;
            int leaf = directory.Find(index, out int offset);
            return directory.Leaf(leaf)[offset];
        }
    }

    /// <summary>The leaf at a place.</summary>
    public ListLeaf Leaf(int index) => Directory.Leaf(index);

    /// <summary>Finds the leaf of an element.</summary>
    public int Find(long index, out int offset) => Directory.Find(index, out offset);

    /// <summary>Bytes that must be reserved before elements are pushed at an end.</summary>
    /// <param name="region">None: for a list that is made.</param>
    /// <param name="left">At which end.</param>
    public static long PushBytes(Region region, bool left, in ListPush push)
    {
        Debug.Assert(push.Count > 0 && push.Bytes <= push.Count * push.Longest,
            "the elements are as they were counted");
        long leafBytes = 0, tight = 0, lengthened = 0;
        if (!region.IsNone)
        {
            var list = new LargeList(region);
            bool hasEnd = list.TryEnd(left, out ListLeaf end);
            if (!push.HasAlone && hasEnd && MayPush(end, left, end.SizeFor(push))) return 0;
            leafBytes = list.Directory.LeafBytes;
            // After an element that is alone the first leaf has room for one element; the next leaf for the others, and
            // a step more for being one of several.
            if (hasEnd && end.IsAlone) tight = 4 * LeafStep;
            else if (hasEnd && !push.HasAlone && list.IsLastPiece(left))
            {
                lengthened = list.LastPieceBytes(end, left, push);
                if (!region.TakesPages(lengthened)) return lengthened;
            }
        }

        return Math.Max(lengthened, NewLeafBytes(region, push, leafBytes, tight));
    }

    /// <summary>Bytes that must be reserved where no leaf can be made longer.</summary>
    private static long NewLeafBytes(Region region, in ListPush push, long leafBytes, long tight)
    {
        // One leaf has room for all, or those before the last one are full but for an element.
        long size = push.NewLeafBytes;
        long last = Math.Min(LeafBytesMax,
            RoundUp(Math.Max(size + ListLeaf.HeaderBytes, (leafBytes + size + size) >> EighthShift)));
        if (push.Count == 1)
        {
            long piece = push.HasAlone ? Region.SizeOf(ListLeaf.HeaderBytes + push.Longest) : last;
            return piece + ListDirectory.ReserveBytes(region, 1);
        }

        if (!push.HasAlone)
        {
            if (size > LeafBytesMax - ListLeaf.HeaderBytes) last += size + (size / 6);
            return tight + last + (3 * ListDirectory.ReserveBytes(region, (size / 7000) + 3));
        }

        // Each is alone.
        if (push.IsUniform)
        {
            return tight + (push.Count * Region.SizeOf(ListLeaf.HeaderBytes + push.Longest))
                + (3 * ListDirectory.ReserveBytes(region, push.Count));
        }

        // Some are alone, and leaves between them no larger than an element needs: two neighbours have more than one
        // would hold, which is half of it but for its header (hence a 32nd more).
        long alone = Math.Min(push.Count, push.Bytes / SharedBytesMax), least = 3 * LeafStep;
        return tight + (2 * size) + (size / 32) + ((alone + 1) * (least + 24))
            + (3 * ListDirectory.ReserveBytes(region, (size / (LeafStep / 4)) + (2 * alone) + 2));
    }

    /// <summary>Puts an element at an end.</summary>
    /// <param name="left">Which end.</param>
    /// <param name="push">This element, and those that the same command still puts there: a new leaf has room for them,
    /// unless some of them will be alone.</param>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void Push(bool left, ReadOnlySpan<byte> element, in ListPush push)
    {
        ListDirectory directory = Directory;
        if (element.Length <= SharedBytesMax && TryEnd(left, out ListLeaf end)
            && MayPush(end, left, end.SizeFor(element.Length)))
        {
            end.Push(left, element);
            directory.Counts[left ? 0 : directory.Leaves - 1]++;
            directory.Count++;
            return;
        }

        PushSlow(left, element, push);
    }

    /// <summary>Puts one element at an end.</summary>
    public void Push(bool left, ReadOnlySpan<byte> element) => Push(left, element, new ListPush(element.Length));

    /// <summary>Counts elements that have been put into the last leaf.</summary>
    public void CountPushed(int count)
    {
        Debug.Assert(count >= 0 && Leaves != 0, "they are in a leaf");
        ListDirectory directory = Directory;
        directory.Counts[directory.Leaves - 1] += (uint)count;
        directory.Count += count;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private void PushSlow(bool left, ReadOnlySpan<byte> element, in ListPush push)
    {
        bool isLast = !push.HasAlone && IsLastPiece(left);
        if (isLast && TryLengthen(left, element, push)) return;
        Directory.MakeRoom(1);
        ListDirectory directory = Directory;
        uint name;
        if (element.Length > SharedBytesMax)
        {
            name = TakeAlone(element);
        }
        else
        {
            // Between elements that are alone a short one should not take a large leaf.
            bool isTight = push.HasAlone || (TryEnd(left, out ListLeaf end) && end.IsAlone);
            long wanted = (isTight ? new ListPush(element.Length) : push).NewLeafBytes,
                share = directory.LeafBytes >> (isLast ? LastShift : EighthShift);
            name = TakeLeaf(Math.Max(ListLeaf.HeaderBytes + wanted, isTight ? 0 : share), left);
            new ListLeaf(_region.At(name)).Push(left, element);
        }

        directory.Insert(left ? 0 : directory.Leaves, name, 1);
        directory.Count++;
    }

    /// <summary>Whether the leaf at an end is the last piece of the region: nothing has been taken since but for that
    /// end.</summary>
    private bool IsLastPiece(bool left)
    {
        ListDirectory directory = Directory;
        int leaves = directory.Leaves;
        if (leaves == 0) return false;
        uint name = directory.Names[left ? 0 : leaves - 1];
        return _region.IsLast(name, SizeOf(new ListLeaf(_region.At(name))));
    }

    /// <summary>What must be reserved when the leaf at an end is the region's last piece.</summary>
    private long LastPieceBytes(ListLeaf leaf, bool left, in ListPush push)
    {
        long more = Directory.LeafBytes >> LastShift, lengthened = 0, behind = push.NewLeafBytes;
        if (MayLengthen(leaf, left))
        {
            long claimed = leaf.ClaimedBytes + leaf.SizeFor(push);
            lengthened = Math.Min(LeafBytesMax, RoundUp(Math.Max(claimed, leaf.Capacity + more))) - leaf.Capacity;
            // It does not become longer than that: what it has no room for, at worst one element more, begins another
            // leaf.
            behind = claimed <= LeafBytesMax
                ? 0 : Math.Min(behind, claimed - LeafBytesMax + ListLeaf.SizeOf(push.Longest));
        }

        if (behind == 0) return lengthened;
        long size = push.NewLeafBytes;
        long other = Math.Min(LeafBytesMax,
            RoundUp(Math.Max(behind + ListLeaf.HeaderBytes, more + ((LeafBytesMax + size + size) >> LastShift))));
        if (behind > LeafBytesMax - ListLeaf.HeaderBytes) other += behind + (behind / 6);
        return lengthened + other + (3 * ListDirectory.ReserveBytes(_region, (behind / 7000) + 3));
    }

    /// <summary>Whether the leaf at an end that grows may become longer: not when much is free at its front, as in a
    /// queue's. Pushing does not change it.</summary>
    private static bool MayLengthen(ListLeaf leaf, bool left) =>
        !leaf.IsAlone && leaf.IsReversed == left && leaf.GoneBytes <= leaf.Capacity / 8;

    /// <summary>Makes the leaf at an end, the region's last piece, longer and puts an element there, if it may and
    /// would not be too long.</summary>
    private bool TryLengthen(bool left, ReadOnlySpan<byte> element, in ListPush push)
    {
        ListDirectory directory = Directory;
        int at = left ? 0 : directory.Leaves - 1;
        ListLeaf leaf = directory.Leaf(at);
        if (!MayLengthen(leaf, left)) return false;
        int claimed = leaf.ClaimedBytes, capacity = leaf.Capacity;
        if (claimed + leaf.SizeFor(element.Length) > LeafBytesMax) return false;
        int wider = (int)Math.Min(LeafBytesMax,
            RoundUp(claimed + Math.Max(leaf.SizeFor(push), directory.LeafBytes >> LastShift)));
        Debug.Assert(wider > capacity, "else it would have had room");
        _region.Lengthen(directory.Names[at], capacity, wider);
        leaf.Widen(wider);
        directory.LeafBytes += wider - capacity;
        leaf.Push(left, element);
        directory.Counts[at]++;
        directory.Count++;
        return true;
    }

    /// <summary>Bytes that must be reserved before an element is put at a place in between, or exchanged.</summary>
    public static long InsertBytes(Region region, int length) =>
        (length > SharedBytesMax ? Region.SizeOf(ListLeaf.HeaderBytes + length)
            : RoundUp(ListLeaf.HeaderBytes + ListLeaf.SizeOf(length)))
        + LeafBytesMax + ListDirectory.ReserveBytes(region, 3);

    /// <summary>Puts an element at a place, from 0 to <see cref="Count"/>.</summary>
    public void Insert(long index, ReadOnlySpan<byte> element)
    {
        Debug.Assert((ulong)index <= (ulong)Count, "it goes between elements of the list");
        if (index == 0 || index == Count)
        {
            Push(index == 0, element);
            return;
        }

        Directory.MakeRoom(3);
        ListDirectory directory = Directory;
        int at = directory.Find(index, out int offset);
        directory.Count++;
        if (element.Length > SharedBytesMax)
        {
            if (offset != 0) at = SplitAt(at, offset, 0) + 1;
            directory.Insert(at, TakeAlone(element), 1);
            return;
        }

        if (TryInsertAt(at, offset, element)
            || (offset == 0 && TryInsertAt(at - 1, (int)directory.Counts[at - 1], element))) return;
        if (TryEnlarge(at, element.Length) && TryInsertAt(at, offset, element)) return;
        if (offset != 0) at = SplitAt(at, offset, directory.Leaf(at).SizeFor(element.Length)) + 1;
        // The end of the leaf before is the same place. Neither has room where all would need slots.
        if (TryInsertAt(at - 1, (int)directory.Counts[at - 1], element) || TryInsertAt(at, 0, element)) return;
        uint name = TakeLeaf(ListLeaf.HeaderBytes + ListLeaf.SizeOf(element.Length), isReversed: true);
        new ListLeaf(_region.At(name)).Push(left: true, element);
        directory.Insert(at, name, 1);
    }

    /// <summary>Puts an element into a leaf, if it has room.</summary>
    private bool TryInsertAt(int at, int offset, ReadOnlySpan<byte> element)
    {
        ListLeaf leaf = Directory.Leaf(at);
        if (leaf.IsAlone || !leaf.Fits(leaf.SizeFor(element.Length))) return false;
        leaf.Insert(offset, element);
        Directory.Counts[at]++;
        return true;
    }

    /// <summary>Whether an element can be exchanged where it is.</summary>
    public bool CanReplace(long index, int length)
    {
        Debug.Assert(length >= 0, "an element has a length");
        ListLeaf leaf = Directory.Leaf(Directory.Find(index, out int offset));
        if (leaf.IsAlone)
            return Region.SizeOf(ListLeaf.HeaderBytes + leaf.Alone.Length) == Region.SizeOf(
                ListLeaf.HeaderBytes + length);
        return length <= SharedBytesMax && leaf.CanReplace(offset, length);
    }

    /// <summary>Exchanges an element.</summary>
    public void Replace(long index, ReadOnlySpan<byte> element)
    {
        if (CanReplace(index, element.Length))
        {
            int at = Directory.Find(index, out int offset);
            ListLeaf leaf = Directory.Leaf(at);
            if (leaf.IsAlone)
            {
                ListLeaf.WriteAlone(_region.At(Directory.Names[at]), element);
                return;
            }

            bool isShorter = element.Length < leaf[offset].Length;
            leaf.Replace(offset, element);
            if (isShorter) Refit(at);
            return;
        }

        int place = Directory.Find(index, out int old);
        if (element.Length <= SharedBytesMax && TryEnlarge(place, element.Length))
        {
            Directory.Leaf(place).Replace(old, element);
            return;
        }

        TakeOut(index, 1);
        Insert(index, element);
    }

    /// <summary>Takes elements out: whole leaves at once. Needs no memory.</summary>
    public void Remove(long index, long count)
    {
        if (count != 0) Refit(TakeOut(index, count));
    }

    /// <summary>Takes elements out, and the leaves that become empty.</summary>
    /// <returns>The leaf where they began, or the one that follows it now.</returns>
    private int TakeOut(long index, long count)
    {
        ListDirectory directory = Directory;
        Debug.Assert(count > 0 && index + count <= directory.Count, "there are as many");
        int at = directory.Find(index, out int offset), firstEmpty = -1, empty = 0;
        directory.Count -= count;
        for (int i = at; count != 0; i++, offset = 0)
        {
            int has = (int)directory.Counts[i], taken = (int)Math.Min(count, has - offset);
            count -= taken;
            if (taken == has)
            {
                if (empty++ == 0) firstEmpty = i;
                GiveLeaf(directory.Names[i]);
                continue;
            }

            directory.Leaf(i).Remove(offset, taken);
            directory.Counts[i] -= (uint)taken;
        }

        if (empty != 0) directory.Remove(firstEmpty, empty);
        return at;
    }

    /// <summary>Has a leaf that has lost some of its bytes take no more than it needs. No reservation is open: it may
    /// take a leaf.</summary>
    private void Refit(int at)
    {
        ListDirectory directory = Directory;
        // At the ends a leaf is soon empty, or filled again.
        if (at <= 0 || at >= directory.Leaves - 1) return;
        if (!TryJoin(at)) TryJoin(at - 1);
        if (directory.Counts[at] == 0) directory.Remove(at, 1);
        else if (directory.Counts[at + 1] == 0) directory.Remove(at + 1, 1);
        else if (directory.Counts[at - 1] == 0) directory.Remove(at - 1, 1);
        else Shrink(at);
    }

    /// <summary>Gives back what a leaf has spare, if that is much.</summary>
    private void Shrink(int at)
    {
        Debug.Assert((uint)at < (uint)Leaves, "there is such a leaf");
        ListDirectory directory = Directory;
        ListLeaf leaf = directory.Leaf(at);
        if (leaf.IsAlone || leaf.Count == 0) return;
        int old = leaf.Capacity, capacity = (int)SizeWithSpare(leaf.UsedBytes);
        if (old - capacity < Math.Max(LeafStep, old >> MuchSpareShift)) return;
        uint name = directory.Names[at];
        bool isLast = _region.IsLast(name, old);
        Debug.Assert(capacity < old, "it becomes shorter");
        leaf.Narrow(capacity);
        directory.LeafBytes -= old - capacity;
        if (isLast) _region.Shorten(name, old, capacity);
        else _region.Give(name + ((uint)capacity / Region.UnitBytes), old - capacity);
    }

    /// <summary>Has a leaf that has no room for an element become a larger one, if there is one. It takes what was
    /// reserved.</summary>
    private bool TryEnlarge(int at, int length)
    {
        ListDirectory directory = Directory;
        ListLeaf leaf = directory.Leaf(at);
        if (leaf.IsAlone) return false;
        int wanted = leaf.UsedBytes + leaf.SizeFor(length);
        if (ListLeaf.HeaderBytes + wanted > LeafBytesMax) return false;
        uint old = directory.Names[at], name = TakeLeaf(SizeWithSpare(wanted), leaf.IsReversed);
        leaf.Split(leaf.IsReversed ? leaf.Count : 0, new ListLeaf(_region.At(name)));
        directory.Names[at] = name;
        GiveLeaf(old);
        return true;
    }

    private static long SizeWithSpare(int bytes) =>
        Math.Min(LeafBytesMax, RoundUp(ListLeaf.HeaderBytes + bytes + (bytes >> SpareShift)));

    /// <summary>Takes out elements that equal one.</summary>
    /// <inheritdoc cref="ListLeaf.RemoveEqual"/>
    public long RemoveEqual(ReadOnlySpan<byte> element, long most, bool fromRight)
    {
        int at = 0;
        long removed = RemoveEqual(element, most, fromRight, ref at, int.MaxValue);
        if (removed == 0) return 0;
        at = RemovalEnds;
        EndRemoval(ref at, int.MaxValue);
        return removed;
    }

    /// <summary>Takes out elements of some leaves that equal one. Leaves that become empty stay for <see
    /// cref="EndRemoval"/> to take out; nothing else is done before.</summary>
    /// <param name="first">How many leaves have been looked at, from the end where it begins.</param>
    /// <param name="leavesMost">At most this many leaves are looked at.</param>
    public long RemoveEqual(ReadOnlySpan<byte> element, long most, bool fromRight, ref int first, int leavesMost)
    {
        Debug.Assert(most > 0 && first >= 0 && leavesMost > 0, "each call looks at a leaf");
        ListDirectory directory = Directory;
        long left = most;
        int leaves = directory.Leaves, end = (int)Math.Min(leaves, (long)first + leavesMost);
        for (; first < end && left != 0; first++)
        {
            int i = first, at = fromRight ? leaves - 1 - i : i;
            ListLeaf leaf = directory.Leaf(at);
            int removed = !leaf.IsAlone ? leaf.RemoveEqual(element, left, fromRight)
                : leaf.Alone.SequenceEqual(element) ? 1 : 0;
            left -= removed;
            directory.Counts[at] -= (uint)removed;
            if (directory.Counts[at] == 0) GiveLeaf(directory.Names[at]);
        }

        directory.Count -= most - left;
        return most - left;
    }

    /// <summary>Takes out the leaves that have become empty, and joins sparse neighbours.</summary>
    /// <param name="at"><see cref="RemovalEnds"/> to begin; then which leaf is looked at next.</param>
    /// <param name="leavesMost">At most this many leaves are looked at.</param>
    /// <returns>True when it has ended.</returns>
    public bool EndRemoval(ref int at, int leavesMost)
    {
        Debug.Assert(leavesMost > 0 && at < Math.Max(1, Leaves), "the removal goes on where it ended");
        ListDirectory directory = Directory;
        if (at < 0)
        {
            directory.RemoveEmpty();
            at = Math.Max(0, directory.Leaves - 1);
        }

        // Ends: from the last leaf to the first.
        for (; at > 0 && leavesMost > 0; at--, leavesMost--)
            if (!TryJoin(at - 1) && at < directory.Leaves - 1 && directory.Counts[at] != 0) Shrink(at);
        if (at > 0) return false;
        directory.RemoveEmpty();
        return true;
    }

    /// <summary>Counts the elements from <paramref name="index"/> on, to the end of its leaf and of <paramref
    /// name="leaves"/> - 1 more.</summary>
    /// <param name="backwards">From the place towards the first.</param>
    public long CountIn(long index, int leaves, bool backwards)
    {
        Debug.Assert(leaves > 0, "at least the leaf of the element");
        ListDirectory directory = Directory;
        int at = directory.Find(index, out int offset);
        long count = backwards ? offset + 1 : directory.Counts[at] - (long)offset;
        for (int i = backwards ? at - 1 : at + 1; leaves > 1 && (uint)i < (uint)directory.Leaves;
            i += backwards ? -1 : 1, leaves--) count += directory.Counts[i];
        return count;
    }

    /// <summary>Begins a list in an empty region.</summary>
    public void Begin(long leaves) => Directory.MakeRoom(leaves);

    /// <summary>Bytes that all elements take in a leaf with slots, when there are few leaves.</summary>
    public int UsedBytes()
    {
        int used = 0;
        for (int i = 0, leaves = Leaves; i < leaves; i++)
            used += Leaf(i).IsAlone ? ListLeaf.SizeOf(Leaf(i).Alone.Length) : Leaf(i).SlottedBytes;
        return used;
    }

    /// <summary>Walks everything and throws, with what is wrong. For tests.</summary>
    public void Check()
    {
        ListDirectory directory = Directory;
        long count = 0, bytes = 0, pieces = Region.SizeOf(directory.TableBytes);
        for (int i = 0; i < directory.Leaves; i++)
        {
            ListLeaf leaf = directory.Leaf(i);
            int has = leaf.IsAlone ? 1 : leaf.Count, size = SizeOf(leaf);
            Require(has != 0 && has == directory.Counts[i],
                $"leaf {i} has {has} elements, the directory says {directory.Counts[i]}");
            if (!leaf.IsAlone)
            {
                Require(size % LeafStep == 0 && size <= LeafBytesMax, $"leaf {i} has {size} bytes");
                leaf.Check();
            }

            count += has;
            bytes += size;
        }

        Require(count == directory.Count, $"leaves have {count} elements, the list {directory.Count}");
        Require(bytes == directory.LeafBytes, $"leaves have {bytes} bytes, {directory.LeafBytes} are counted");
        Require(pieces + bytes == _region.UsedBytes - FixedBytes,
            $"leaves and table have {pieces + bytes} bytes, {_region.UsedBytes} are used");
    }

    private const int FixedBytes = Region.HeadOffset + Region.HeadBytes;

    private static void Require(bool holds, string what)
    {
        if (!holds) throw new InvalidOperationException($"A list is damaged: {what}.");
    }

    private static long RoundUp(long bytes) => (bytes + LeafStep - 1) / LeafStep * LeafStep;

    private static int SizeOf(ListLeaf leaf) =>
        leaf.IsAlone ? Region.SizeOf(ListLeaf.HeaderBytes + leaf.Alone.Length) : leaf.Capacity;

    private bool TryEnd(bool left, out ListLeaf leaf)
    {
        ListDirectory directory = Directory;
        int leaves = directory.Leaves;
        leaf = leaves == 0 ? default : directory.Leaf(left ? 0 : leaves - 1);
        return leaves != 0;
    }

    /// <summary>Whether elements go to the leaf at an end, rather than to a new one: where that moves little.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static bool MayPush(ListLeaf leaf, bool left, long size)
    {
        if (leaf.IsAlone) return false;
        if (leaf.IsReversed == left && leaf.CanAppend(size)) return true;
        return leaf.UsedBytes + size <= Math.Min(LeafStep, leaf.Capacity / 2);
    }

    /// <summary>Divides a leaf, and makes room in the part that moves for an element.</summary>
    /// <returns>Where the left part is.</returns>
    private int SplitAt(int at, int offset, int size)
    {
        Debug.Assert(offset > 0 && offset < Directory.Counts[at], "both parts have elements");
        ListDirectory directory = Directory;
        ListLeaf leaf = directory.Leaf(at);
        int has = (int)directory.Counts[at], moved = leaf.BytesBehind(offset);
        bool isReversed = leaf.IsReversed;
        uint name = TakeLeaf(ListLeaf.HeaderBytes + moved + Math.Max(size, moved >> SpareShift), isReversed);
        leaf.Split(offset, new ListLeaf(_region.At(name)));
        int left = offset, right = has - offset;
        directory.Insert(isReversed ? at : at + 1, name, isReversed ? left : right);
        int kept = isReversed ? at + 1 : at;
        directory.Counts[kept] = (uint)(isReversed ? right : left);
        if (kept != 0 && kept != directory.Leaves - 1) Shrink(kept);
        return at;
    }

    /// <summary>Moves the elements of one of two neighbours to the other, if both are sparse. Leaves an empty one to be
    /// taken out.</summary>
    private bool TryJoin(int at)
    {
        ListDirectory directory = Directory;
        if (at < 0 || at + 1 >= directory.Leaves || directory.Counts[at] == 0 || directory.Counts[at + 1] == 0)
            return false;
        ListLeaf left = directory.Leaf(at), right = directory.Leaf(at + 1);
        if (left.IsAlone || right.IsAlone || left.SlottedBytes + right.SlottedBytes > SparseBytes) return false;
        // With a slot for each, whatever their widths.
        int size = left.SlottedBytes + right.SlottedBytes;
        if (!left.IsReversed && size <= left.Capacity - ListLeaf.HeaderBytes)
        {
            for (int i = 0, count = right.Count; i < count; i++) left.Push(left: false, right[i]);
            Move(at + 1, at);
        }
        else if (right.IsReversed && size <= right.Capacity - ListLeaf.HeaderBytes)
        {
            for (int i = left.Count - 1; i >= 0; i--) right.Push(left: true, left[i]);
            Move(at, at + 1);
        }
        else if (_region.CanTake(LeafBytesMax))
        {
            uint name = TakeLeaf(SizeWithSpare(size), isReversed: false);
            var joined = new ListLeaf(_region.At(name));
            for (int i = 0, count = left.Count; i < count; i++) joined.Push(left: false, left[i]);
            for (int i = 0, count = right.Count; i < count; i++) joined.Push(left: false, right[i]);
            GiveLeaf(directory.Names[at]);
            directory.Names[at] = name;
            Move(at + 1, at);
        }
        else
        {
            return false;
        }

        return true;
    }

    private void Move(int from, int to)
    {
        Debug.Assert(Math.Abs(from - to) == 1, "neighbours become one");
        ListDirectory directory = Directory;
        directory.Counts[to] += directory.Counts[from];
        directory.Counts[from] = 0;
        GiveLeaf(directory.Names[from]);
    }

    /// <summary>Moves leaves out of pages that are to be emptied.</summary>
    /// <param name="leaf">The leaf that is next; goes up.</param>
    /// <param name="most">At most this many leaves.</param>
    /// <returns>False when the mover has not enough reserved.</returns>
    public bool MoveLeaves(ref PieceMover mover, ref ulong leaf, int most)
    {
        ListDirectory directory = Directory;
        for (; (long)leaf < directory.Leaves && most > 0; leaf++, most--)
        {
            ref uint name = ref directory.Names[(int)leaf];
            if (!mover.TryMove(ref name, SizeOf(new ListLeaf(_region.At(name))))) return false;
        }

        return true;
    }

    private uint TakeAlone(ReadOnlySpan<byte> element)
    {
        Debug.Assert(element.Length > SharedBytesMax, "a short element shares a leaf");
        uint name = _region.Take(ListLeaf.HeaderBytes + element.Length);
        ListLeaf.WriteAlone(_region.At(name), element);
        Directory.LeafBytes += Region.SizeOf(ListLeaf.HeaderBytes + element.Length);
        return name;
    }

    private uint TakeLeaf(long bytes, bool isReversed)
    {
        Debug.Assert(bytes >= ListLeaf.HeaderBytes, "a leaf has room for its header");
        ListDirectory directory = Directory;
        int size = (int)Math.Min(LeafBytesMax, RoundUp(bytes));
        uint name = _region.Take(size);
        ListLeaf.Begin(_region.At(name), size, isReversed, mayBeUniform: true);
        directory.LeafBytes += size;
        return name;
    }

    private void GiveLeaf(uint name)
    {
        ListDirectory directory = Directory;
        var leaf = new ListLeaf(_region.At(name));
        int size = SizeOf(leaf);
        directory.LeafBytes -= size;
        Debug.Assert(directory.LeafBytes >= 0, "it was counted");
        _region.Give(name, size);
    }
}

using System.Diagnostics;
using System.Runtime.CompilerServices;

namespace Kv.Storage;

/// <summary>Changes the list of a held key.</summary>
/// <remarks>Reserve, change, then <see cref="Settle"/>, once for the whole command.</remarks>
internal unsafe ref struct ListValue(HeldValue value)
{
    private readonly HeldValue _value = value;

    // What the command still pushes, for the leaves of a large list.
    private ListPush _push;

    /// <summary>What is still pushed of a reservation, to go on with in another turn.</summary>
    public ListPush Pending
    {
        readonly get => _push;
        init => _push = value;
    }

    /// <summary>For reading, until the next change.</summary>
    public readonly ListView View => new(_value.View);

    /// <summary>Elements of the list, 0 of a key without a value.</summary>
    public readonly long Count => _value.Exists ? View.Count : 0;

    /// <summary>Bytes that Redis' listpack would have beyond an empty one; of a packed list.</summary>
    public readonly int ListpackBytes => Leaf.ListpackBytes;

    private readonly bool IsPacked => _value.Kind == ValueKind.PackedList;

    private readonly ListLeaf Leaf => new(_value.Content);

    private readonly LargeList Large => new(_value.Region);

    /// <summary>What a new key's record needs, for <see cref="StoreSession.Hold(in Key, DataType, int)"/>.</summary>
    public static int ExpectedBytes(PackedLimits limits, in ListPush push)
    {
        long all = ListLeaf.HeaderBytes + push.SlottedBytes;
        bool isLarge = all > ListLeaf.BytesMax
            || ListpackRule.IsTooLarge(limits.ListSize, ListpackRule.EmptyBytes + push.Bytes, push.Count);
        return isLarge ? sizeof(long) : (int)all;
    }

    /// <summary>Makes room for elements at an end: all that can fail.</summary>
    /// <param name="left">Which end.</param>
    /// <returns>False when there is no memory: nothing was changed.</returns>
    public bool TryReservePush(bool left, in ListPush push)
    {
        Debug.Assert(push.Count > 0, "something is to be pushed");
        _push = push;
        if (!_value.Exists || IsPacked)
        {
            if (MayStayPacked(push)) return TryReservePacked(push.SlottedBytes, left);
            if (!TryUnpack(left, push)) return false;
        }

        return _value.TryReserve(LargeList.PushBytes(_value.Region, left, push));
    }

    /// <summary>Puts an element at an end.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void Push(bool left, scoped ReadOnlySpan<byte> element)
    {
        Debug.Assert(IsPacked || (_push.Count > 0 && _push.Bytes >= element.Length),
            "no more is pushed than was reserved");
        if (IsPacked)
        {
            ListLeaf leaf = Leaf;
            leaf.Push(left, element);
            leaf.ListpackBytes += ListpackRule.SizeOf(element);
            return;
        }

        Large.Push(left, element, _push);
        _push = _push.Behind(element.Length);
    }

    /// <summary>Ends a change that only pushed: what was reserved for the worst case is given up.</summary>
    public readonly void EndPush()
    {
        // As much as one page stays, which leaves that come and go take again.
        const int pageBytes = 4096, part = 5;
        if (!IsPacked) _value.Region.EndReservation(pageBytes, part);
    }

    /// <summary>Makes room for an element at a place in between.</summary>
    /// <inheritdoc cref="TryReservePush"/>
    public readonly bool TryReserveInsert(int length)
    {
        if (IsPacked)
        {
            if (MayStayPacked(new ListPush(length))) return TryReservePacked(ListLeaf.SizeOf(length), left: false);
            if (!TryUnpack(left: false, default)) return false;
        }

        return _value.TryReserve(LargeList.InsertBytes(_value.Region, length));
    }

    /// <summary>Puts an element at a place, before those from there on.</summary>
    public readonly void Insert(long index, ReadOnlySpan<byte> element)
    {
        Debug.Assert((ulong)index <= (ulong)Count, "it goes between elements of the list");
        if (!IsPacked)
        {
            Large.Insert(index, element);
            return;
        }

        ListLeaf leaf = Leaf;
        leaf.Insert((int)index, element);
        leaf.ListpackBytes += ListpackRule.SizeOf(element);
    }

    /// <summary>Makes room for an element in the place of another.</summary>
    /// <inheritdoc cref="TryReservePush"/>
    public readonly bool TryReserveReplace(long index, int length)
    {
        Debug.Assert((ulong)index < (ulong)Count, "there is such an element");
        if (IsPacked)
        {
            if (MayStayPacked(new ListPush(length)))
                return TryReservePacked(Math.Max(0, length - Leaf[(int)index].Length), left: false);
            if (!TryUnpack(left: false, default)) return false;
        }

        return _value.TryReserve(Large.CanReplace(index, length) ? 0 : LargeList.InsertBytes(_value.Region, length));
    }

    /// <summary>Exchanges an element.</summary>
    public readonly void Replace(long index, ReadOnlySpan<byte> element)
    {
        Debug.Assert((ulong)index < (ulong)Count, "there is such an element");
        if (!IsPacked)
        {
            Large.Replace(index, element);
            return;
        }

        ListLeaf leaf = Leaf;
        int listpack = leaf.ListpackBytes - ListpackRule.SizeOf(leaf[(int)index]) + ListpackRule.SizeOf(element);
        leaf.Replace((int)index, element);
        leaf.ListpackBytes = listpack;
    }

    /// <summary>Takes elements out. Begin with <see cref="HeldValue.BeginChange"/>; needs no memory.</summary>
    public readonly void Remove(long index, long count)
    {
        Debug.Assert(index >= 0 && count > 0 && index + count <= Count, "there are such elements");
        if (!IsPacked)
        {
            Large.Remove(index, count);
            return;
        }

        ListLeaf leaf = Leaf;
        int listpack = leaf.ListpackBytes;
        for (int i = 0; i < count; i++) listpack -= ListpackRule.SizeOf(leaf[(int)index + i]);
        leaf.Remove((int)index, (int)count);
        leaf.ListpackBytes = Math.Max(0, listpack);
    }

    /// <summary>Takes out the element at an end: a whole change. A list without another is deleted.</summary>
    public readonly void RemoveEnd(bool left)
    {
        Debug.Assert(Count > 0, "there is an element to take");
        _value.BeginChange();
        long has = Count;
        if (has == 1)
        {
            _value.Delete();
            return;
        }

        Remove(left ? 0 : has - 1, 1);
        Settle();
    }

    /// <summary>Takes out elements that equal one; changes nothing when there are none. Needs no memory.</summary>
    /// <param name="most">How many at most.</param>
    /// <param name="fromRight">Begin with the last.</param>
    /// <returns>How many there were.</returns>
    public readonly long RemoveEqual(ReadOnlySpan<byte> element, long most, bool fromRight)
    {
        Debug.Assert(most > 0, "some are to be removed");
        if (!IsPacked)
        {
            // Nobody reads a large one without the lock: noted afterwards.
            _value.KeepForSnapshot();
            long all = Large.RemoveEqual(element, most, fromRight);
            if (all != 0) _value.BeginChange();
            return all;
        }

        var walk = View.GetWalk();
        bool isThere = false;
        while (!isThere && walk.Next(out ReadOnlySpan<byte> next)) isThere = next.SequenceEqual(element);
        if (!isThere) return 0;
        _value.BeginChange();
        ListLeaf leaf = Leaf;
        int removed = leaf.RemoveEqual(element, most, fromRight);
        leaf.ListpackBytes = Math.Max(0, leaf.ListpackBytes - (removed * ListpackRule.SizeOf(element)));
        return removed;
    }

    /// <summary>Takes out elements of a large list that equal one, looking into some of its leaves.</summary>
    /// <inheritdoc cref="LargeList.RemoveEqual(ReadOnlySpan{byte}, long, bool, ref int, int)"/>
    public readonly long RemoveEqual(ReadOnlySpan<byte> element, long most, bool fromRight, ref int first,
        int leavesMost)
    {
        _value.KeepForSnapshot();
        long removed = Large.RemoveEqual(element, most, fromRight, ref first, leavesMost);
        if (removed != 0) _value.BeginChange();
        return removed;
    }

    /// <inheritdoc cref="LargeList.EndRemoval"/>
    public readonly bool EndRemoval(ref int at, int leavesMost) => Large.EndRemoval(ref at, leavesMost);

    /// <summary>How many leaves a large list has; 0: it is in its record.</summary>
    public readonly int Leaves => _value.Exists && !IsPacked ? Large.Leaves : 0;

    /// <summary>Counts the elements of a large list from a place on, to the end of its leaf and of <paramref
    /// name="leaves"/> - 1 more.</summary>
    /// <param name="backwards">From the place towards the first.</param>
    public readonly long CountIn(long index, int leaves, bool backwards = false) =>
        Large.CountIn(index, leaves, backwards);

    /// <summary>Ends a change: an empty list is deleted, one that has become short is packed (if there is memory; else
    /// next time).</summary>
    public readonly void Settle()
    {
        if (!_value.Exists) return;
        if (Count == 0) _value.Delete();
        else if (!IsPacked && Large.Leaves <= 2 && TryPackIfSmall()) return;
        else _value.TidyRegion();
    }

    private readonly bool MayStayPacked(in ListPush push)
    {
        long has = Count, used = _value.Exists ? Leaf.UsedBytes : 0;
        if (ListLeaf.HeaderBytes + used + push.SlottedBytes > ListLeaf.BytesMax) return false;
        return !ListpackRule.IsTooLarge(_value.Limits.ListSize,
            ListpackRule.EmptyBytes + (_value.Exists ? Leaf.ListpackBytes : 0) + push.Bytes, has + push.Count);
    }

    private readonly bool TryReservePacked(long size, bool left)
    {
        Debug.Assert(size is >= 0 and <= ListLeaf.BytesMax, "a packed list has room for it");
        bool isNew = !_value.Exists;
        int wanted = ListLeaf.HeaderBytes + (int)size;
        if (!isNew)
        {
            ListLeaf leaf = Leaf;
            // What others left in front is used again when it is much: moving everything for a byte or two would be
            // slow.
            wanted = leaf.CanAppend(size) || leaf.Fits(size + (leaf.Capacity / 8)) ? leaf.Capacity
                : (int)Math.Min(leaf.ClaimedBytes + size, Math.Max(ListLeaf.BytesMax, leaf.Capacity));
        }

        if (!_value.TryReserveBytes(ValueKind.PackedList, wanted)) return false;
        int room = Math.Min(_value.Bytes.Length, ListLeaf.BytesMax);
        if (isNew) ListLeaf.Begin(_value.Content, room, left);
        else if (Leaf.Capacity < room) Leaf.Widen(room);
        return true;
    }

    /// <summary>Makes a packed list, or none, a large one.</summary>
    /// <param name="push">What will be pushed then.</param>
    private readonly bool TryUnpack(bool left, in ListPush push)
    {
        int has = (int)Count;
        ListLeaf leaf = has == 0 ? default : Leaf;
        int longest = 0;
        for (int i = 0; i < has; i++) longest = Math.Max(longest, leaf[i].Length);
        long bytes = has == 0 ? 0 : leaf.SlottedBytes - (has * (long)ListLeaf.SlotBytes);
        var now = new ListPush(has, bytes, longest);
        long pieces = (has == 0 ? 0 : LargeList.PushBytes(default, left, now))
            + (push.Count == 0 ? 0 : LargeList.PushBytes(default, left, push));
        Region region = Region.Create(_value.Budget, pieces);
        if (region.IsNone) return false;
        var list = new LargeList(region);
        // In the order in which they would have come, so that the leaves grow where the next ones come.
        for (int i = 0; i < has; i++)
        {
            ReadOnlySpan<byte> element = leaf[left ? has - 1 - i : i];
            list.Push(left, element, now);
            now = now.Behind(element.Length);
        }

        if (!_value.Exists && !_value.TryReserveBytes(ValueKind.PackedList, sizeof(long)))
        {
            region.Free();
            return false;
        }

        return _value.TryBecome(ValueKind.List, region);
    }

    private readonly bool TryPackIfSmall()
    {
        LargeList list = Large;
        int used = list.UsedBytes(), count = (int)Math.Min(list.Count, int.MaxValue);
        if (ListLeaf.HeaderBytes + used > LargeList.LeafBytesMax
            || !ListpackRule.IsSmall(_value.Limits.ListSize, ListpackRule.EmptyBytes + used, count)) return false;
        byte* copy = stackalloc byte[ListLeaf.HeaderBytes + used];
        ListLeaf leaf = ListLeaf.Begin(copy, ListLeaf.HeaderBytes + used, list.Leaf(0).IsReversed);
        var walk = View.GetWalk(leaf.IsReversed ? count - 1 : 0, backwards: leaf.IsReversed);
        int listpack = 0;
        while (walk.Next(out ReadOnlySpan<byte> element))
        {
            leaf.Push(leaf.IsReversed, element);
            listpack += ListpackRule.SizeOf(element);
        }

        leaf.ListpackBytes = listpack;
        if (!_value.TryReserveBytes(ValueKind.PackedList, leaf.Capacity)) return false;
        int room = Math.Min(_value.Bytes.Length, ListLeaf.BytesMax);
        Buffer.MemoryCopy(copy, _value.Content, room, leaf.Capacity);
        Leaf.Widen(room);
        return true;
    }
}

using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Runtime.Intrinsics;

namespace Kv.Storage;

//   0          2       4                                 6          8
//  +----------+-------+---------------------------------+----------+---------+---------+- - - - -+-------+-------+
//  | capacity | slots | reversed 1, uniform 1, first 14 | listpack | element | element |  spare  | end 1 | end 0 |
//  +----------+-------+---------------------------------+----------+---------+---------+- - - - -+-------+-------+
//   capacity   bytes of all this
//   slots      how many are in use: 2 bytes each, from the end on; each has where its element ends, from byte 8
//   element    bytes, one after another, nothing in between
//   first      slots at the front whose elements are gone; their bytes are free, too
//   reversed   the elements are in the order of the list from the last to the first
//   listpack   of a list in a record: bytes that Redis' listpack would have; OBJECT ENCODING goes by them
//
//  In a region only:
//   uniform: | capacity | slots | 1 ... | width | element | element | spare |    all elements are as long as width
//                                                                                (not 0); there are no slots
//   alone:   | 0 (2) | spare 2 | length 4 | the element |                        an element with a leaf of its own
//
// A list is small as long as it is one leaf, in its record. A large one is many, in its region (LargeList).

/// <summary>A piece of a list: elements with a table of where they end. The element at any place, and both ends, in
/// O(1).</summary>
/// <remarks>
/// A view of bytes. For a reader without the lock they may be torn: such a reader uses <see cref="TryGet"/> and <see
/// cref="CountIn"/> only. Changes are for the owner of the lock. What is added at the end that grows is appended
/// (LPUSH: the leaf is reversed); at the other end, or in between, bytes are moved, as in any array.
/// Cost: an element has 2 bytes beside its own, where all are equally long none.
/// </remarks>
internal readonly unsafe struct ListLeaf(byte* start)
{
    public const int HeaderBytes = 8, SlotBytes = 2;

    /// <summary>Most bytes of a leaf: ends must fit in 16 bits.</summary>
    public const int BytesMax = 65528;

    private const ushort Reversed = 0x8000, Uniform = 0x4000;
    private const int FirstMax = 0x3FFF;

    private readonly byte* _start = start;

    /// <summary>Bytes of the whole leaf.</summary>
    public int Capacity => Word(0);

    /// <summary>How many elements there are.</summary>
    public int Count => Slots - First;

    /// <summary>Whether what is put at the left end is appended, rather than at the right.</summary>
    public bool IsReversed => (Word(4) & Reversed) != 0;

    /// <summary>Whether it is one element that has a leaf of its own.</summary>
    public bool IsAlone => Word(0) == 0;

    /// <summary>The element of a leaf that <see cref="IsAlone"/>.</summary>
    public Span<byte> Alone => new(_start + HeaderBytes, Unsafe.ReadUnaligned<int>(_start + 4));

    /// <summary>Bytes that the elements take, slots included.</summary>
    public int UsedBytes => IsUniform ? DataBytes : SlottedBytes;

    /// <summary>Bytes that the elements take if each has a slot.</summary>
    public int SlottedBytes => DataBytes + (Count * SlotBytes);

    /// <summary>Bytes in front of the elements, and slots, whose elements are gone.</summary>
    public int GoneBytes => DataStart + (First * SlotBytes);

    /// <summary>What Redis' listpack of these elements would have, up to 65,535.</summary>
    public int ListpackBytes
    {
        get => Word(6);
        set => SetWord(6, Math.Min(value, ushort.MaxValue));
    }

    /// <summary>Bytes from the start to the last element, and the slots: all but what is spare.</summary>
    public int ClaimedBytes => HeaderBytes + DataEnd + AllSlotsBytes;

    /// <summary>The slot of what was appended last, for the look-ahead: whatever the bytes say, which may be
    /// torn.</summary>
    public byte* LastSlot => SlotAt(Math.Max(0, Slots - 1));

    /// <summary>Whether there are no slots, and where the elements end then: for the look-ahead, too.</summary>
    public bool TryGetUniformEnd(out byte* end)
    {
        end = _start + HeaderBytes + ((long)Slots * Width);
        return IsUniform;
    }

    private int Slots => Word(2);

    private int First => Word(4) & FirstMax;

    private bool IsUniform => (Word(4) & Uniform) != 0;

    private int Width => Word(6);

    private int AllSlotsBytes => IsUniform ? 0 : Slots * SlotBytes;

    private int DataStart => First == 0 ? 0 : EndOf(First - 1);

    private int DataEnd => Slots == 0 ? 0 : EndOf(Slots - 1);

    private int DataBytes => DataEnd - DataStart;

    /// <summary>Bytes that can be appended without moving any.</summary>
    private int SpareBytes => Capacity - HeaderBytes - DataEnd - AllSlotsBytes;

    /// <summary>Bytes that an element takes with its slot.</summary>
    public static int SizeOf(int length) => length + SlotBytes;

    /// <summary>Bytes that an element would take here.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public int SizeFor(int length) =>
        !IsUniform ? SizeOf(length) : StaysUniform(length) ? length : SizeOf(length) + (Slots * SlotBytes);

    /// <summary>Bytes that elements would take here; with slots for those that it has, too, if not all stay equally
    /// long.</summary>
    public long SizeFor(in ListPush push) =>
        !IsUniform ? push.SlottedBytes : push.IsUniform && StaysUniform(push.Longest)
        ? push.Bytes : push.SlottedBytes + (Slots * SlotBytes);

    private bool StaysUniform(int length) => length != 0 && (length == Width || Slots == 0);

    /// <summary>Begins an empty leaf.</summary>
    /// <param name="mayBeUniform">Whether it has no slots as long as its elements are equally long.</param>
    public static ListLeaf Begin(byte* start, int capacity, bool isReversed, bool mayBeUniform = false)
    {
        Debug.Assert(capacity is >= HeaderBytes and <= BytesMax, "ends fit in 16 bits");
        var leaf = new ListLeaf(start);
        leaf.SetWord(0, capacity);
        leaf.SetWord(2, 0);
        leaf.SetWord(4, (isReversed ? Reversed : 0) | (mayBeUniform ? Uniform : 0));
        leaf.SetWord(6, 0);
        return leaf;
    }

    /// <summary>Makes a leaf of one element.</summary>
    public static void WriteAlone(byte* start, ReadOnlySpan<byte> element)
    {
        Unsafe.WriteUnaligned(start, 0);
        Unsafe.WriteUnaligned(start + 4, element.Length);
        element.CopyTo(new Span<byte>(start + HeaderBytes, element.Length));
    }

    /// <summary>The element at a place, from 0 to <see cref="Count"/> - 1. For the owner of the lock.</summary>
    public ReadOnlySpan<byte> this[int index]
    {
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        get
        {
            if (IsAlone) return Alone;
            Debug.Assert((uint)index < (uint)Count, "there is such an element");
            int place = IsReversed ? Slots - 1 - index : First + index;
            if (IsUniform) return new ReadOnlySpan<byte>(_start + HeaderBytes + (place * Width), Width);
            byte* slot = SlotAt(place);
            int begin = place == 0 ? 0 : Unsafe.ReadUnaligned<ushort>(slot + SlotBytes);
            return new ReadOnlySpan<byte>(_start + HeaderBytes + begin, Unsafe.ReadUnaligned<ushort>(slot) - begin);
        }
    }

    /// <summary>How many elements a leaf has whose bytes may be torn.</summary>
    /// <param name="start">Of the leaf.</param>
    /// <param name="room">Bytes that may be looked at.</param>
    public static int CountIn(byte* start, int room) =>
        room < HeaderBytes ? 0 : Math.Max(0, new ListLeaf(start).Count);

    /// <summary>Finds the element at a place of a leaf with slots whose bytes may be torn: nothing beyond the room is
    /// looked at.</summary>
    public static bool TryGet(byte* start, int room, long index, out ReadOnlySpan<byte> element)
    {
        element = default;
        if (room < HeaderBytes) return false;
        var leaf = new ListLeaf(start);
        int capacity = Math.Min(leaf.Capacity, room), slots = leaf.Slots, order = leaf.Word(4),
            first = order & FirstMax;
        if (index < 0 || index >= slots - first) return false;
        int place = (order & Reversed) != 0 ? slots - 1 - (int)index : first + (int)index;
        int slot = capacity - ((place + 1) * SlotBytes);
        if (slot < HeaderBytes) return false;
        int end = leaf.Word(slot), begin = place == 0 ? 0 : leaf.Word(slot + SlotBytes);
        if (begin > end || HeaderBytes + end > capacity) return false;
        element = new ReadOnlySpan<byte>(start + HeaderBytes + begin, end - begin);
        return true;
    }

    /// <summary>Whether <paramref name="bytes"/> (<see cref="SizeFor(int)"/>) can be appended without moving
    /// any.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public bool CanAppend(long bytes) => bytes <= SpareBytes;

    /// <summary>Whether <paramref name="bytes"/> more fit in at all.</summary>
    public bool Fits(long bytes) => bytes <= Capacity - HeaderBytes - UsedBytes;

    /// <summary>Makes use of a room that is larger than it was: the slots move to its end.</summary>
    public void Widen(int capacity)
    {
        Debug.Assert(capacity >= Capacity && capacity <= BytesMax, "the room is larger, and ends fit in 16 bits");
        int bytes = AllSlotsBytes;
        Buffer.MemoryCopy(_start + Capacity - bytes, _start + capacity - bytes, bytes, bytes);
        SetWord(0, capacity);
    }

    /// <summary>Makes do with a room that is smaller than it was, and still enough.</summary>
    public void Narrow(int capacity)
    {
        Compact();
        Debug.Assert(HeaderBytes + UsedBytes <= capacity, "the room is still enough");
        int bytes = AllSlotsBytes;
        Buffer.MemoryCopy(_start + Capacity - bytes, _start + capacity - bytes, bytes, bytes);
        SetWord(0, capacity);
    }

    /// <summary>Puts an element at the left or the right end. There must be room.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void Push(bool left, ReadOnlySpan<byte> element)
    {
        if (left != IsReversed || !CanAppend(SizeFor(element.Length)))
        {
            Insert(left ? 0 : Count, element);
            return;
        }

        SetUniformity(element.Length);
        int slots = Slots, end = DataEnd;
        element.CopyTo(new Span<byte>(_start + HeaderBytes + end, element.Length));
        SetWord(2, slots + 1);
        SetEnd(slots, end + element.Length);
    }

    /// <summary>Puts an element at a place, before those from there on. There must be room.</summary>
    public void Insert(int index, ReadOnlySpan<byte> element)
    {
        Debug.Assert(!IsAlone && (uint)index <= (uint)Count, "it goes between elements of a shared leaf");
        int length = element.Length;
        if (Count == 0) Clear();
        else if (TryPutAhead(index, element)) return;
        if (!CanAppend(SizeFor(length))) Compact();
        Debug.Assert(CanAppend(SizeFor(length)), "there is room");
        SetUniformity(length);
        int slots = Slots, place = IsReversed ? slots - index : First + index;
        int at = place == 0 ? 0 : EndOf(place - 1), end = DataEnd;
        SetWord(2, slots + 1);
        MoveBytes(at, at + length, end - at);
        if (!IsUniform) MoveSlots(SlotAt(slots - 1), SlotAt(slots), slots - place, length);
        SetEnd(place, at + length);
        element.CopyTo(new Span<byte>(_start + HeaderBytes + at, length));
    }

    /// <summary>Puts an element where others in front have gone, if it is to be there and there is room.</summary>
    private bool TryPutAhead(int index, ReadOnlySpan<byte> element)
    {
        int first = First;
        if (first < 2 || index != (IsReversed ? Count : 0)) return false;
        int at = EndOf(first - 1) - element.Length;
        if (at < 0 || (IsUniform && element.Length != Width)) return false;
        SetEnd(first - 2, at);
        SetFirst(first - 1);
        element.CopyTo(new Span<byte>(_start + HeaderBytes + at, element.Length));
        return true;
    }

    /// <summary>Whether there is room to exchange an element for another one.</summary>
    /// <param name="length">Bytes of the other one.</param>
    public bool CanReplace(int index, int length)
    {
        int change = length - this[index].Length;
        return change == 0 || Fits(change + BytesOfNewSlots);
    }

    /// <summary>Exchanges an element. There must be room.</summary>
    public void Replace(int index, ReadOnlySpan<byte> element)
    {
        int change = element.Length - this[index].Length;
        if (change != 0)
        {
            if (change + BytesOfNewSlots > SpareBytes) Compact();
            Debug.Assert(change + BytesOfNewSlots <= SpareBytes, "there is room");
            if (IsUniform) GetSlots();
        }

        int slots = Slots, place = IsReversed ? slots - 1 - index : First + index;
        int end = EndOf(place), at = end + change - element.Length;
        if (change != 0)
        {
            MoveBytes(end, end + change, DataEnd - end);
            MoveSlots(SlotAt(slots - 1), SlotAt(slots - 1), slots - place, change);
        }

        element.CopyTo(new Span<byte>(_start + HeaderBytes + at, element.Length));
    }

    /// <summary>Takes elements out. At both ends in O(1).</summary>
    public void Remove(int index, int count)
    {
        Debug.Assert(index >= 0 && count > 0 && index + count <= Count, "there are as many");
        int slots = Slots, first = First, place = IsReversed ? slots - index - count : first + index;
        if (count == slots - first) Clear();
        else if (place + count == slots) SetWord(2, place);
        else if (place == first && first + count <= FirstMax) SetFirst(first + count);
        else
        {
            int at = place == 0 ? 0 : EndOf(place - 1), behind = EndOf(place + count - 1),
                moved = slots - place - count;
            MoveBytes(behind, at, DataEnd - behind);
            if (!IsUniform) MoveSlots(SlotAt(slots - 1), SlotAt(slots - count - 1), moved, at - behind);
            SetWord(2, slots - count);
        }
    }

    /// <summary>Takes out those that equal an element.</summary>
    /// <param name="most">The most that are taken out.</param>
    /// <param name="fromRight">Begin with the last.</param>
    /// <returns>How many there were.</returns>
    public int RemoveEqual(ReadOnlySpan<byte> element, long most, bool fromRight)
    {
        int from = First, to = Slots, length = element.Length;
        bool down = fromRight != IsReversed;
        long left = most;
        // First which they are: those from one place on, if the last are taken first, or up to one.
        for (int i = 0, count = Count; i < count && left != 0; i++)
        {
            int place = down ? Slots - 1 - i : First + i;
            if (!Equals(place == 0 ? 0 : EndOf(place - 1), EndOf(place), element)) continue;
            if (--left != 0) continue;
            if (down) from = place;
            else to = place + 1;
        }

        if (left == most) return 0;
        int slots = Slots, kept = from, begin = from == 0 ? 0 : EndOf(from - 1), at = begin;
        for (int place = from; place < slots; place++)
        {
            int end = EndOf(place);
            if (place >= to || !Equals(begin, end, element))
            {
                MoveBytes(begin, at, end - begin);
                at += end - begin;
                SetEnd(kept++, at);     // not behind the place: what is still to be read stays
            }

            begin = end;
        }

        SetWord(2, kept);
        if (kept == First) Clear();
        return (int)(most - left);
    }

    /// <summary>Divides the leaf: the elements behind a place in memory go to an empty leaf of the same
    /// order.</summary>
    /// <param name="index">The first element of the right part.</param>
    /// <param name="other">Becomes the right part; of a reversed leaf, the left one.</param>
    public void Split(int index, ListLeaf other)
    {
        int slots = Slots, place = IsReversed ? slots - index : First + index, moved = slots - place;
        int at = place == 0 ? 0 : EndOf(place - 1), bytes = DataEnd - at;
        Debug.Assert(other.Slots == 0 && other.IsReversed == IsReversed, "the other is empty, and of the same order");
        Debug.Assert(bytes <= other.SpareBytes, "the other has room");
        Buffer.MemoryCopy(_start + HeaderBytes + at, other._start + HeaderBytes, bytes, bytes);
        other.SetWord(2, moved);
        if (IsUniform)
        {
            other.SetWord(6, Width);
        }
        else
        {
            other.SetWord(4, other.Word(4) & ~Uniform);
            Buffer.MemoryCopy(SlotAt(slots - 1), other.SlotAt(moved - 1), moved * SlotBytes, moved * SlotBytes);
            AddToSlots(other.SlotAt(moved - 1), moved, -at);
        }

        SetWord(2, place);
        if (place == First) Clear();
    }

    /// <summary>Bytes of the part that <see cref="Split"/> would move.</summary>
    public int BytesBehind(int index)
    {
        int slots = Slots, place = IsReversed ? slots - index : First + index;
        return DataEnd - (place == 0 ? 0 : EndOf(place - 1)) + (IsUniform ? 0 : (slots - place) * SlotBytes);
    }

    /// <summary>Throws, with what is wrong, when the leaf disagrees with itself. For tests.</summary>
    public void Check()
    {
        int slots = Slots, last = DataStart;
        Require(First <= slots, "more elements have gone than there were");
        Require(!IsUniform || slots == 0 || Width != 0, "elements of one width have none");
        for (int place = First; place < slots; place++)
        {
            Require(EndOf(place) >= last, $"element {place} ends before it begins");
            last = EndOf(place);
        }

        Require(SpareBytes >= 0, "elements and slots overlap");
    }

    private static void Require(bool holds, string what)
    {
        if (!holds) throw new InvalidOperationException($"A leaf of a list is damaged: {what}.");
    }

    private void Clear()
    {
        SetWord(2, 0);
        SetFirst(0);
    }

    private int BytesOfNewSlots => IsUniform ? Slots * SlotBytes : 0;

    /// <summary>Prepares for the next element: the first one decides how wide all are, one of another width that all
    /// need slots.</summary>
    private void SetUniformity(int length)
    {
        if (!IsUniform) return;
        if (StaysUniform(length)) SetWord(6, length);
        else GetSlots();
    }

    /// <summary>Gives each element a slot. There must be room.</summary>
    private void GetSlots()
    {
        Debug.Assert(IsUniform, "there are none");
        int width = Width, slots = Slots;
        SetWord(4, Word(4) & ~Uniform);
        SetWord(6, 0);
        for (int place = 0; place < slots; place++) SetEnd(place, (place + 1) * width);
    }

    /// <summary>Moves the elements to the front, so that all that is spare follows them.</summary>
    private void Compact()
    {
        int first = First, slots = Slots, start = DataStart, moved = slots - first;
        if (first == 0) return;
        MoveBytes(start, 0, DataEnd - start);
        if (!IsUniform) MoveSlots(SlotAt(slots - 1), SlotAt(moved - 1), moved, -start);
        SetWord(2, moved);
        SetFirst(0);
    }

    private bool Equals(int begin, int end, ReadOnlySpan<byte> element) =>
        end - begin == element.Length && new ReadOnlySpan<byte>(_start + HeaderBytes + begin, end - begin)
            .SequenceEqual(element);

    private void MoveBytes(int from, int to, int count)
    {
        if (from != to) Buffer.MemoryCopy(_start + HeaderBytes + from, _start + HeaderBytes + to, count, count);
    }

    private static void MoveSlots(byte* from, byte* to, int count, int change)
    {
        if (count <= 0) return;
        if (from != to) Buffer.MemoryCopy(from, to, count * SlotBytes, count * SlotBytes);
        AddToSlots(to, count, change);
    }

    private static void AddToSlots(byte* slots, int count, int change)
    {
        // Eight at a time: of 800 slots, one by one would take longer than the bytes that moved.
        var add = Vector128.Create((ushort)change);
        int i = 0;
        for (; i <= count - Vector128<ushort>.Count; i += Vector128<ushort>.Count)
            Unsafe.WriteUnaligned(slots + (i * SlotBytes),
                Unsafe.ReadUnaligned<Vector128<ushort>>(slots + (i * SlotBytes)) + add);
        for (; i < count; i++) ((ushort*)slots)[i] += (ushort)change;
    }

    private byte* SlotAt(int place) => _start + Capacity - ((place + 1) * SlotBytes);

    private int EndOf(int place) => IsUniform ? (place + 1) * Width : Unsafe.ReadUnaligned<ushort>(SlotAt(place));

    private void SetEnd(int place, int end)
    {
        Debug.Assert(end is >= 0 and <= BytesMax, "an end fits in 16 bits");
        if (!IsUniform) Unsafe.WriteUnaligned(SlotAt(place), (ushort)end);
    }

    private int Word(int offset) => Unsafe.ReadUnaligned<ushort>(_start + offset);

    private void SetWord(int offset, int value) => Unsafe.WriteUnaligned(_start + offset, (ushort)value);

    private void SetFirst(int first) => SetWord(4, (Word(4) & ~FirstMax) | first);
}

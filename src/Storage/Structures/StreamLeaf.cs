using System.Diagnostics;
using System.Runtime.CompilerServices;

namespace Kv.Storage;

//   0          4      8       12        16         32         36     40         44       48
//  +----------+------+-------+---------+----------+----------+------+----------+--------+--------+-------+- - -+-------+--------+
//  | capacity | used | count | deleted | first id | previous | next | listpack | fields | field  | entry | ... | spare | places |
//  +----------+------+-------+---------+----------+----------+------+----------+--------+--------+-------+- - -+-------+--------+
//   bytes of the piece, and up to where entries go; entries, with those that are deleted; leaves beside it, 0: none;
// bytes that
//   Redis' listpack would have beyond its two counts; how many fields the first entry has, and these: | length prefix | bytes |
//
//  entry:   | flags 1 | ms - first ms, varint | number, varint | fields, varint | length prefix | field | length prefix | value | ...
//           flags 1: deleted; 2: the fields are those of the leaf, and only the values are here
//           number: of the first's ms what it is beyond the first's, else itself
//  places:  where each entry begins, from the end of the piece on: 2 bytes each, 4 where the piece is over 64 KB

/// <summary>Entries of a stream that follow each other, in a piece of its region.</summary>
/// <remarks>
/// Where entries begin is known, so that one is found by halves and they can be read backwards; each is decoded by
/// itself. Entries that are deleted stay as they are and are marked; when none is left, the leaf goes.
/// </remarks>
internal readonly unsafe struct StreamLeaf(byte* start)
{
    public const int HeaderBytes = 48, FlagDeleted = 1, FlagSameFields = 2;

    private const int NarrowMax = ushort.MaxValue;

    public ref int Capacity => ref ((int*)start)[0];
    public ref int Used => ref ((int*)start)[1];
    public ref int Count => ref ((int*)start)[2];
    public ref int Deleted => ref ((int*)start)[3];
    public ref StreamId First => ref *(StreamId*)(start + 16);
    public ref uint Previous => ref ((uint*)start)[8];
    public ref uint Next => ref ((uint*)start)[9];
    public ref int ListpackBase => ref ((int*)start)[10];
    public ref int FieldCount => ref ((int*)start)[11];

    /// <summary>The fields of the first entry.</summary>
    public byte* Fields => start + HeaderBytes;

    /// <summary>Entries that are not deleted.</summary>
    public int Live => Count - Deleted;

    /// <summary>Bytes that Redis' listpack of these entries would have.</summary>
    public int ListpackBytes => ListpackBase + ListpackRule.SizeOf(Live) + ListpackRule.SizeOf(Deleted);

    /// <summary>Bytes that are not in use.</summary>
    public int Spare => Capacity - Used - (Count * PlaceBytes);

    /// <summary>Bytes of the smallest piece that would have room for these entries.</summary>
    public int LeastCapacity => CapacityFor(Used - HeaderBytes, Count, 0);

    private int PlaceBytes => Capacity > NarrowMax ? sizeof(uint) : sizeof(ushort);

    /// <summary>Bytes, a multiple of 8, that a leaf should have.</summary>
    /// <param name="content">Bytes of its fields and entries.</param>
    /// <param name="entries">How many places it needs.</param>
    /// <param name="atLeast">The fewest bytes.</param>
    public static int CapacityFor(long content, int entries, long atLeast)
    {
        Debug.Assert(content >= 0 && entries >= 0, "bytes and places are counted");
        long narrow = HeaderBytes + content + ((long)entries * sizeof(ushort));
        long bytes = Math.Max(narrow, atLeast);
        if (bytes + 7 > NarrowMax) bytes = Math.Max(narrow + ((long)entries * sizeof(ushort)), atLeast);
        Debug.Assert(bytes <= int.MaxValue - 7, "entries are bounded, so that lengths are 32 bits");
        return (int)((bytes + 7) & ~7L);
    }

    /// <summary>The most bytes of a piece that is taken for a leaf of <paramref name="capacity"/>: places keep their
    /// width.</summary>
    public static int MostFor(int capacity) =>
        capacity <= NarrowMax ? Math.Min(capacity + (capacity / 8), NarrowMax & ~7)
        : (int)Math.Min(capacity + (capacity / 8L), int.MaxValue & ~7);

    /// <summary>Begins a leaf without entries.</summary>
    public static StreamLeaf Begin(byte* piece, int capacity, StreamId first)
    {
        Debug.Assert(capacity >= HeaderBytes && capacity % Region.UnitBytes == 0, "a leaf is a whole piece");
        new Span<byte>(piece, HeaderBytes).Clear();
        var leaf = new StreamLeaf(piece);
        leaf.Capacity = capacity;
        leaf.Used = HeaderBytes;
        leaf.First = first;
        return leaf;
    }

    /// <summary>Bytes of an entry before its fields and values.</summary>
    public static int HeadBytes(StreamId first, StreamId id, bool isSame, int fields) =>
        1 + Varint.SizeOf(id.Ms - first.Ms) + Varint.SizeOf(NumberOf(first, id))
        + (isSame ? 0 : Varint.SizeOf((ulong)fields));

    /// <summary>Begins an entry after the others. There is room.</summary>
    /// <returns>Where its fields and values go; the caller then ends the entry (<see cref="EndAt"/>).</returns>
    public byte* Append(StreamId id, bool isSame, int fields)
    {
        Debug.Assert(Count == 0 ? id == First : First <= id, "a leaf begins with its first id");
        Debug.Assert(Count == 0 || IdOf(Count - 1) < id, "ids go up");
        Debug.Assert(!isSame || fields == FieldCount, "fields that are the leaf's are as many");
        SetPlace(Count, Used);
        Count++;
        byte* at = start + Used;
        *at = (byte)(isSame ? FlagSameFields : 0);
        at = Varint.Write(at + 1, id.Ms - First.Ms);
        at = Varint.Write(at, NumberOf(First, id));
        return isSame ? at : Varint.Write(at, (ulong)fields);
    }

    /// <summary>Ends an entry, or the fields of the leaf.</summary>
    public void EndAt(byte* end)
    {
        Debug.Assert(end >= start + Used && end - start <= Capacity, "a leaf only gets longer, within its piece");
        Used = (int)(end - start);
        Debug.Assert(Spare >= 0, "it ends ahead of the places");
    }

    /// <summary>The id of an entry.</summary>
    public StreamId IdOf(int index) => ReadId(start + PlaceOf(index) + 1, out _);

    public bool IsDeleted(int index) => (start[PlaceOf(index)] & FlagDeleted) != 0;

    public bool HasSameFields(int index) => (start[PlaceOf(index)] & FlagSameFields) != 0;

    /// <summary>An entry.</summary>
    public StreamEntry this[int index]
    {
        get
        {
            byte* at = start + PlaceOf(index);
            int flags = *at;
            StreamId id = ReadId(at + 1, out at);
            ulong fields = (ulong)FieldCount;
            bool isSame = (flags & FlagSameFields) != 0;
            if (!isSame) at = Varint.Read(at, out fields);
            return new StreamEntry(id, (int)fields, isSame ? Fields : null, at);
        }
    }

    /// <summary>How many entries have an id below <paramref name="id"/>.</summary>
    public int CountBelow(StreamId id)
    {
        int low = 0, high = Count;
        // Ends: the range gets shorter each round.
        while (low < high)
        {
            int middle = (low + high) >>> 1;
            if (IdOf(middle) < id) low = middle + 1;
            else high = middle;
        }

        return low;
    }

    /// <summary>Marks an entry as deleted.</summary>
    public void Delete(int index)
    {
        Debug.Assert((uint)index < (uint)Count && !IsDeleted(index), "it is there");
        start[PlaceOf(index)] |= FlagDeleted;
        Deleted++;
        Debug.Assert(Deleted <= Count, "an entry is deleted once");
    }

    /// <summary>Copies everything to a piece of another size, with room for all.</summary>
    public void CopyTo(byte* piece, int capacity)
    {
        Debug.Assert(Used + (Count * PlaceBytes) <= capacity || !CanResize(capacity), "there is room for all");
        Buffer.MemoryCopy(start, piece, capacity, Used);
        var copy = new StreamLeaf(piece);
        copy.Capacity = capacity;
        Debug.Assert(copy.Spare >= 0, "there is room for places of the new width");
        if (copy.PlaceBytes == PlaceBytes)
        {
            int bytes = Count * PlaceBytes;
            Buffer.MemoryCopy(start + Capacity - bytes, piece + capacity - bytes, bytes, bytes);
            return;
        }

        for (int i = 0; i < Count; i++) copy.SetPlace(i, PlaceOf(i));
    }

    /// <summary>Whether places would have the same width in a piece of another size: then <see cref="Resize"/> is
    /// enough.</summary>
    public bool CanResize(int capacity) => Capacity > NarrowMax == capacity > NarrowMax;

    /// <summary>Moves the places to where the piece now ends.</summary>
    public void Resize(int capacity)
    {
        int bytes = Count * PlaceBytes;
        Debug.Assert(CanResize(capacity) && Used + bytes <= capacity, "places keep their width, and there is room");
        Buffer.MemoryCopy(start + Capacity - bytes, start + capacity - bytes, bytes, bytes);
        Capacity = capacity;
    }

    /// <summary>Throws when it disagrees with itself. For tests.</summary>
    public void Check()
    {
        Require(Used >= HeaderBytes && Used + (Count * PlaceBytes) <= Capacity,
            $"{Used} bytes and {Count} places are in {Capacity}");
        int deleted = 0;
        byte* end = Fields;
        for (int i = 0; i < FieldCount; i++) end = LengthPrefix.Read(end, out int length) + length;
        for (int i = 0; i < Count; i++)
        {
            Require(start + PlaceOf(i) == end, $"entry {i} begins at {PlaceOf(i)}, not at {end - start}");
            StreamEntry entry = this[i];
            Require(i == 0 ? entry.Id == First : IdOf(i - 1) < entry.Id, $"the id of entry {i} is out of order");
            if (IsDeleted(i)) deleted++;
            while (entry.Next(out _, out _))
            {
            }

            end = entry.Content;
        }

        Require(start + Used == end, "bytes follow the last entry");
        Require(deleted == Deleted, $"{deleted} entries are deleted, {Deleted} are counted");
    }

    private static void Require(bool holds, string what)
    {
        if (!holds) throw new InvalidOperationException($"A leaf of a stream is damaged: {what}.");
    }

    private static ulong NumberOf(StreamId first, StreamId id) =>
        id.Ms == first.Ms ? id.Number - first.Number : id.Number;

    private StreamId ReadId(byte* at, out byte* end)
    {
        at = Varint.Read(at, out ulong ms);
        end = Varint.Read(at, out ulong number);
        return new StreamId(First.Ms + ms, ms == 0 ? First.Number + number : number);
    }

    private int PlaceOf(int index)
    {
        Debug.Assert((uint)index < (uint)Count, "there is such an entry");
        return Capacity > NarrowMax
            ? (int)((uint*)(start + Capacity))[-1 - index] : ((ushort*)(start + Capacity))[-1 - index];
    }

    private void SetPlace(int index, int offset)
    {
        Debug.Assert(offset >= HeaderBytes && offset <= Capacity, "an entry begins in the piece");
        if (Capacity > NarrowMax) Unsafe.WriteUnaligned(start + Capacity - ((index + 1) * sizeof(uint)), offset);
        else Unsafe.WriteUnaligned(start + Capacity - ((index + 1) * sizeof(ushort)), (ushort)offset);
    }
}

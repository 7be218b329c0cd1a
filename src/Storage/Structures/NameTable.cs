using System.Diagnostics;
using System.Runtime.InteropServices;

namespace Kv.Storage;

//  head, 12 bytes where its owner has them:  | table 4 | capacity 4 | count 4 |
//  table, a piece:                           | record 4 | record 4 | ...        in the order of the names' bytes
//  record, a piece:                          | what it is, 56 or 32 bytes | name length 4 | name |

/// <summary>Where a table of names begins.</summary>
[StructLayout(LayoutKind.Sequential)]
internal struct NameTableHead
{
    public uint Table, Capacity, Count;
}

/// <summary>Records by name, in order: the groups of a stream, the consumers of a group.</summary>
/// <remarks>
/// An array that is searched by halves: a stream has few of them, and those who list them want the order. Records stay
/// where they are. Pointers hold until the next reservation.
/// </remarks>
/// <param name="recordBytes">Bytes of a record before its name.</param>
internal readonly unsafe struct NameTable(Region region, NameTableHead* head, int recordBytes)
{
    private const uint FirstCapacity = 2;

    public int Count => (int)head->Count;

    public uint this[int index]
    {
        get
        {
            Debug.Assert((uint)index < (uint)Count, "there is such a record");
            return Records[index];
        }
    }

    private uint* Records => (uint*)region.At(head->Table);

    /// <summary>Bytes of a region to reserve for adding a record.</summary>
    public long ReserveBytes(int nameBytes) =>
        Region.SizeOf(recordBytes + sizeof(int) + nameBytes)
        + (head->Count == head->Capacity ? Region.SizeOf((int)GrownCapacity * sizeof(uint)) : 0);

    /// <summary>Finds a record.</summary>
    /// <param name="place">Where it is, or would be.</param>
    /// <returns>0: it is not there.</returns>
    public uint Find(ReadOnlySpan<byte> name, out int place)
    {
        int low = 0, high = Count;
        uint* records = Records;
        // Ends: the range gets shorter each round.
        while (low < high)
        {
            int middle = (low + high) >>> 1, order = NameOf(records[middle]).SequenceCompareTo(name);
            if (order == 0)
            {
                place = middle;
                return records[middle];
            }

            if (order < 0) low = middle + 1;
            else high = middle;
        }

        place = low;
        return 0;
    }

    /// <summary>Finds a record.</summary>
    /// <returns>0: it is not there.</returns>
    public uint Find(ReadOnlySpan<byte> name) => Find(name, out _);

    /// <summary>Adds a record, of zeros, out of what was reserved.</summary>
    public uint Insert(int place, ReadOnlySpan<byte> name)
    {
        Debug.Assert(Find(name, out int sorted) == 0 && sorted == place, "the name is not there, and has this place");
        if (head->Count == head->Capacity) Grow();
        uint record = region.Take(recordBytes + sizeof(int) + name.Length);
        byte* at = region.At(record);
        new Span<byte>(at, recordBytes).Clear();
        *(int*)(at + recordBytes) = name.Length;
        name.CopyTo(new Span<byte>(at + recordBytes + sizeof(int), name.Length));
        uint* records = Records;
        long behind = (Count - place) * (long)sizeof(uint);
        Buffer.MemoryCopy(records + place, records + place + 1, behind, behind);
        records[place] = record;
        head->Count++;
        return record;
    }

    /// <summary>Takes a record out and gives it back.</summary>
    public void RemoveAt(int place)
    {
        Debug.Assert((uint)place < (uint)Count, "there is such a record");
        uint* records = Records;
        uint record = records[place];
        long behind = (Count - place - 1) * (long)sizeof(uint);
        Buffer.MemoryCopy(records + place + 1, records + place, behind, behind);
        head->Count--;
        region.Give(record, SizeOf(record));
    }

    /// <summary>Gives all records and the table back.</summary>
    public void Clear()
    {
        for (int i = 0; i < Count; i++) region.Give(Records[i], SizeOf(Records[i]));
        if (head->Capacity != 0) region.Give(head->Table, (int)head->Capacity * sizeof(uint));
        *head = default;
    }

    /// <summary>The name of a record.</summary>
    public ReadOnlySpan<byte> NameOf(uint record)
    {
        Debug.Assert(record != 0, "0 is no record");
        byte* at = region.At(record) + recordBytes;
        return new ReadOnlySpan<byte>(at + sizeof(int), *(int*)at);
    }

    /// <summary>Throws when the names are not in order. For tests.</summary>
    /// <returns>Bytes of table and records.</returns>
    public long Check()
    {
        long bytes = head->Capacity == 0 ? 0 : Region.SizeOf((int)head->Capacity * sizeof(uint));
        for (int i = 0; i < Count; i++)
        {
            if (i > 0 && NameOf(this[i - 1]).SequenceCompareTo(NameOf(this[i])) >= 0)
                throw new InvalidOperationException("A table of names is damaged: they are out of order.");
            bytes += Region.SizeOf(SizeOf(this[i]));
        }

        return bytes;
    }

    private uint GrownCapacity => Math.Max(FirstCapacity, head->Capacity * 2);

    private int SizeOf(uint record) => recordBytes + sizeof(int) + NameOf(record).Length;

    private void Grow()
    {
        uint capacity = GrownCapacity, table = region.Take((int)capacity * sizeof(uint));
        long bytes = head->Count * (long)sizeof(uint);
        if (head->Capacity != 0)
        {
            Buffer.MemoryCopy(Records, region.At(table), bytes, bytes);
            region.Give(head->Table, (int)head->Capacity * sizeof(uint));
        }

        head->Table = table;
        head->Capacity = capacity;
        Debug.Assert(head->Count < capacity, "there is room for one more");
    }
}

using System.Diagnostics;
using System.Runtime.CompilerServices;

namespace Kv.Storage;

//   0       2       4          6       8          12     16
//  +-------+-------+----------+-------+----------+------+---------------+---------------+
//  | count | level | capacity | spare | previous | next | ids x 16      | payloads      |
//  +-------+-------+----------+-------+----------+------+---------------+---------------+
//   a leaf: level 0, an id and its payload for each entry; previous and next: the leaves beside it, 0: none
//   an inner node: up to 32 children; payload 4: the child, whose ids are not below its id here; the first one's is 0-0
//
//  32 entries: 528 bytes without a payload, 656 with one of 4, 1,168 with one of 20. Only a leaf that is the whole tree
// has less room.

/// <summary>A node of an <see cref="IdTree"/>.</summary>
internal readonly unsafe struct IdNode(byte* start)
{
    public const int Max = 32, HeaderBytes = 16;

    public ref ushort Count => ref *(ushort*)start;
    public ref ushort Level => ref ((ushort*)start)[1];
    public ref ushort Capacity => ref ((ushort*)start)[2];
    public ref uint Previous => ref ((uint*)start)[2];
    public ref uint Next => ref ((uint*)start)[3];

    public StreamId* Ids => (StreamId*)(start + HeaderBytes);

    /// <summary>Of an inner node.</summary>
    public uint* Children => (uint*)Payloads;

    public bool IsFull => Count == Capacity;

    private byte* Payloads => start + HeaderBytes + (Capacity * StreamId.Bytes);

    public static int BytesFor(int capacity, int payload) => HeaderBytes + (capacity * (StreamId.Bytes + payload));

    public byte* Payload(int at, int payload)
    {
        Debug.Assert((uint)at <= Capacity, "entries are within the node");
        return Payloads + (at * payload);
    }

    public void Begin(int level, int capacity)
    {
        Debug.Assert(capacity is > 0 and <= Max && (level == 0 || capacity == Max), "an inner node is a whole one");
        new Span<byte>(start, HeaderBytes).Clear();
        Level = (ushort)level;
        Capacity = (ushort)capacity;
    }

    /// <summary>How many ids of the node are below <paramref name="id"/>.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public int CountBelow(StreamId id)
    {
        int low = 0, high = Count;
        StreamId* ids = Ids;
        // Ends: the range gets shorter each round.
        while (low < high)
        {
            int middle = (low + high) >>> 1;
            if (ids[middle] < id) low = middle + 1;
            else high = middle;
        }

        return low;
    }

    /// <summary>The child that an id belongs below.</summary>
    public int ChildOf(StreamId id)
    {
        Debug.Assert(Level != 0 && Count != 0 && Ids[0].IsZero, "the first child has all that is below the second");
        int at = CountBelow(id);
        return at < Count && Ids[at] == id ? at : at - 1;
    }

    /// <summary>Copies entries to another node, or within this one.</summary>
    public void CopyTo(int from, IdNode target, int to, int count, int payload)
    {
        Debug.Assert(count <= 0 || (from >= 0 && from + count <= Capacity && to >= 0 && to + count <= target.Capacity),
            "entries stay within the nodes");
        if (count <= 0) return;
        Copy(Ids + from, target.Ids + to, count * StreamId.Bytes);
        Copy(Payload(from, payload), target.Payload(to, payload), count * payload);
    }

    /// <summary>Whether an id belongs at a place: for assertions.</summary>
    public bool IsBetween(int place, StreamId id) =>
        (uint)place <= Count && (place == 0 || Ids[place - 1] < id) && (place == Count || id < Ids[place]);

    /// <summary>Makes room for an entry, which the caller fills.</summary>
    public void Open(int at, int payload)
    {
        Debug.Assert((uint)at <= (uint)Count && !IsFull, "there is room for one more");
        CopyTo(at, this, at + 1, Count - at, payload);
        Count++;
    }

    /// <summary>Takes an entry out.</summary>
    public void Close(int at, int payload)
    {
        Debug.Assert((uint)at < (uint)Count, "there is such an entry");
        CopyTo(at + 1, this, at, Count - at - 1, payload);
        Count--;
    }

    private static void Copy(void* from, void* to, int bytes) => Buffer.MemoryCopy(from, to, bytes, bytes);
}

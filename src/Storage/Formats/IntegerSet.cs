using System.Diagnostics;
using System.Runtime.CompilerServices;

namespace Kv.Storage;

//   0       2       3       4
//  +-------+-------+-------+--------+--------+- - -+- - - - +
//  | count | width | spare | number | number |     | spare  |        ascending; each has 2, 4 or 8 bytes, little endian
//  +-------+-------+-------+--------+--------+- - -+- - - - +

/// <summary>A small set of integers in its record: an ascending array, as wide as its widest number needs.</summary>
/// <remarks>A view of bytes; for a reader without the lock they may be torn, and what is read never leaves
/// them.</remarks>
internal readonly unsafe struct IntegerSet
{
    public const int HeaderBytes = 4;

    /// <summary>Most numbers that any width has room for.</summary>
    public const int CountMax = (ushort.MaxValue - 15) / sizeof(long);

    private readonly byte* _start;

    /// <param name="start">Of the value.</param>
    /// <param name="capacity">Bytes of the value: what is read never leaves them.</param>
    public IntegerSet(byte* start, int capacity)
    {
        _start = start;
        Width = start[2] switch { 2 => 2, 4 => 4, _ => 8 };
        Count = Math.Max(0, Math.Min(Unsafe.ReadUnaligned<ushort>(start), (capacity - HeaderBytes) / Width));
    }

    /// <summary>How many numbers there are.</summary>
    public int Count { get; }

    /// <summary>Bytes of each.</summary>
    public int Width { get; }

    /// <summary>The number at a place, from 0 on.</summary>
    public long this[int index]
    {
        get
        {
            byte* at = _start + HeaderBytes + (index * Width);
            return Width switch
            {
                2 => Unsafe.ReadUnaligned<short>(at),
                4 => Unsafe.ReadUnaligned<int>(at),
                _ => Unsafe.ReadUnaligned<long>(at),
            };
        }
    }

    /// <summary>Bytes that a number needs.</summary>
    public static int WidthOf(long number) => number == (short)number ? 2 : number == (int)number ? 4 : 8;

    /// <summary>Bytes of a value with <paramref name="count"/> numbers.</summary>
    public static int BytesFor(int count, int width) => HeaderBytes + (count * width);

    /// <summary>Begins an empty one.</summary>
    public static void Begin(byte* start)
    {
        Unsafe.WriteUnaligned(start, (ushort)0);
        start[2] = 2;
        start[3] = 0;
    }

    /// <summary>Looks for a number.</summary>
    /// <returns>Its place; if it is not there, the complement (~) of the place where it belongs.</returns>
    public int Find(long number)
    {
        int low = 0, high = Count - 1;
        while (low <= high)
        {
            int middle = (low + high) >> 1;
            long found = this[middle];
            if (found == number) return middle;
            if (found < number) low = middle + 1;
            else high = middle - 1;
        }

        return ~low;
    }

    /// <summary>Puts a number where it belongs. There must be room for one more of the wider width. This view is void
    /// then.</summary>
    public void Insert(int index, long number)
    {
        int width = Math.Max(Width, WidthOf(number)), count = Count;
        Debug.Assert((uint)index <= (uint)count, "it goes between others");
        byte* first = _start + HeaderBytes;
        if (width != Width)
        {
            // From the end on, so that none is overwritten before it is read.
            for (int i = count - 1; i >= 0; i--) Write(first + (i * width), this[i], width);
            _start[2] = (byte)width;
        }

        byte* at = first + (index * width);
        int moved = (count - index) * width;
        Buffer.MemoryCopy(at, at + width, moved, moved);
        Write(at, number, width);
        Unsafe.WriteUnaligned(_start, (ushort)(count + 1));
    }

    /// <summary>Takes the number at a place out. This view is void then.</summary>
    public void RemoveAt(int index)
    {
        Debug.Assert((uint)index < (uint)Count, "there is such a number");
        byte* at = _start + HeaderBytes + (index * Width);
        int moved = (Count - index - 1) * Width;
        Buffer.MemoryCopy(at + Width, at, moved, moved);
        Unsafe.WriteUnaligned(_start, (ushort)(Count - 1));
    }

    private static void Write(byte* at, long number, int width)
    {
        if (width == 2) Unsafe.WriteUnaligned(at, (short)number);
        else if (width == 4) Unsafe.WriteUnaligned(at, (int)number);
        else Unsafe.WriteUnaligned(at, number);
    }
}

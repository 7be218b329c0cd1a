using System.Diagnostics;
using System.Runtime.CompilerServices;

namespace Kv.Storage;

//   0      2       4
//  +------+-------+---------+---------+- - -+- - - - - -+
//  | used | count | element | element |     | spare     |        element:  | length prefix | bytes |
//  +------+-------+---------+---------+- - -+- - - - - -+
//   bytes of the elements; how many there are (of a hash, fields and values count each). A sorted set has a score
//   after each member, which does not count (PackedScores).
//
// A small collection is one such run, the value of its record: no pointers, hence moved and copied as bytes.

/// <summary>A small collection in its record: elements one after the other.</summary>
/// <remarks>
/// A view of bytes. For a reader without the lock they may be torn: <see cref="Next"/> never leaves the run, and ends.
/// Changes are for the owner of the lock.
/// Cost: finding is a walk, about 1 ns an element.
/// </remarks>
internal readonly unsafe struct PackedRun
{
    public const int HeaderBytes = 4;

    /// <summary>Most bytes of elements.</summary>
    public const int BytesMax = ushort.MaxValue - 15;

    private readonly byte* _start;

    /// <param name="start">Of the value.</param>
    /// <param name="capacity">Bytes of the value: what is read never leaves them.</param>
    public PackedRun(byte* start, int capacity)
    {
        _start = start;
        Capacity = Math.Max(0, capacity - HeaderBytes);
        End = First + Math.Min(Used, Capacity);
    }

    /// <summary>Bytes of elements that there is room for.</summary>
    public int Capacity { get; }

    /// <summary>Bytes of the elements.</summary>
    public int Used => Unsafe.ReadUnaligned<ushort>(_start);

    /// <summary>How many elements there are.</summary>
    public int Count => Unsafe.ReadUnaligned<ushort>(_start + 2);

    public byte* First => _start + HeaderBytes;

    /// <summary>The byte after the last element.</summary>
    public byte* End { get; }

    /// <summary>Writes how long the run is from now on. A view that was made before does not know.</summary>
    public void SetSize(int used, int count)
    {
        Debug.Assert(used is >= 0 and <= ushort.MaxValue && count is >= 0 and <= ushort.MaxValue,
            "size and count fit in 16 bits");
        Unsafe.WriteUnaligned(_start, (ushort)used);
        Unsafe.WriteUnaligned(_start + 2, (ushort)count);
    }

    /// <summary>The element at a place.</summary>
    /// <returns>What follows it; null at the end.</returns>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public byte* Next(byte* at, out ReadOnlySpan<byte> element)
    {
        byte* start = LengthPrefix.TryRead(at, End, out int length);
        element = start == null ? default : new ReadOnlySpan<byte>(start, length);
        return start == null ? null : start + length;
    }

    /// <summary>Finds an element.</summary>
    /// <param name="element">Its bytes.</param>
    /// <param name="skipElements">How many elements to pass over after each that is looked at (1 of a hash: the
    /// value).</param>
    /// <returns>Where it begins; null: it is not there.</returns>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public byte* Find(ReadOnlySpan<byte> element, int skipElements) => FindFrom(First, element, skipElements);

    /// <summary>Finds an element from a place on.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public byte* FindFrom(byte* at, ReadOnlySpan<byte> element, int skipElements)
    {
        byte* end = End;
        // Ends: each round goes at least a byte on.
        while (true)
        {
            byte* start = LengthPrefix.TryRead(at, end, out int length);
            if (start == null) return null;
            if (length == element.Length && new ReadOnlySpan<byte>(start, length).SequenceEqual(element)) return at;
            at = start + length;
            for (int skip = skipElements; skip != 0; skip--)
            {
                start = LengthPrefix.TryRead(at, end, out length);
                if (start == null) return null;
                at = start + length;
            }
        }
    }

    /// <summary>Replaces bytes of the run by room for others; the rest moves. There must be capacity for it.</summary>
    /// <param name="at">Where.</param>
    /// <param name="oldBytes">What is taken out.</param>
    /// <param name="newBytes">The room, for the caller to fill.</param>
    /// <param name="countChange">How many elements more, or fewer, there are then.</param>
    public PackedRun Splice(byte* at, int oldBytes, int newBytes, int countChange)
    {
        int behind = (int)(End - (at + oldBytes)), used = Used - oldBytes + newBytes;
        Debug.Assert(oldBytes >= 0 && behind >= 0 && used <= Capacity, "it is in the run, and there is capacity");
        if (oldBytes != newBytes && behind != 0) Buffer.MemoryCopy(at + oldBytes, at + newBytes, behind, behind);
        SetSize(used, Count + countChange);
        return new PackedRun(_start, Capacity + HeaderBytes);
    }
}

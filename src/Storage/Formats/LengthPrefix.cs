using System.Diagnostics;
using System.Runtime.CompilerServices;

namespace Kv.Storage;

//   0 ... 253  | the length           254 | u16 the length           255 | u32 the length

/// <summary>The length before the bytes of an element: one byte for those below 254.</summary>
internal static unsafe class LengthPrefix
{
    private const byte Wide = 254, Widest = 255;

    /// <summary>Bytes that the prefix takes.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static int SizeOf(int length) => length < Wide ? 1 : length <= ushort.MaxValue ? 3 : 5;

    /// <summary>Bytes of prefix and element.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static int SizeWith(int length) => SizeOf(length) + length;

    /// <summary>Writes it.</summary>
    /// <returns>Where the element goes.</returns>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static byte* Write(byte* at, int length)
    {
        Debug.Assert(length >= 0, "an element has a length");
        if (length < Wide)
        {
            *at = (byte)length;
            return at + 1;
        }

        if (length <= ushort.MaxValue)
        {
            *at = Wide;
            Unsafe.WriteUnaligned(at + 1, (ushort)length);
            return at + 3;
        }

        *at = Widest;
        Unsafe.WriteUnaligned(at + 1, length);
        return at + 5;
    }

    /// <summary>Writes an element with its prefix.</summary>
    /// <returns>What follows it.</returns>
    public static byte* WriteWith(byte* at, ReadOnlySpan<byte> element)
    {
        at = Write(at, element.Length);
        element.CopyTo(new Span<byte>(at, element.Length));
        return at + element.Length;
    }

    /// <summary>Reads it.</summary>
    /// <returns>Where the element begins.</returns>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static byte* Read(byte* at, out int length)
    {
        length = *at;
        return length < Wide ? at + 1 : ReadWide(at, out length);
    }

    private static byte* ReadWide(byte* at, out int length)
    {
        if (*at == Wide)
        {
            length = Unsafe.ReadUnaligned<ushort>(at + 1);
            return at + 3;
        }

        length = Unsafe.ReadUnaligned<int>(at + 1);
        return at + 5;
    }

    /// <summary>Reads a prefix that a writer may be changing meanwhile: nothing past the end is looked at.</summary>
    /// <returns>Where the element begins; null when element and prefix do not end before the end.</returns>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static byte* TryRead(byte* at, byte* end, out int length)
    {
        length = 0;
        if (at >= end) return null;
        length = *at;
        byte* start = at + 1;
        if (length >= Wide)
        {
            if (end - at < 5) return null;     // nor would so long an element fit
            start = ReadWide(at, out length);
        }

        return (uint)length <= (ulong)(end - start) ? start : null;
    }
}

using System.Buffers.Binary;
using System.Runtime.CompilerServices;

namespace Kv.Server.Execution;

/// <summary>Compares names and keywords as clients send them: any case.</summary>
internal static class CommandName
{
    /// <summary>The first 8 bytes in upper case, the first one lowest, zeros after a shorter name.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static ulong Head(ReadOnlySpan<byte> name)
    {
        ulong word;
        if (name.Length >= 8)
        {
            word = BinaryPrimitives.ReadUInt64LittleEndian(name);
        }
        else if (name.Length >= 4)
        {
            // Two overlapping loads of 4 give 4 to 7 bytes without a loop.
            ulong low = BinaryPrimitives.ReadUInt32LittleEndian(name);
            ulong high = BinaryPrimitives.ReadUInt32LittleEndian(name[(name.Length - 4)..]);
            word = low | (high << (8 * (name.Length - 4)));
        }
        else
        {
            word = 0;
            for (int i = 0; i < name.Length; i++) word |= (ulong)name[i] << (8 * i);
        }

        return Upper(word);
    }

    /// <summary>Whether a name equals an upper-case one, any case.</summary>
    public static bool Equal(ReadOnlySpan<byte> upper, ReadOnlySpan<byte> name)
    {
        if (upper.Length != name.Length) return false;
        for (int i = 0; i < upper.Length; i++)
        {
            byte letter = name[i];
            if (letter is >= (byte)'a' and <= (byte)'z') letter -= 32;
            if (letter != upper[i]) return false;
        }

        return true;
    }

    // Each byte from 'a' to 'z' loses its bit 5. Adding 0x1F to 7 bits sets bit 7 from 'a' on, adding 5 from '{' on; no
    // carry leaves a byte, because the top bits are masked off first. Bytes with bit 7 of their own stay as they are.
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static ulong Upper(ulong word)
    {
        ulong low = word & 0x7F7F7F7F7F7F7F7F;
        ulong letters = (low + 0x1F1F1F1F1F1F1F1F) & ~(low + 0x0505050505050505) & ~word & 0x8080808080808080;
        return word ^ (letters >> 2);
    }
}

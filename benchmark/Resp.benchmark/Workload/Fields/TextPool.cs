using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace RespBenchmark.Workload;

/// <summary>4 MiB of random content that values are slices of, at random places; longer values go round it.</summary>
/// <remarks>Threads: any; it never changes. Equal kinds have equal content.</remarks>
internal sealed class TextPool
{
    public const int Bytes = 4 * 1024 * 1024;
    private const int PatternBytes = 256;

    private readonly byte[] _bytes;

    private TextPool(byte[] bytes) => _bytes = bytes;

    /// <summary>[A-Za-z0-9].</summary>
    /// <param name="ratio">What a compressor makes of it, about: of each 256 bytes one in so many is random, the rest
    /// one letter; 1: all random.</param>
    public static TextPool Letters(double ratio = 1)
    {
        var bytes = new byte[Bytes];
        var generator = new Xoshiro256(0x7E87);
        ReadOnlySpan<byte> alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"u8;
        int random = (int)Math.Clamp(Math.Round(PatternBytes / ratio), 1, PatternBytes);
        for (int index = 0; index < Bytes; index += 4)
        {
            // 16 random bits a letter: 62 letters, the luckiest favoured by less than a thousandth.
            ulong word = generator.Next();
            for (int letter = index; letter < index + 4; letter++, word >>= 16)
                bytes[letter] = letter % PatternBytes < random
                    ? alphabet[(int)((word & 0xFFFF) * 62 >> 16)] : (byte)'a';
        }

        return new TextPool(bytes);
    }

    /// <summary>Small letters in words of 1 to 12, with a space between.</summary>
    public static TextPool Words()
    {
        var bytes = new byte[Bytes];
        var generator = new Xoshiro256(0x70AD);
        for (int index = 0; index < Bytes;)
        {
            for (long left = 1 + generator.Below(12); left > 0 && index < Bytes; left--)
                bytes[index++] = (byte)('a' + generator.Below(26));
            if (index < Bytes) bytes[index++] = (byte)' ';
        }

        return new TextPool(bytes);
    }

    /// <summary>Any bytes.</summary>
    public static TextPool AnyBytes()
    {
        var bytes = new byte[Bytes];
        var generator = new Xoshiro256(0xB17E);
        foreach (ref ulong word in MemoryMarshal.Cast<byte, ulong>(bytes.AsSpan())) word = generator.Next();
        return new TextPool(bytes);
    }

    /// <summary>Copies from a place on.</summary>
    /// <param name="place">0 to <see cref="Bytes"/> − 1, plus how far in the value one is.</param>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void CopyTo(long place, Span<byte> to)
    {
        int at = (int)(place % Bytes);
        if (to.Length <= Bytes - at) new ReadOnlySpan<byte>(_bytes, at, to.Length).CopyTo(to);
        else CopyRound(at, to);
    }

    private void CopyRound(int at, Span<byte> to)
    {
        while (to.Length > 0)
        {
            int count = Math.Min(to.Length, Bytes - at);
            new ReadOnlySpan<byte>(_bytes, at, count).CopyTo(to);
            to = to[count..];
            at = 0;
        }
    }
}

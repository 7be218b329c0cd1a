using System.Buffers.Binary;
using System.Globalization;
using System.Runtime.CompilerServices;

namespace RespBenchmark.Workload;

//  offset 0          16         24                40
//        +-----------+----------+-----------------+---------------------------------+
//        | key  hex  | version  | checksum  hex   | filler: follows from the        |
//        | 16        | hex 8    | 16              | checksum, '0' to 'o'            |
//        +-----------+----------+-----------------+---------------------------------+
//        checksum: of the seed, the key's number, the version and the length of the whole value

/// <summary>Values that tell whether they are what was written for a key: some version of it, whole.</summary>
internal sealed class ValueVerifier(ulong seed)
{
    public const int HeadBytes = 40;

    private const int VersionAt = 16, ChecksumAt = 24;

    public ulong ChecksumOf(long key, uint version, long bytes) =>
        SplitMix.Mix(seed ^ SplitMix.Mix((ulong)key ^ SplitMix.Mix(version ^ SplitMix.Mix((ulong)bytes))));

    /// <summary>Writes a value from its byte <paramref name="from"/> on.</summary>
    /// <param name="bytes">The length of all of it, at least <see cref="HeadBytes"/>.</param>
    public void Write(long key, uint version, long bytes, long from, Span<byte> to)
    {
        ulong checksum = ChecksumOf(key, version, bytes);
        if (from < HeadBytes)
        {
            Span<byte> head = stackalloc byte[HeadBytes];
            WriteHex((ulong)key, head[..VersionAt]);
            WriteHex(version, head[VersionAt..ChecksumAt]);
            WriteHex(checksum, head[ChecksumAt..]);
            int count = (int)Math.Min(to.Length, HeadBytes - from);
            head.Slice((int)from, count).CopyTo(to);
            to = to[count..];
            from += count;
        }

        WriteFiller(checksum, from - HeadBytes, to);
    }

    /// <summary>Whether a value is one that was written for a key.</summary>
    public bool Check(long key, ReadOnlySpan<byte> value)
    {
        if (value.Length < HeadBytes
            || !TryHex(value[..VersionAt], out ulong writtenKey) || writtenKey != (ulong)key
            || !TryHex(value[VersionAt..ChecksumAt], out ulong version)
            || !TryHex(value[ChecksumAt..HeadBytes], out ulong checksum)
            || checksum != ChecksumOf(key, (uint)version, value.Length)) return false;

        Span<byte> expected = stackalloc byte[512];
        for (int at = HeadBytes; at < value.Length; at += expected.Length)
        {
            ReadOnlySpan<byte> piece = value.Slice(at, Math.Min(expected.Length, value.Length - at));
            WriteFiller(checksum, at - HeadBytes, expected[..piece.Length]);
            if (!piece.SequenceEqual(expected[..piece.Length])) return false;
        }

        return true;
    }

    private static void WriteFiller(ulong checksum, long from, Span<byte> to)
    {
        int skip = (int)(from % 8);
        long word = from / 8;
        Span<byte> edge = stackalloc byte[8];
        while (to.Length > 0)
        {
            ulong text = Filler(checksum, word++);
            if (skip == 0 && to.Length >= 8)
            {
                BinaryPrimitives.WriteUInt64LittleEndian(to, text);
                to = to[8..];
                continue;
            }

            BinaryPrimitives.WriteUInt64LittleEndian(edge, text);
            int count = Math.Min(8 - skip, to.Length);
            edge.Slice(skip, count).CopyTo(to);
            to = to[count..];
            skip = 0;
        }
    }

    /// <summary>Eight letters from '0' to 'o' (48 to 111).</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static ulong Filler(ulong checksum, long word) =>
        (SplitMix.Mix(checksum + (ulong)word) & 0x3F3F3F3F3F3F3F3F) + 0x3030303030303030;

    private static void WriteHex(ulong value, Span<byte> to)
    {
        for (int index = to.Length - 1; index >= 0; index--, value >>= 4)
            to[index] = "0123456789abcdef"u8[(int)(value & 15)];
    }

    private static bool TryHex(ReadOnlySpan<byte> text, out ulong value) =>
        ulong.TryParse(text, NumberStyles.AllowHexSpecifier, CultureInfo.InvariantCulture, out value);
}

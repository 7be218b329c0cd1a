using System.Buffers.Binary;
using System.Diagnostics;
using System.IO.Compression;

namespace RespBenchmark.Measure;

//  compressed:  | 0x1c849314  4 | length of what follows  4 | zlib stream of the plain form |
//  plain:       | 0x1c849313  4 | payload bytes  4 | normalizing offset 0  4 | digits 3  4 |
//               | lowest 1  8 | highest 10^11  8 | ratio 1.0 (double)  8 | payload: counts       |
//
//  All numbers big-endian. The counts, up to that of the largest value, are ZigZag LEB128: 7 bits a byte, lowest
//  first, bit 7 says more follow, the ninth byte holds 8 bits. -n (n > 1) stands for n counters of 0.
//  In text the whole is base64; the cookie and the length's zero byte make it begin with HISTFA.

/// <summary>Histograms in the V2 encoding that HDR tools read.</summary>
/// <remarks>Our counters are HDR's for lowest 1, highest 100 s in ns, 3 digits: same number, same order, same borders
/// (tests compare with what another implementation wrote). Source: the format is described by the HdrHistogram
/// project.</remarks>
internal static class HdrEncoding
{
    public const int PlainCookie = 0x1c849313, CompressedCookie = 0x1c849314;
    private const int HeaderBytes = 40, LebBytesMax = 9;

    /// <summary>The base64 text of the compressed form.</summary>
    public static string ToText(Histogram histogram) => Convert.ToBase64String(Compress(histogram));

    /// <summary>Reads base64 text back. Sum, smallest and largest are those of the counters: to 0.1 %.</summary>
    /// <exception cref="FormatException">It is no such text, or a histogram of another shape; the message says
    /// which.</exception>
    public static Histogram FromText(string text)
    {
        byte[] bytes;
        try
        {
            bytes = Convert.FromBase64String(text);
        }
        catch (FormatException e)
        {
            throw new FormatException("a histogram's text is not base64", e);
        }

        return Decompress(bytes);
    }

    public static byte[] Compress(Histogram histogram)
    {
        using var stream = new MemoryStream();
        Span<byte> header = stackalloc byte[8];
        stream.Write(header);
        using (var zlib = new ZLibStream(stream, CompressionLevel.Optimal, leaveOpen: true))
            zlib.Write(Encode(histogram));
        byte[] bytes = stream.ToArray();
        BinaryPrimitives.WriteInt32BigEndian(bytes, CompressedCookie);
        BinaryPrimitives.WriteInt32BigEndian(bytes.AsSpan(4), bytes.Length - 8);
        return bytes;
    }

    public static Histogram Decompress(ReadOnlySpan<byte> bytes)
    {
        if (bytes.Length < 8 || BinaryPrimitives.ReadInt32BigEndian(bytes) != CompressedCookie)
        {
            throw new FormatException("a histogram does not begin with the cookie of the compressed V2 encoding");
        }

        int length = BinaryPrimitives.ReadInt32BigEndian(bytes[4..]);
        if (length < 0 || length > bytes.Length - 8) throw new FormatException("a histogram is cut short");
        // Bounded: a counter takes 9 bytes at most, whatever the stream says.
        byte[] plain = new byte[HeaderBytes + LebBytesMax * Histogram.CounterCount];
        using var zlib = new ZLibStream(new MemoryStream(bytes.Slice(8, length).ToArray()), CompressionMode.Decompress);
        try
        {
            int read = zlib.ReadAtLeast(plain, plain.Length, throwOnEndOfStream: false);
            return Decode(plain.AsSpan(0, read));
        }
        catch (Exception e) when (e is InvalidDataException or IOException)
        {
            throw new FormatException("a histogram's zlib stream is damaged", e);
        }
    }

    /// <summary>The plain form.</summary>
    public static byte[] Encode(Histogram histogram)
    {
        var counts = histogram.Counts[..(Histogram.IndexOf(histogram.Max) + 1)];
        byte[] bytes = new byte[HeaderBytes + LebBytesMax * counts.Length];
        int used = HeaderBytes;
        for (int index = 0; index < counts.Length; index++)
        {
            long count = counts[index];
            if (count == 0)
            {
                int zeros = 1;
                while (index + 1 < counts.Length && counts[index + 1] == 0)
                {
                    zeros++;
                    index++;
                }

                if (zeros > 1) count = -zeros;
            }

            used += WriteZigZag(bytes.AsSpan(used), count);
        }

        var header = bytes.AsSpan(0, HeaderBytes);
        BinaryPrimitives.WriteInt32BigEndian(header, PlainCookie);
        BinaryPrimitives.WriteInt32BigEndian(header[4..], used - HeaderBytes);
        BinaryPrimitives.WriteInt32BigEndian(header[8..], 0);
        BinaryPrimitives.WriteInt32BigEndian(header[12..], Histogram.Digits);
        BinaryPrimitives.WriteInt64BigEndian(header[16..], 1);
        BinaryPrimitives.WriteInt64BigEndian(header[24..], Histogram.ValueMax);
        BinaryPrimitives.WriteDoubleBigEndian(header[32..], 1.0);
        return bytes[..used];
    }

    public static Histogram Decode(ReadOnlySpan<byte> bytes)
    {
        if (bytes.Length < HeaderBytes || BinaryPrimitives.ReadInt32BigEndian(bytes) != PlainCookie)
        {
            throw new FormatException("a histogram does not begin with the cookie of the V2 encoding");
        }

        int digits = BinaryPrimitives.ReadInt32BigEndian(bytes[12..]);
        long lowest = BinaryPrimitives.ReadInt64BigEndian(bytes[16..]);
        // The highest value only bounds the number of counters: the borders follow from the other two.
        // The normalizing offset says how the writer kept its counts; they are in order here whatever it is.
        if (digits != Histogram.Digits || lowest != 1)
        {
            throw new FormatException(
                $"a histogram of {digits} digits from {lowest} on; only {Histogram.Digits} from 1 on are read");
        }

        int length = BinaryPrimitives.ReadInt32BigEndian(bytes[4..]);
        if (length < 0 || length > bytes.Length - HeaderBytes) throw new FormatException("a histogram is cut short");
        return DecodeCounts(bytes.Slice(HeaderBytes, length));
    }

    private static Histogram DecodeCounts(ReadOnlySpan<byte> payload)
    {
        long[] counts = new long[Histogram.CounterCount];
        int index = 0;
        while (!payload.IsEmpty)
        {
            long count = ReadZigZag(ref payload);
            if (count < 0)
            {
                if (count < -(counts.Length - index))
                    throw new FormatException("a histogram has more counters than 100 s need");
                index += (int)-count;
                continue;
            }

            if (index == counts.Length) throw new FormatException("a histogram has more counters than 100 s need");
            counts[index++] = count;
        }

        return Histogram.FromCounts(counts);
    }

    private static int WriteZigZag(Span<byte> bytes, long value)
    {
        ulong rest = (ulong)((value << 1) ^ (value >> 63));
        for (int index = 0; index < LebBytesMax - 1; index++)
        {
            if (rest < 0x80)
            {
                bytes[index] = (byte)rest;
                return index + 1;
            }

            bytes[index] = (byte)(rest | 0x80);
            rest >>= 7;
        }

        Debug.Assert(rest <= 0xFF, "8 bytes of 7 bits and one of 8 hold all 64");
        bytes[LebBytesMax - 1] = (byte)rest;
        return LebBytesMax;
    }

    private static long ReadZigZag(ref ReadOnlySpan<byte> bytes)
    {
        ulong value = 0;
        for (int index = 0; index < bytes.Length; index++)
        {
            byte next = bytes[index];
            bool last = index == LebBytesMax - 1;
            value |= (ulong)(last ? next : next & 0x7F) << (7 * index);
            if (!last && next >= 0x80) continue;
            bytes = bytes[(index + 1)..];
            return (long)(value >> 1) ^ -(long)(value & 1);
        }

        throw new FormatException("a histogram ends within a count");
    }
}

using System.Buffers.Binary;
using System.IO.Compression;

namespace RespBenchmark.Tests.Reports;

/// <summary>A picture read from PNG: 8 bits a channel, colour with or without alpha, not interlaced, as browsers
/// write.</summary>
internal sealed class PngPicture(int width, int height, byte[] rgb)
{
    public int Width => width;

    public int Height => height;

    /// <summary>How many dots have exactly this colour.</summary>
    public int Count(byte red, byte green, byte blue)
    {
        int count = 0;
        for (int at = 0; at < rgb.Length; at += 3)
        {
            if (rgb[at] == red && rgb[at + 1] == green && rgb[at + 2] == blue) count++;
        }

        return count;
    }

    public static PngPicture Read(byte[] file)
    {
        int width = 0, height = 0, channels = 0;
        using var packed = new MemoryStream();
        for (int at = 8; at < file.Length;)
        {
            int length = BinaryPrimitives.ReadInt32BigEndian(file.AsSpan(at));
            var body = file.AsSpan(at + 8, length);
            if (file.AsSpan(at + 4, 4).SequenceEqual("IHDR"u8))
            {
                (width, height) = (BinaryPrimitives.ReadInt32BigEndian(body),
                    BinaryPrimitives.ReadInt32BigEndian(body[4..]));
                channels = (body[8], body[9], body[12]) switch { (8, 2, 0) => 3, (8, 6, 0) => 4,
                    _ => throw new FormatException("a PNG of another kind") };
            }
            else if (file.AsSpan(at + 4, 4).SequenceEqual("IDAT"u8))
            {
                packed.Write(body);
            }

            at += length + 12;
        }

        packed.Position = 0;
        byte[] lines = new byte[(width * channels + 1) * height];
        using (var zlib = new ZLibStream(packed, CompressionMode.Decompress)) zlib.ReadExactly(lines);
        return new PngPicture(width, height, Unfilter(lines, width, height, channels));
    }

    // Each line begins with the filter that was subtracted: none, left, above, their mean, or the Paeth predictor.
    private static byte[] Unfilter(byte[] lines, int width, int height, int channels)
    {
        int stride = width * channels;
        byte[] previous = new byte[stride], rgb = new byte[width * height * 3];
        for (int y = 0; y < height; y++)
        {
            byte filter = lines[y * (stride + 1)];
            byte[] line = lines.AsSpan(y * (stride + 1) + 1, stride).ToArray();
            for (int i = 0; i < stride; i++)
            {
                int left = i >= channels ? line[i - channels] : 0, above = previous[i],
                    corner = i >= channels ? previous[i - channels] : 0;
                line[i] += (byte)(filter switch { 0 => 0, 1 => left, 2 => above, 3 => (left + above) / 2,
                    _ => Paeth(left, above, corner) });
            }

            for (int x = 0; x < width; x++) line.AsSpan(x * channels, 3).CopyTo(rgb.AsSpan((y * width + x) * 3));
            previous = line;
        }

        return rgb;
    }

    private static int Paeth(int left, int above, int corner)
    {
        int guess = left + above - corner;
        int toLeft = Math.Abs(guess - left), toAbove = Math.Abs(guess - above), toCorner = Math.Abs(guess - corner);
        return toLeft <= toAbove && toLeft <= toCorner ? left : toAbove <= toCorner ? above : corner;
    }
}

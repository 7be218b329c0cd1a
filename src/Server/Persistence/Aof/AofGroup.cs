using System.Diagnostics;
using System.Globalization;
using System.Text;

namespace Kv.Server.Persistence.Aof;

//   #KV1 0000000001f4 00000000004b 0000000001f4 8a9136aa 7d1c0b52\r\n        *3\r\n$3\r\nSET\r\n ...
//        position     length       durable      sum      own                 \____ length bytes ____/
//
//   position  of the '#' in its file: a group that is lost or there twice does not stand where it says
//   length    bytes of the commands that follow
//   durable   up to here the file was on the disk when the group was written: damage before is no torn write;
//             in a file's first line: up to where the file before it counts, as this one has the rest (0: to its end)
//   sum       CRC32C of the commands of this file up to the group's end, begun with the number of the file
//   own       CRC32C of the line up to here, so that a line can be believed alone
//
//   All numbers are hexadecimal, of fixed width. Redis 7 skips lines that begin with '#' between two commands.

/// <summary>The line before each group of commands that was written at once.</summary>
/// <param name="Position">Where the line is in its file.</param>
/// <param name="Length">Bytes of the commands.</param>
/// <param name="Durable">Up to where the file was on the disk by then; in the first line see above.</param>
/// <param name="Sum">Of all commands of the file up to the group's end.</param>
internal readonly record struct AofGroup(long Position, long Length, long Durable, uint Sum)
{
    public const int LineBytes = 63;

    private const int OwnSumAt = 53, SumAt = 44, DurableAt = 31, LengthAt = 18, PositionAt = 5;

    public static ReadOnlySpan<byte> Prefix => "#KV1 "u8;

    /// <summary>Up to where this file was on the disk when the line was written.</summary>
    public long DurableHere => Position == 0 ? 0 : Durable;

    /// <summary>Up to where the file before this one counts; null: to its end.</summary>
    public long? EarlierLength => Position == 0 && Durable > 0 ? Durable : null;

    /// <summary>What the sum of a file begins with: files that were exchanged do not fit.</summary>
    public static uint FirstSum(long sequence) =>
        AofSum.Add(0, Encoding.ASCII.GetBytes(sequence.ToString(CultureInfo.InvariantCulture)));

    /// <summary>Writes the line.</summary>
    public void Write(Span<byte> line)
    {
        Debug.Assert(line.Length == LineBytes, "the line has one length");
        Debug.Assert(Position >= 0 && Length >= 0 && Durable >= 0 && DurableHere <= Position,
            "what is durable was written");
        line.Fill((byte)' ');
        Prefix.CopyTo(line);
        Put(line[PositionAt..], Position, 12);
        Put(line[LengthAt..], Length, 12);
        Put(line[DurableAt..], Durable, 12);
        Put(line[SumAt..], Sum, 8);
        Put(line[OwnSumAt..], AofSum.Add(0, line[..OwnSumAt]), 8);
        "\r\n"u8.CopyTo(line[(LineBytes - 2)..]);
    }

    /// <summary>Reads a line.</summary>
    /// <returns>False when it is none, or is damaged.</returns>
    public static bool TryRead(ReadOnlySpan<byte> line, out AofGroup group)
    {
        group = default;
        if (line.Length < LineBytes || !line.StartsWith(Prefix) || !line[..LineBytes].EndsWith("\r\n"u8)) return false;
        if (!TryGet(line.Slice(OwnSumAt, 8), out long own) || own != AofSum.Add(0, line[..OwnSumAt])) return false;
        if (!TryGet(line.Slice(PositionAt, 12), out long position) || !TryGet(line.Slice(LengthAt, 12), out long length)
            || !TryGet(line.Slice(DurableAt, 12), out long durable) || !TryGet(line.Slice(SumAt, 8), out long sum))
            return false;
        group = new AofGroup(position, length, durable, (uint)sum);
        return true;
    }

    private static void Put(Span<byte> text, long value, int digits)
    {
        for (int i = digits - 1; i >= 0; i--, value >>= 4) text[i] = "0123456789abcdef"u8[(int)(value & 15)];
        Debug.Assert(value == 0, "a file is shorter than 256 TB");
    }

    private static bool TryGet(ReadOnlySpan<byte> text, out long value)
    {
        value = 0;
        foreach (byte digit in text)
        {
            // Small letters only: a bit that turns one into a capital is found, too.
            int place = digit switch
            {
                >= (byte)'0' and <= (byte)'9' => digit - '0',
                >= (byte)'a' and <= (byte)'f' => digit - 'a' + 10,
                _ => -1,
            };
            if (place < 0) return false;
            value = (value << 4) | (uint)place;
        }

        return true;
    }
}

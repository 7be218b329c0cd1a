using Kv.Protocol;

namespace Kv.Server.Effects;

/// <summary>SELECT, as it stands in the feed before what is done in another database.</summary>
internal static class SelectCommand
{
    /// <summary>What it takes at most.</summary>
    public const int BytesMax = 64;

    /// <summary>The command that selects a database.</summary>
    public static byte[] Of(int database)
    {
        Span<byte> command = stackalloc byte[BytesMax];
        return command[..Write(command, database)].ToArray();
    }

    /// <summary>Writes it.</summary>
    /// <param name="destination">Of <see cref="BytesMax"/> bytes.</param>
    /// <returns>The bytes written.</returns>
    public static int Write(Span<byte> destination, int database)
    {
        Span<byte> digits = stackalloc byte[NumberText.MaxInt64Bytes];
        digits = digits[..NumberText.FormatInt64(database, digits)];
        int length = Put(destination, 0, "*2\r\n$6\r\nSELECT\r\n$"u8);
        length += NumberText.FormatInt64(digits.Length, destination[length..]);
        length = Put(destination, length, "\r\n"u8);
        length = Put(destination, length, digits);
        return Put(destination, length, "\r\n"u8);
    }

    private static int Put(Span<byte> destination, int at, ReadOnlySpan<byte> bytes)
    {
        bytes.CopyTo(destination[at..]);
        return at + bytes.Length;
    }
}

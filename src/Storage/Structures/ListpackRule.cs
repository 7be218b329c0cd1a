namespace Kv.Storage;

/// <summary>When Redis keeps a list as one listpack, so that OBJECT ENCODING says the same; and how long a listpack is,
/// as streams are divided by that.</summary>
/// <remarks>Source: the format of listpacks and the meaning of list-max-listpack-size in Redis 7.2.</remarks>
internal static class ListpackRule
{
    /// <summary>Bytes of a listpack without elements.</summary>
    public const int EmptyBytes = 7;

    private const int SafeBytes = 8192;

    /// <summary>Whether a list is too large for one listpack once it has got some elements.</summary>
    /// <param name="limit">list-max-listpack-size.</param>
    /// <param name="bytes">Of the listpack, and of the elements as they are sent.</param>
    /// <param name="count">Of the elements then.</param>
    public static bool IsTooLarge(long limit, long bytes, long count) =>
        limit < 0 ? bytes > MostBytes(limit) : bytes > SafeBytes || count > Math.Max(1, limit);

    /// <summary>Whether a list that got shorter is one listpack again: at half of what would make it two.</summary>
    public static bool IsSmall(long limit, long bytes, long count) =>
        limit < 0 ? bytes <= MostBytes(limit) / 2 : bytes <= SafeBytes && count <= Math.Max(1, limit) / 2;

    /// <summary>Bytes that an element has in a listpack: integers are shorter there.</summary>
    public static int SizeOf(ReadOnlySpan<byte> element)
    {
        if (element.Length <= 20 && element.Length > 0 && element[0] <= '9'
            && IntegerText.TryParse(element, out long number))
        {
            return SizeOf(number);
        }

        int size = element.Length + (element.Length < 64 ? 1 : element.Length < 4096 ? 2 : 5);
        // The length once more behind the element, 7 bits a byte.
        return size + (size < 1 << 7 ? 1 : size < 1 << 14 ? 2 : size < 1 << 21 ? 3 : size < 1 << 28 ? 4 : 5);
    }

    /// <summary>Bytes that an integer has there.</summary>
    public static int SizeOf(long number) => number is >= 0 and <= 127 ? 2
        : number is >= -4096 and <= 4095 ? 3
        : number == (short)number ? 4
        : number is >= -(1 << 23) and < 1 << 23 ? 5
        : number == (int)number ? 6 : 10;

    private static long MostBytes(long limit) => 4096L << (int)Math.Min(4, -limit - 1);
}

using System.Globalization;

namespace Kv.Server.Configuration;

/// <summary>Sizes as people write them: <c>100mb</c>. Without b after it, a unit counts in thousands.</summary>
public static class MemorySize
{
    /// <summary>A size in the largest unit that it is a multiple of; <see cref="TryParse"/> reads it back.</summary>
    public static string Shorten(long bytes)
    {
        (int shift, string unit) = bytes == 0 ? (0, "")
            : bytes % (1L << 30) == 0 ? (30, "gb")
            : bytes % (1L << 20) == 0 ? (20, "mb")
            : bytes % (1L << 10) == 0 ? (10, "kb") : (0, "");
        return string.Create(CultureInfo.InvariantCulture, $"{bytes >> shift}{unit}");
    }

    /// <summary>Reads digits and a unit: none, b, k, kb, m, mb, g, gb, in any case; k is 1000, kb is 1024.</summary>
    /// <param name="text">An empty text is 0, as clients of CONFIG SET expect.</param>
    /// <param name="bytes">The size; <see cref="ulong.MaxValue"/> when it is larger than that.</param>
    /// <returns>False when it is not a size.</returns>
    public static bool TryParse(ReadOnlySpan<char> text, out ulong bytes)
    {
        bytes = 0;
        int digits = 0;
        while (digits < text.Length && char.IsAsciiDigit(text[digits])) digits++;
        if (digits == 0 && text.Length > 0) return false;
        if (!TryReadUnit(text[digits..], out ulong unit)) return false;

        // Saturates: the range check says the rest.
        ulong count = 0;
        foreach (char digit in text[..digits]) count = Add(Multiply(count, 10), (uint)(digit - '0'));
        bytes = Multiply(count, unit);
        return true;
    }

    private static ulong Add(ulong a, ulong b) => a > ulong.MaxValue - b ? ulong.MaxValue : a + b;

    private static ulong Multiply(ulong a, ulong b) => Math.BigMul(a, b, out ulong low) != 0 ? ulong.MaxValue : low;

    /// <summary>A size for people, as INFO writes it: <c>512B</c>, <c>1.50K</c>, <c>2.00G</c>; units of 1024.</summary>
    public static string ToText(ulong bytes)
    {
        ReadOnlySpan<char> units = "BKMGTPE";
        if (bytes < 1024) return bytes.ToString(CultureInfo.InvariantCulture) + "B";
        double size = bytes;
        int unit = 0;
        for (; size >= 1024 && unit < units.Length - 1; unit++) size /= 1024;
        return size.ToString("F2", CultureInfo.InvariantCulture) + units[unit];
    }

    private static bool TryReadUnit(ReadOnlySpan<char> unit, out ulong factor)
    {
        factor = 1;
        if (unit.Length == 0 || unit is "b" or "B") return true;
        factor = (unit[0] | 0x20) switch
        {
            'k' => 1,
            'm' => 2,
            'g' => 3,
            _ => 0,
        };
        if (factor == 0 || unit.Length > 2 || (unit.Length == 2 && (unit[1] | 0x20) != 'b')) return false;
        factor = Power(unit.Length == 2 ? 1024UL : 1000UL, (int)factor);
        return true;
    }

    private static ulong Power(ulong number, int exponent) =>
        exponent == 1 ? number : number * Power(number, exponent - 1);
}

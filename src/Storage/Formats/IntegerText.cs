using System.Diagnostics;

namespace Kv.Storage;

/// <summary>64-bit integers as text, exactly as they are written: no sign of plus, no zeros ahead, no spaces.</summary>
internal static class IntegerText
{
    /// <summary>Most bytes of one.</summary>
    public const int DigitsMax = 20;

    /// <summary>Writes one.</summary>
    /// <param name="digits">At least <see cref="DigitsMax"/> bytes.</param>
    /// <returns>The part of them that it takes.</returns>
    public static ReadOnlySpan<byte> Format(long number, Span<byte> digits)
    {
        Debug.Assert(digits.Length >= DigitsMax, "there is room for any number");
        System.Buffers.Text.Utf8Formatter.TryFormat(number, digits, out int length);
        return digits[..length];
    }

    /// <summary>Reads one.</summary>
    /// <returns>False: the bytes are none.</returns>
    public static bool TryParse(ReadOnlySpan<byte> text, out long number)
    {
        number = 0;
        if (text.Length is 0 or > DigitsMax) return false;
        bool isNegative = text[0] == '-';
        ReadOnlySpan<byte> digits = isNegative ? text[1..] : text;
        if (digits.Length == 0 || (digits[0] == '0' && (digits.Length > 1 || isNegative))) return false;
        ulong value = 0;
        foreach (byte digit in digits)
        {
            uint next = digit - (uint)'0';
            if (next > 9 || value > (ulong.MaxValue - next) / 10) return false;
            value = (value * 10) + next;
        }

        if (value > (ulong)long.MaxValue + (isNegative ? 1UL : 0)) return false;
        number = isNegative ? unchecked((long)(0 - value)) : (long)value;
        return true;
    }
}

using System.Buffers.Text;
using System.Globalization;

namespace Kv.Lua;

/// <summary>Numbers to text and back, as C's printf and strtod do it for Lua.</summary>
internal static class NumberSyntax
{
    private const int TextMax = 64;

    // Above, "%.14g" has an exponent.
    private const double PlainMax = 1e14;

    /// <summary>The text of a number, as tostring gives it: "%.14g".</summary>
    public static LuaString Format(double number)
    {
        Span<byte> text = stackalloc byte[TextMax];
        return new LuaString(text[..Format(number, text)]);
    }

    /// <summary>Writes the text of a number.</summary>
    /// <returns>Its bytes, at most 32.</returns>
    public static int Format(double number, Span<byte> text)
    {
        if (number == Math.Floor(number) && Math.Abs(number) < PlainMax && (number != 0 || !double.IsNegative(number)))
        {
            Utf8Formatter.TryFormat((long)number, text, out int written);
            return written;
        }

        string general = CFormat.General(number, 14, keepZeros: false, upper: false);
        return System.Text.Encoding.ASCII.GetBytes(general, text);
    }

    /// <summary>Reads a number with white space around it: decimal, hexadecimal, inf or nan, as strtod takes
    /// them.</summary>
    public static bool TryParse(ReadOnlySpan<byte> text, out double number)
    {
        text = Trim(text);
        number = 0;
        if (text.IsEmpty) return false;
        bool negative = text[0] == '-';
        if (text[0] is (byte)'-' or (byte)'+') text = text[1..];
        if (text.IsEmpty) return false;

        bool isRead;
        if (text.Length > 2 && text[0] == '0' && (text[1] | 0x20) == 'x')
            isRead = TryHexadecimal(text[2..], out number);
        else if (IsDigit(text[0]) || text[0] == '.') isRead = TryDecimal(text, out number);
        else isRead = TryWord(text, out number);
        if (negative) number = -number;
        return isRead;
    }

    public static bool IsSpace(byte c) => c is (byte)' ' or (>= 9 and <= 13);

    public static bool IsDigit(byte c) => (uint)(c - '0') <= 9;

    /// <summary>The value of a digit in a base of up to 36; 36 for what is none.</summary>
    public static int DigitOf(byte c)
    {
        if (IsDigit(c)) return c - '0';
        int letter = (c | 0x20) - 'a';
        return (uint)letter < 26 ? letter + 10 : 36;
    }

    private static ReadOnlySpan<byte> Trim(ReadOnlySpan<byte> text)
    {
        while (!text.IsEmpty && IsSpace(text[0])) text = text[1..];
        while (!text.IsEmpty && IsSpace(text[^1])) text = text[..^1];
        return text;
    }

    private static bool TryDecimal(ReadOnlySpan<byte> text, out double number)
    {
        // Only what strtod takes: digits with at most one point, and an exponent with at least one digit.
        number = 0;
        int at = 0, digits = 0;
        for (; at < text.Length && IsDigit(text[at]); at++) digits++;
        if (at < text.Length && text[at] == '.')
            for (at++; at < text.Length && IsDigit(text[at]); at++) digits++;
        if (digits == 0) return false;
        if (at < text.Length && (text[at] | 0x20) == 'e')
        {
            at++;
            if (at < text.Length && text[at] is (byte)'+' or (byte)'-') at++;
            int exponent = at;
            while (at < text.Length && IsDigit(text[at])) at++;
            if (at == exponent) return false;
        }

        return at == text.Length && double.TryParse(text, NumberStyles.Float, CultureInfo.InvariantCulture, out number);
    }

    private static bool TryHexadecimal(ReadOnlySpan<byte> text, out double number)
    {
        number = 0;
        int digits = 0, point = -1, at = 0, exponent = 0;
        for (; at < text.Length; at++)
        {
            if (text[at] == '.' && point < 0)
            {
                point = digits;
                continue;
            }

            int digit = DigitOf(text[at]);
            if (digit >= 16) break;
            number = (number * 16) + digit;
            digits++;
        }

        if (digits == 0) return false;
        if (point >= 0) exponent = -4 * (digits - point);
        if (at < text.Length && (text[at] | 0x20) == 'p')
        {
            if (!Utf8Parser.TryParse(text[(at + 1)..], out int power, out int used) || used == 0) return false;
            exponent += power;
            at += 1 + used;
        }

        number = Math.ScaleB(number, exponent);
        return at == text.Length;
    }

    private static bool TryWord(ReadOnlySpan<byte> text, out double number)
    {
        Span<byte> lower = stackalloc byte[8];
        number = 0;
        if (text.Length > lower.Length) return false;
        for (int i = 0; i < text.Length; i++) lower[i] = (byte)(text[i] | 0x20);
        lower = lower[..text.Length];
        if (lower.SequenceEqual("inf"u8) || lower.SequenceEqual("infinity"u8)) number = double.PositiveInfinity;
        else if (lower.SequenceEqual("nan"u8)) number = -double.NaN;    // .NET's NaN has the sign set, C's has not
        else return false;
        return true;
    }
}

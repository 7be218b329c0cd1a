namespace Kv.Protocol;

//   -12.5e3     0x1.8p-2     +inf     Infinity
//   ^\/ ^ ^
//   sign, whole digits, fraction digits, exponent (of ten; of two in hexadecimal)

/// <summary>The parts of a floating-point number's text, by the grammar of C's strtod.</summary>
internal readonly ref struct FloatText
{
    /// <summary>Exponents are cut off here: far beyond any that a format or a text of 5 KB can bring back.</summary>
    private const int ExponentMax = 10_000_000;

    private FloatText(bool negative, bool infinity, bool hex, ReadOnlySpan<byte> whole, ReadOnlySpan<byte> fraction,
        int exponent)
    {
        IsNegative = negative;
        IsInfinity = infinity;
        IsHex = hex;
        Whole = whole;
        Fraction = fraction;
        Exponent = exponent;
    }

    public bool IsNegative { get; }

    public bool IsInfinity { get; }

    public bool IsHex { get; }

    public ReadOnlySpan<byte> Whole { get; }

    public ReadOnlySpan<byte> Fraction { get; }

    public int Exponent { get; }

    /// <summary>Whether any digit is not 0.</summary>
    public bool HasValue => Whole.ContainsAnyExcept((byte)'0') || Fraction.ContainsAnyExcept((byte)'0');

    /// <summary>Takes the text apart; false unless all of it is a number. NaN is none.</summary>
    public static bool TryScan(ReadOnlySpan<byte> text, out FloatText parts)
    {
        parts = default;
        bool negative = text.Length > 0 && text[0] == '-';
        ReadOnlySpan<byte> rest = negative || (text.Length > 0 && text[0] == '+') ? text[1..] : text;
        if (EqualsIgnoreCase(rest, "inf"u8) || EqualsIgnoreCase(rest, "infinity"u8))
        {
            parts = new FloatText(negative, true, false, default, default, 0);
            return true;
        }

        bool hex = rest.Length > 2 && rest[0] == '0' && (rest[1] | 0x20) == 'x';
        if (hex) rest = rest[2..];
        ReadOnlySpan<byte> whole = TakeDigits(ref rest, hex);
        ReadOnlySpan<byte> fraction = default;
        if (rest.Length > 0 && rest[0] == '.')
        {
            rest = rest[1..];
            fraction = TakeDigits(ref rest, hex);
        }

        if (whole.Length + fraction.Length == 0) return false;
        int exponent = 0;
        if (rest.Length > 0 && !TryTakeExponent(rest, hex ? (byte)'p' : (byte)'e', out exponent)) return false;
        parts = new FloatText(negative, false, hex, whole, fraction, exponent);
        return true;
    }

    private static ReadOnlySpan<byte> TakeDigits(scoped ref ReadOnlySpan<byte> rest, bool hex)
    {
        int count = 0;
        while (count < rest.Length
            && (hex ? char.IsAsciiHexDigit((char)rest[count]) : char.IsAsciiDigit((char)rest[count])))
            count++;
        ReadOnlySpan<byte> digits = rest[..count];
        rest = rest[count..];
        return digits;
    }

    private static bool TryTakeExponent(ReadOnlySpan<byte> rest, byte mark, out int exponent)
    {
        exponent = 0;
        if ((rest[0] | 0x20) != mark) return false;
        rest = rest[1..];
        bool negative = rest.Length > 0 && rest[0] == '-';
        if (negative || (rest.Length > 0 && rest[0] == '+')) rest = rest[1..];
        if (rest.Length == 0) return false;
        foreach (byte c in rest)
        {
            if (!char.IsAsciiDigit((char)c)) return false;
            exponent = Math.Min((exponent * 10) + (c - '0'), ExponentMax);
        }

        if (negative) exponent = -exponent;
        return true;
    }

    private static bool EqualsIgnoreCase(ReadOnlySpan<byte> text, ReadOnlySpan<byte> lower)
    {
        if (text.Length != lower.Length) return false;
        for (int index = 0; index < text.Length; index++)
            if ((text[index] | 0x20) != lower[index]) return false;
        return true;
    }
}

using System.Diagnostics;
using System.Globalization;

namespace Kv.Storage;

/// <summary>Scores as text, as a sorted set has them in a listpack, and in the oldest files.</summary>
internal static class ScoreText
{
    /// <summary>Most bytes of one.</summary>
    public const int BytesMax = 32;

    private const int Digits = 17;

    /// <summary>Writes it with 17 digits, as Redis 7.0 does: C's %.17g.</summary>
    /// <returns>The bytes written.</returns>
    public static int Format(double score, Span<byte> text)
    {
        Debug.Assert(!double.IsNaN(score) && text.Length >= BytesMax, "a score is a number, and there is room for it");
        if (double.IsInfinity(score)) return Put(score > 0 ? "inf"u8 : "-inf"u8, text);
        if (score == 0) return Put(double.IsNegative(score) ? "-0"u8 : "0"u8, text);
        // d.ddddddddddddddddE+ddd
        Span<byte> exact = stackalloc byte[BytesMax];
        score.TryFormat(exact, out int length, "E16", CultureInfo.InvariantCulture);
        int at = 0;
        if (exact[0] == '-')
        {
            text[at++] = (byte)'-';
            exact = exact[1..];
            length--;
        }

        exact[1] = exact[0];
        ReadOnlySpan<byte> digits = exact.Slice(1, Digits);
        int exponent = 0;
        for (int i = 3 + Digits; i < length; i++) exponent = (exponent * 10) + (exact[i] - '0');
        if (exact[Digits + 2] == '-') exponent = -exponent;
        digits = digits.TrimEnd((byte)'0');
        return exponent is < -4 or >= Digits ? at + PutScientific(digits, exponent, text[at..])
            : at + PutPlain(digits, exponent, text[at..]);
    }

    /// <summary>Reads one: a number, or an infinity.</summary>
    /// <returns>False for what is none, and for NaN.</returns>
    public static bool TryParse(ReadOnlySpan<byte> text, out double score)
    {
        if (text.Length <= 20 && IntegerText.TryParse(text, out long number))
        {
            score = number;
            return true;
        }

        ReadOnlySpan<byte> unsigned = text.Length > 0 && text[0] is (byte)'-' or (byte)'+' ? text[1..] : text;
        if (unsigned.SequenceEqual("inf"u8))
        {
            score = text[0] == '-' ? double.NegativeInfinity : double.PositiveInfinity;
            return true;
        }

        const NumberStyles styles = NumberStyles.AllowLeadingSign | NumberStyles.AllowDecimalPoint
            | NumberStyles.AllowExponent;
        score = 0;
        // A digit or a point first: no word that a culture has for what is no number.
        return unsigned.Length > 0 && (char.IsAsciiDigit((char)unsigned[0]) || unsigned[0] == '.')
            && double.TryParse(text, styles, CultureInfo.InvariantCulture, out score) && double.IsFinite(score);
    }

    private static int PutPlain(ReadOnlySpan<byte> digits, int exponent, Span<byte> text)
    {
        int at = 0;
        if (exponent < 0)
        {
            at = Put("0."u8, text);
            for (int i = -1; i > exponent; i--) text[at++] = (byte)'0';
        }

        for (int i = 0; i < Math.Max(digits.Length, exponent + 1); i++)
        {
            if (i == exponent + 1 && exponent >= 0) text[at++] = (byte)'.';
            text[at++] = i < digits.Length ? digits[i] : (byte)'0';
        }

        return at;
    }

    private static int PutScientific(ReadOnlySpan<byte> digits, int exponent, Span<byte> text)
    {
        text[0] = digits[0];
        int at = 1;
        if (digits.Length > 1)
        {
            text[at++] = (byte)'.';
            at += Put(digits[1..], text[at..]);
        }

        text[at++] = (byte)'e';
        text[at++] = exponent < 0 ? (byte)'-' : (byte)'+';
        int magnitude = Math.Abs(exponent);
        if (magnitude < 10) text[at++] = (byte)'0';
        magnitude.TryFormat(text[at..], out int length, default, CultureInfo.InvariantCulture);
        return at + length;
    }

    private static int Put(ReadOnlySpan<byte> from, Span<byte> text)
    {
        from.CopyTo(text);
        return from.Length;
    }
}

using System.Diagnostics;
using System.Globalization;

namespace Kv.Lua;

/// <summary>Floating-point conversions of C's printf.</summary>
internal static class CFormat
{
    private const int ScientificMax = 32;

    private static readonly string[] s_scientific =
        [.. Enumerable.Range(0, 15).Select(precision => "E" + Math.Max(0, precision - 1))];

    /// <summary>"%.{precision}g".</summary>
    /// <param name="keepZeros">The flag '#': zeros at the end stay.</param>
    public static string General(double number, int precision, bool keepZeros, bool upper)
    {
        if (!double.IsFinite(number)) return NotFinite(number, upper);
        if (precision == 0) precision = 1;
        string scientific = Math.Abs(number).ToString("E" + (precision - 1).ToString(CultureInfo.InvariantCulture),
            CultureInfo.InvariantCulture);
        int mark = scientific.IndexOf('E', StringComparison.Ordinal);
        int exponent = int.Parse(scientific.AsSpan(mark + 1), NumberStyles.AllowLeadingSign,
            CultureInfo.InvariantCulture);
        string digits = scientific[..mark].Replace(".", "", StringComparison.Ordinal);
        string sign = double.IsNegative(number) ? "-" : "";

        if (exponent < -4 || exponent >= precision)
        {
            string mantissa = digits.Length > 1 ? digits[..1] + "." + digits[1..] : digits;
            return sign + Cut(mantissa, keepZeros) + Exponent(exponent, upper);
        }

        string plain = exponent < 0
            ? "0." + new string('0', -exponent - 1) + digits
            : digits.Length > exponent + 1 ? digits[..(exponent + 1)] + "." + digits[(exponent + 1)..] : digits;
        return sign + Cut(plain, keepZeros);
    }

    /// <summary>"%.{precision}g" of a finite number, without an object.</summary>
    /// <returns>Bytes written.</returns>
    public static int General(double number, int precision, Span<byte> text)
    {
        // d.ddd…E+xxx: the digits, then the exponent.
        Span<byte> scientific = stackalloc byte[ScientificMax];
        bool isMade = Math.Abs(number).TryFormat(scientific, out int length, s_scientific[precision],
            CultureInfo.InvariantCulture);
        Debug.Assert(isMade, "the longest number has room");
        int mark = scientific[..length].IndexOf((byte)'E'), exponent = 0;
        foreach (byte digit in scientific[(mark + 2)..length]) exponent = (exponent * 10) + digit - '0';
        if (scientific[mark + 1] == '-') exponent = -exponent;
        var digits = scientific[..mark];
        if (mark > 1)
        {
            scientific[1] = scientific[0];
            digits = scientific[1..mark];
        }

        digits = digits.TrimEnd((byte)'0');
        int at = 0;
        if (double.IsNegative(number)) text[at++] = (byte)'-';
        if (digits.IsEmpty)
        {
            text[at++] = (byte)'0';
            return at;
        }

        return at + (exponent < -4 || exponent >= precision ? WithExponent(digits, exponent, text[at..])
            : Plain(digits, exponent, text[at..]));
    }

    private static int Plain(ReadOnlySpan<byte> digits, int exponent, Span<byte> text)
    {
        if (exponent < 0)
        {
            int zeros = -exponent;       // with that before the point
            text[..zeros].Fill((byte)'0');
            digits.CopyTo(text[zeros..]);
            return InsertPoint(text, 1, zeros + digits.Length);
        }

        digits.CopyTo(text);
        int whole = exponent + 1;
        if (digits.Length > whole) return InsertPoint(text, whole, digits.Length);
        text[digits.Length..whole].Fill((byte)'0');
        return whole;
    }

    private static int WithExponent(ReadOnlySpan<byte> digits, int exponent, Span<byte> text)
    {
        digits.CopyTo(text);
        int at = digits.Length > 1 ? InsertPoint(text, 1, digits.Length) : 1;
        text[at++] = (byte)'e';
        text[at++] = exponent < 0 ? (byte)'-' : (byte)'+';
        int rest = Math.Abs(exponent);
        if (rest >= 100) text[at++] = (byte)('0' + (rest / 100));
        text[at++] = (byte)('0' + (rest / 10 % 10));
        text[at++] = (byte)('0' + (rest % 10));
        return at;
    }

    private static int InsertPoint(Span<byte> text, int place, int length)
    {
        text[place..length].CopyTo(text[(place + 1)..]);
        text[place] = (byte)'.';
        return length + 1;
    }

    /// <summary>"%.{precision}e".</summary>
    public static string Scientific(double number, int precision, bool upper)
    {
        if (!double.IsFinite(number)) return NotFinite(number, upper);
        string scientific = Math.Abs(number).ToString("E" + precision.ToString(CultureInfo.InvariantCulture),
            CultureInfo.InvariantCulture);
        int mark = scientific.IndexOf('E', StringComparison.Ordinal);
        int exponent = int.Parse(scientific.AsSpan(mark + 1), NumberStyles.AllowLeadingSign,
            CultureInfo.InvariantCulture);
        return (double.IsNegative(number) ? "-" : "") + scientific[..mark] + Exponent(exponent, upper);
    }

    /// <summary>"%.{precision}f".</summary>
    public static string Fixed(double number, int precision)
    {
        if (!double.IsFinite(number)) return NotFinite(number, upper: false);
        string text = Math.Abs(number).ToString("F" + precision.ToString(CultureInfo.InvariantCulture),
            CultureInfo.InvariantCulture);
        return double.IsNegative(number) ? "-" + text : text;
    }

    /// <summary>What the flag '#' adds: the point of a number that has none.</summary>
    public static string WithPoint(string text)
    {
        if (text.Contains('.', StringComparison.Ordinal)) return text;
        int exponent = text.AsSpan().IndexOfAny('e', 'E');
        return text.Insert(exponent < 0 ? text.Length : exponent, ".");
    }

    private static string NotFinite(double number, bool upper)
    {
        string text = (double.IsNegative(number) ? "-" : "") + (double.IsNaN(number) ? "nan" : "inf");
        return upper ? text.ToUpperInvariant() : text;
    }

    // At least two digits.
    private static string Exponent(int exponent, bool upper) =>
        (upper ? "E" : "e") + (exponent < 0 ? "-"
            : "+") + Math.Abs(exponent).ToString("00", CultureInfo.InvariantCulture);

    private static string Cut(string text, bool keepZeros) =>
        keepZeros || !text.Contains('.', StringComparison.Ordinal) ? text : text.TrimEnd('0').TrimEnd('.');
}

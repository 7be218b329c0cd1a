using System.Globalization;

namespace Kv.Lua;

/// <summary>Floating-point conversions of C's printf.</summary>
internal static class CFormat
{
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

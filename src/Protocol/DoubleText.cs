using System.Diagnostics;
using System.Globalization;
using System.Numerics;

namespace Kv.Protocol;

/// <summary>Doubles to and from text: what strtod takes, and the form that Redis 7.2 writes.</summary>
internal static class DoubleText
{
    private const long ExactIntegers = 1L << 52;
    private const int SignificandBits = 53;
    private const int MinExponent = -1074;
    private const int ZerosAppendedMax = 7;
    private const int ShortestDigitsMax = 17;

    public static bool TryParse(ReadOnlySpan<byte> text, out double value)
    {
        value = 0;
        if (!FloatText.TryScan(text, out FloatText parts)) return false;
        if (parts.IsInfinity)
        {
            value = parts.IsNegative ? double.NegativeInfinity : double.PositiveInfinity;
            return true;
        }

        if (parts.IsHex) value = FromHex(parts);
        else if (!double.TryParse(text, NumberStyles.Float, CultureInfo.InvariantCulture, out value)) return false;

        // Out of range, above or below, is refused; a denormal is not.
        return double.IsFinite(value) && (value != 0 || !parts.HasValue);
    }

    //  digits and exponent K: value = digits × 10^K, n digits
    //   0 <= K, K + n - 1 < n + 7          digits, then K zeros                    1230000
    //   K < 0 and (K > -7 or |K+n-1| < 4)  a decimal point                         0.0012  12.34
    //   else                               d.ddd e±x                               1e+20  1.5e-7
    public static int Format(double value, Span<byte> destination)
    {
        if (TryFormatSpecial(value, destination, out int length)) return length;
        if (Math.Abs(value) < ExactIntegers && value == (long)value)
            return NumberText.FormatInt64((long)value, destination);

        Span<byte> buffer = stackalloc byte[ShortestDigitsMax];
        ReadOnlySpan<byte> digits = buffer[..ShortestDigits(Math.Abs(value), buffer, out int exponent)];
        if (value < 0) destination[length++] = (byte)'-';
        int scientific = Math.Abs(exponent + digits.Length - 1);
        if (exponent >= 0 && scientific < digits.Length + ZerosAppendedMax)
        {
            digits.CopyTo(destination[length..]);
            destination.Slice(length + digits.Length, exponent).Fill((byte)'0');
            return length + digits.Length + exponent;
        }

        return length + (exponent < 0 && (exponent > -ZerosAppendedMax || scientific < 4)
            ? FormatPoint(digits, exponent, destination[length..])
            : FormatScientific(digits, exponent, destination[length..]));
    }

    private static bool TryFormatSpecial(double value, Span<byte> destination, out int length)
    {
        ReadOnlySpan<byte> text = double.IsNaN(value) ? "nan"u8
            : double.IsPositiveInfinity(value) ? "inf"u8
            : double.IsNegativeInfinity(value) ? "-inf"u8
            : value == 0 && double.IsNegative(value) ? "-0"u8
            : default;
        text.CopyTo(destination);
        length = text.Length;
        return length > 0;
    }

    private static int FormatPoint(ReadOnlySpan<byte> digits, int exponent, Span<byte> destination)
    {
        int whole = digits.Length + exponent;
        int length = 0;
        if (whole <= 0)
        {
            destination[length++] = (byte)'0';
            destination[length++] = (byte)'.';
            destination.Slice(length, -whole).Fill((byte)'0');
            length -= whole;
            digits.CopyTo(destination[length..]);
            return length + digits.Length;
        }

        digits[..whole].CopyTo(destination);
        destination[whole] = (byte)'.';
        digits[whole..].CopyTo(destination[(whole + 1)..]);
        return digits.Length + 1;
    }

    private static int FormatScientific(ReadOnlySpan<byte> digits, int exponent, Span<byte> destination)
    {
        int power = exponent + digits.Length - 1;
        int length = 0;
        destination[length++] = digits[0];
        if (digits.Length > 1)
        {
            destination[length++] = (byte)'.';
            digits[1..].CopyTo(destination[length..]);
            length += digits.Length - 1;
        }

        destination[length++] = (byte)'e';
        destination[length++] = power < 0 ? (byte)'-' : (byte)'+';
        return length + NumberText.FormatInt64(Math.Abs(power), destination[length..]);
    }

    /// <summary>The fewest digits that read back the same: value = digits × 10^exponent, no trailing zeros.</summary>
    private static int ShortestDigits(double value, Span<byte> digits, out int exponent)
    {
        Span<byte> text = stackalloc byte[NumberText.MaxDoubleBytes];
        bool fits = value.TryFormat(text, out int length, "R", CultureInfo.InvariantCulture);
        Debug.Assert(fits, "the shortest form of a double has at most 24 characters");

        int count = 0;
        exponent = 0;
        bool fraction = false;
        for (int index = 0; index < length; index++)
        {
            byte c = text[index];
            if (c == '.')
            {
                fraction = true;
            }
            else if (c == 'E')
            {
                exponent += int.Parse(text[(index + 1)..length], NumberStyles.AllowLeadingSign,
                    CultureInfo.InvariantCulture);
                break;
            }
            else
            {
                if (fraction) exponent--;
                if (count == 0 && c == '0') continue;
                if (count < digits.Length) digits[count++] = c;
                else exponent++;            // only a zero can follow 17 digits
            }
        }

        for (; digits[count - 1] == '0'; count--) exponent++;
        return count;
    }

    /// <summary>Rounds hexadecimal digits to nearest, ties to even, as strtod does.</summary>
    private static double FromHex(in FloatText parts)
    {
        // 60 bits and whether more follows; each digit passed over is worth 4 of the exponent.
        ulong bits = 0;
        bool more = false;
        int exponent = parts.Exponent - (4 * parts.Fraction.Length);
        for (int index = 0; index < parts.Whole.Length + parts.Fraction.Length; index++)
        {
            byte c = index < parts.Whole.Length ? parts.Whole[index] : parts.Fraction[index - parts.Whole.Length];
            uint digit = (c & 0xFu) + (c > '9' ? 9u : 0);
            if (bits >> 56 == 0)
            {
                bits = (bits << 4) | digit;
            }
            else
            {
                more |= digit != 0;
                exponent += 4;
            }
        }

        if (bits == 0) return parts.IsNegative ? -0.0 : 0.0;
        int drop = Math.Max(64 - BitOperations.LeadingZeroCount(bits) - SignificandBits, MinExponent - exponent);
        if (drop > 0)
        {
            // Down to the bits that a double has here; a sticky bit below half breaks what looks like a tie.
            if (drop > 62) return 0;
            ulong half = 1UL << (drop - 1), lost = bits & ((half << 1) - 1);
            bits >>= drop;
            if (lost > half || (lost == half && (more || (bits & 1) != 0))) bits++;
            exponent += drop;
        }

        double value = Math.ScaleB(bits, exponent);     // exact, or infinite
        return parts.IsNegative ? -value : value;
    }
}

using System.Numerics;

namespace Kv.Protocol;

/// <summary>Numbers to and from bytes, exactly as clients of Redis expect them.</summary>
public static unsafe class NumberText
{
    /// <summary>The longest text of a 64-bit integer: sign and 19 digits.</summary>
    public const int MaxInt64Bytes = 20;

    /// <summary>The longest text of <see cref="FormatDouble"/>: sign, "0.", 6 zeros, 17 digits; or with
    /// exponent.</summary>
    public const int MaxDoubleBytes = 32;

    /// <summary>The longest text of <see cref="FormatHumanDouble"/>.</summary>
    public const int MaxHumanBytes = ExtendedFloat.MaxHumanBytes;

    private static ReadOnlySpan<byte> DigitPairs =>
        "00010203040506070809101112131415161718192021222324252627282930313233343536373839404142434445464748495051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899"u8;

    /// <summary>Parses an integer in its canonical text only: no plus, space, leading zero or "-0".</summary>
    public static bool TryParseInt64(ReadOnlySpan<byte> text, out long value)
    {
        value = 0;
        if ((uint)(text.Length - 1) >= MaxInt64Bytes) return false;

        int index = text[0] == '-' ? 1 : 0;
        if (index == text.Length) return false;
        uint first = (uint)(text[index] - '0');
        if (first - 1 > 8) return first == 0 && text.Length == 1;

        ulong magnitude = first;
        int safe = Math.Min(text.Length, index + 19);       // 19 digits fit 64 bits without a check
        for (index++; index < safe; index++)
        {
            uint digit = (uint)(text[index] - '0');
            if (digit > 9) return false;
            magnitude = (magnitude * 10) + digit;
        }

        if (index < text.Length) return false;              // 20 digits are beyond any long
        bool negative = text[0] == '-';
        if (magnitude > (ulong)long.MaxValue + (negative ? 1u : 0)) return false;
        value = negative ? (long)(0 - magnitude) : (long)magnitude;
        return true;
    }

    /// <summary>Writes an integer.</summary>
    /// <param name="destination">At least <see cref="MaxInt64Bytes"/>, or as many as it has digits.</param>
    /// <returns>The bytes written.</returns>
    public static int FormatInt64(long value, Span<byte> destination)
    {
        int bytes = LengthOf(value);
        ArgumentOutOfRangeException.ThrowIfLessThan(destination.Length, bytes);
        fixed (byte* at = destination) Write(at, value);
        return bytes;
    }

    /// <summary>Digits and sign.</summary>
    public static int LengthOf(long value) =>
        value < 0 ? 1 + DigitsOf(0 - (ulong)value) : DigitsOf((ulong)value);

    /// <summary>Parses a double as the commands of Redis take it: what C's strtod takes in whole, hexadecimal and
    /// infinities included; but no leading space, no NaN, nothing that overflows or vanishes.</summary>
    public static bool TryParseDouble(ReadOnlySpan<byte> text, out double value) =>
        DoubleText.TryParse(text, out value);

    /// <summary>Writes a double in the form of Redis 7.2: the shortest digits that read back the same.</summary>
    /// <param name="destination">At least <see cref="MaxDoubleBytes"/>.</param>
    /// <returns>The bytes written.</returns>
    public static int FormatDouble(double value, Span<byte> destination) => DoubleText.Format(value, destination);

    /// <summary>Writes a double as INCRBYFLOAT does: no exponent, at most 17 decimals, no trailing zeros.</summary>
    /// <param name="destination">At least <see cref="MaxHumanBytes"/>.</param>
    /// <returns>The bytes written.</returns>
    /// <remarks>INCRBYFLOAT itself adds in <see cref="ExtendedFloat"/>: in doubles, 0.1 + 0.2 would show.</remarks>
    public static int FormatHumanDouble(double value, Span<byte> destination) => double.IsFinite(value)
        ? ExtendedFloat.FromDouble(value).FormatHuman(destination)
        : FormatDouble(value, destination);

    /// <summary>Writes an integer at <paramref name="at"/>; room for its <see cref="LengthOf"/> is the caller's
    /// care.</summary>
    /// <returns>The byte after it.</returns>
    internal static byte* Write(byte* at, long value)
    {
        ulong rest = (ulong)value;
        if (value < 0)
        {
            *at++ = (byte)'-';
            rest = 0 - rest;
        }

        byte* end = at + DigitsOf(rest);
        byte* to = end;
        fixed (byte* pairs = DigitPairs)
        {
            while (rest >= 100)
            {
                ulong quotient = rest / 100;
                to -= 2;
                *(ushort*)to = *(ushort*)(pairs + ((rest - (quotient * 100)) * 2));
                rest = quotient;
            }

            if (rest >= 10) *(ushort*)(to - 2) = *(ushort*)(pairs + (rest * 2));
            else *(to - 1) = (byte)('0' + rest);
        }

        return end;
    }

    // The digits of 2^n are those of its power of ten below or at; one compare corrects the estimate 1233/4096 ~
    // log10(2).
    private static int DigitsOf(ulong value)
    {
        int estimate = ((BitOperations.Log2(value | 1) + 1) * 1233) >> 12;
        return estimate + (value >= PowersOfTen[estimate] ? 1 : 0);
    }

    private static ReadOnlySpan<ulong> PowersOfTen =>
    [
        0, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000, 10_000_000_000,
        100_000_000_000, 1_000_000_000_000, 10_000_000_000_000, 100_000_000_000_000, 1_000_000_000_000_000,
        10_000_000_000_000_000, 100_000_000_000_000_000, 1_000_000_000_000_000_000, 10_000_000_000_000_000_000,
    ];
}

using System.Buffers.Text;
using System.Diagnostics;
using System.Numerics;
using System.Runtime.CompilerServices;
using System.Text;

namespace Kv.Protocol;

/// <summary>A binary number with a mantissa of 64 bits, as INCRBYFLOAT adds them: 0.1 + 0.2 is 0.3, to 17
/// decimals.</summary>
/// <remarks>
/// The reference computes in the 80-bit format of x87 processors and prints 17 decimals; clients see the difference to
/// a double in the third addition. Value: mantissa x 2^exponent, mantissa normalized (bit 63 set) or 0. Rounding: to
/// nearest, ties to even. The exponent's upper limit is that of x87, the lower one is open: what lies below 2^-16445
/// prints as 0. Cost: no allocation for texts of up to 38 digits and 27 decimals and exponents that keep the number
/// below 2^128; <see cref="BigInteger"/> for the rest of what a text may say.
/// </remarks>
public readonly struct ExtendedFloat
{
    /// <summary>Bytes that any text of <see cref="FormatHuman"/> fits into: 4,933 digits, sign, point, 17 decimals,
    /// rounded up.</summary>
    public const int MaxHumanBytes = 5 * 1024;

    private const int ExponentMax = 16383 - 63;
    private const int ExponentMin = -16446 - 63;    // half of the smallest number: from here down a text rounds to 0
    private const int Decimals = 17;
    private const ulong TenTo17 = 100_000_000_000_000_000;
    private const int PowersOfFive = 28;    // 5^27 is the last one below 2^63

    private readonly ulong _mantissa;
    private readonly int _exponent;
    private readonly bool _negative;
    private readonly bool _infinite;

    private ExtendedFloat(bool negative, ulong mantissa, int exponent, bool infinite = false)
    {
        _negative = negative;
        _mantissa = mantissa;
        _exponent = exponent;
        _infinite = infinite;
    }

    /// <summary>Whether it can be written.</summary>
    public bool IsFinite => !_infinite;

    /// <summary>A 64-bit integer, exactly.</summary>
    public static ExtendedFloat FromInt64(long value) =>
        Round(value < 0, value < 0 ? unchecked(0UL - (ulong)value) : (ulong)value, 0, sticky: false);

    /// <summary>A double, exactly. Not for NaN.</summary>
    public static ExtendedFloat FromDouble(double value)
    {
        Debug.Assert(!double.IsNaN(value), "not a number has no text");
        bool negative = value < 0;
        if (double.IsInfinity(value)) return new ExtendedFloat(negative, 0, 0, infinite: true);

        // Below the smallest normal double, the exponent's field is 0 and no bit is implied.
        ulong bits = BitConverter.DoubleToUInt64Bits(value);
        ulong mantissa = bits & ((1UL << 52) - 1);
        int exponent = (int)(bits >> 52) & 0x7FF;
        if (exponent != 0) mantissa |= 1UL << 52;
        return Round(negative, mantissa, Math.Max(exponent, 1) - 1075, sticky: false);
    }

    /// <summary>Reads a decimal or hexadecimal (0x1.8p3) number, inf or infinity; not nan, no blanks, no other
    /// text.</summary>
    /// <returns>False for any other text, and for a number too large or too small for the format.</returns>
    public static bool TryParse(ReadOnlySpan<byte> text, out ExtendedFloat value)
    {
        value = default;
        if (text.Length is 0 or >= MaxHumanBytes) return false;

        bool negative = text[0] == '-';
        if (text[0] is (byte)'-' or (byte)'+') text = text[1..];

        if (Ascii.EqualsIgnoreCase(text, "inf"u8) || Ascii.EqualsIgnoreCase(text, "infinity"u8))
        {
            value = new ExtendedFloat(negative, 0, 0, infinite: true);
            return true;
        }

        bool read = text.Length > 2 && text[0] == '0' && (text[1] | 0x20) == 'x'
            ? TryParseHexadecimal(text[2..], negative, out value)
            : TryParseDecimal(text, negative, out value);
        bool tooSmall = value._mantissa != 0
            && (value._exponent < ExponentMin || (value._exponent == ExponentMin && value._mantissa == 1UL << 63));
        return read && !value._infinite && !tooSmall;
    }

    /// <summary>The sum, rounded once. Opposite infinities give a number that is not finite either.</summary>
    public static ExtendedFloat operator +(in ExtendedFloat left, in ExtendedFloat right)
    {
        if (left._infinite || right._infinite) return left._infinite ? left : right;
        if (left._mantissa == 0) return right;
        if (right._mantissa == 0) return left;

        bool leftIsLarger = left._exponent > right._exponent
            || (left._exponent == right._exponent && left._mantissa >= right._mantissa);
        var large = leftIsLarger ? left : right;
        var small = leftIsLarger ? right : left;

        // The large one at bits 62..125 of 128: room for a carry above, and for exact bits and a sticky one below.
        var sum = (UInt128)large._mantissa << 62;
        var other = (UInt128)small._mantissa << 62;
        int distance = large._exponent - small._exponent;
        bool sticky = distance >= 128 || (other & ((UInt128.One << distance) - 1)) != 0;
        other = distance >= 128 ? 0 : other >> distance;

        if (large._negative == small._negative)
        {
            sum += other;
        }
        else
        {
            // What was cut off the small one is taken away too: one less, and still more to come below.
            sum -= other;
            if (sticky) sum -= 1;
        }

        return Round(large._negative, sum, large._exponent - 62, sticky);
    }

    /// <summary>Writes the number with up to 17 decimals, without zeros at the end.</summary>
    /// <param name="destination">At least <see cref="MaxHumanBytes"/> bytes.</param>
    /// <returns>Bytes written. The number must be finite.</returns>
    public int FormatHuman(Span<byte> destination)
    {
        Debug.Assert(!_infinite, "an infinite number has no decimals");
        int written = 0;
        if (_exponent > 0) return FormatLarge(destination);

        // Below 2^64: the integer part and 17 decimals, rounded, each in one word.
        ulong whole = -_exponent < 64 ? _mantissa >> -_exponent : 0;
        ulong decimals = RoundedDecimals();
        if (decimals == TenTo17)
        {
            whole++;
            decimals = 0;
        }

        bool zero = whole == 0 && decimals == 0;
        if (_negative && !zero) destination[written++] = (byte)'-';
        Utf8Formatter.TryFormat(whole, destination[written..], out int wholeBytes);
        written += wholeBytes;
        if (decimals == 0) return written;

        destination[written++] = (byte)'.';
        int digits = Decimals;
        while (decimals % 10 == 0)
        {
            decimals /= 10;
            digits--;
        }

        for (int i = digits - 1; i >= 0; i--, decimals /= 10) destination[written + i] = (byte)('0' + (decimals % 10));
        return written + digits;
    }

    /// <summary>The fraction times 10^17, rounded to nearest, ties to even; 10^17 when it rounds up to 1.</summary>
    private ulong RoundedDecimals()
    {
        int shift = -_exponent;
        if (shift is 0 or > 127) return 0;      // mantissa x 10^17 is below 2^121: less than half of 2^127

        var fraction = shift < 64 ? _mantissa & ((1UL << shift) - 1) : _mantissa;
        var scaled = (UInt128)fraction * TenTo17;
        var quotient = scaled >> shift;
        var rest = scaled - (quotient << shift);
        var half = UInt128.One << (shift - 1);
        if (rest > half || (rest == half && !UInt128.IsEvenInteger(quotient))) quotient++;
        return (ulong)quotient;
    }

    /// <summary>An integer of 2^64 and more: its words divided by 10^9 again and again.</summary>
    [SkipLocalsInit]
    private int FormatLarge(Span<byte> destination)
    {
        const int wordsMax = (16384 / 32) + 1;
        Span<uint> words = stackalloc uint[wordsMax];
        int count = (_exponent / 32) + 3;
        words[..count].Clear();
        var top = (UInt128)_mantissa << (_exponent % 32);
        for (int i = count - 3; i < count; i++, top >>= 32) words[i] = (uint)top;

        // Groups of nine digits from the right, into the end of the destination's 5 KB; then moved to its start.
        int at = MaxHumanBytes;
        while (count > 0)
        {
            ulong rest = 0;
            for (int i = count - 1; i >= 0; i--)
            {
                ulong part = (rest << 32) | words[i];
                words[i] = (uint)(part / 1_000_000_000);
                rest = part % 1_000_000_000;
            }

            while (count > 0 && words[count - 1] == 0) count--;
            for (int digit = 0; digit < 9; digit++, rest /= 10) destination[--at] = (byte)('0' + (rest % 10));
        }

        while (destination[at] == '0') at++;
        if (_negative) destination[--at] = (byte)'-';
        destination[at..MaxHumanBytes].CopyTo(destination);
        return MaxHumanBytes - at;
    }

    private static bool TryParseDecimal(ReadOnlySpan<byte> text, bool negative, out ExtendedFloat value)
    {
        value = default;
        int position = 0, digits = 0, decimals = 0;
        bool point = false;
        UInt128 mantissa = 0;
        for (; position < text.Length; position++)
        {
            byte letter = text[position];
            if (letter == '.' && !point)
            {
                point = true;
                continue;
            }

            if (!IsDigit(letter)) break;
            digits++;
            if (point) decimals++;
            if (digits <= 38) mantissa = (mantissa * 10) + (uint)(letter - '0');
        }

        if (digits == 0) return false;
        var digitText = text[..position];
        if (!TryParseExponent(text[position..], 'e', out int exponent)) return false;

        int scale = exponent - decimals;
        if (digits > 38) return TryParseLong(digitText, negative, scale, out value);
        if (mantissa == 0)
        {
            value = new ExtendedFloat(negative, 0, 0);
            return true;
        }

        ReadOnlySpan<ulong> fives = FivePowers;
        if (scale is > -PowersOfFive and <= 0)
        {
            // Normalized to bit 127 and divided by less than 2^63: 65 bits at least, and whether anything is left over.
            int shift = (int)UInt128.LeadingZeroCount(mantissa);
            var (quotient, rest) = UInt128.DivRem(mantissa << shift, fives[-scale]);
            value = Round(negative, quotient, scale - shift, rest != 0);
            return true;
        }

        if (scale is > 0 and < PowersOfFive && mantissa <= ulong.MaxValue)
        {
            value = Round(negative, mantissa * fives[scale], scale, sticky: false);
            return true;
        }

        return TryParseLong(digitText, negative, scale, out value);
    }

    /// <summary>Any number of digits and any exponent, by exact integers.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static bool TryParseLong(ReadOnlySpan<byte> digits, bool negative, int scale, out ExtendedFloat value)
    {
        var mantissa = BigInteger.Zero;
        int count = 0, significant = 0;
        uint group = 0, groupScale = 1;
        foreach (byte digit in digits)
        {
            if (digit == '.') continue;
            if (digit != '0' || significant > 0) significant++;
            group = (group * 10) + (uint)(digit - '0');
            groupScale *= 10;
            if (++count % 9 != 0) continue;
            mantissa = (mantissa * groupScale) + group;
            (group, groupScale) = (0, 1);
        }

        mantissa = (mantissa * groupScale) + group;
        value = new ExtendedFloat(negative, 0, 0);
        if (mantissa.IsZero) return true;

        // Bounds before the powers: 10^4933 is past the largest number, 10^-4952 below the smallest.
        long magnitude = (long)significant + scale;
        if (magnitude is > 4935 or < -4955) return false;

        bool sticky = false;
        int exponent = scale;
        if (scale >= 0)
        {
            mantissa *= BigInteger.Pow(5, scale);
        }
        else
        {
            var divisor = BigInteger.Pow(5, -scale);
            int shift = Math.Max(0, (int)(divisor.GetBitLength() - mantissa.GetBitLength()) + 66);
            mantissa = BigInteger.DivRem(mantissa << shift, divisor, out var rest);
            exponent -= shift;
            sticky = !rest.IsZero;
        }

        int excess = (int)mantissa.GetBitLength() - 127;
        if (excess > 0)
        {
            sticky |= !(mantissa & ((BigInteger.One << excess) - 1)).IsZero;
            mantissa >>= excess;
            exponent += excess;
        }

        value = Round(negative, (UInt128)mantissa, exponent, sticky);
        return true;
    }

    private static bool TryParseHexadecimal(ReadOnlySpan<byte> text, bool negative, out ExtendedFloat value)
    {
        value = default;
        int position = 0, digits = 0, exponent = 0;
        bool point = false, sticky = false;
        UInt128 mantissa = 0;
        for (; position < text.Length; position++)
        {
            byte letter = text[position];
            if (letter == '.' && !point)
            {
                point = true;
                continue;
            }

            int digit = IsDigit(letter) ? letter - '0'
                : (letter | 0x20) is >= 'a' and <= 'f' ? (letter | 0x20) - 'a' + 10 : -1;
            if (digit < 0) break;
            digits++;
            if (mantissa >> 120 == 0)
            {
                mantissa = (mantissa << 4) | (uint)digit;
                if (point) exponent -= 4;
            }
            else
            {
                sticky |= digit != 0;
                if (!point) exponent += 4;
            }
        }

        if (digits == 0 || !TryParseExponent(text[position..], 'p', out int power)) return false;
        value = mantissa == 0 ? new ExtendedFloat(negative, 0, 0) : Round(negative, mantissa, exponent + power, sticky);
        return true;
    }

    /// <summary>Nothing at all, or a letter, a sign and digits to the end; held to a million, which is past any
    /// limit.</summary>
    private static bool TryParseExponent(ReadOnlySpan<byte> text, char letter, out int exponent)
    {
        exponent = 0;
        if (text.IsEmpty) return true;
        if ((text[0] | 0x20) != letter) return false;
        text = text[1..];
        if (text.IsEmpty) return false;
        bool negative = text[0] == '-';
        if (text[0] is (byte)'-' or (byte)'+') text = text[1..];
        if (text.IsEmpty) return false;
        foreach (byte digit in text)
        {
            if (!IsDigit(digit)) return false;
            exponent = Math.Min((exponent * 10) + (digit - '0'), 1_000_000);
        }

        if (negative) exponent = -exponent;
        return true;
    }

    /// <summary>The nearest number to bits x 2^exponent, where sticky says that a little more lies below.</summary>
    private static ExtendedFloat Round(bool negative, UInt128 bits, int exponent, bool sticky)
    {
        if (bits == 0) return new ExtendedFloat(negative && sticky, 0, 0);

        int shift = 64 - (int)UInt128.LeadingZeroCount(bits);
        if (shift <= 0)
        {
            Debug.Assert(!sticky, "sticky bits need a full mantissa above them");
            return Bounded(negative, (ulong)(bits << -shift), exponent + shift);
        }

        ulong mantissa = (ulong)(bits >> shift);
        var rest = bits & ((UInt128.One << shift) - 1);
        var half = UInt128.One << (shift - 1);
        bool up = rest > half || (rest == half && (sticky || (mantissa & 1) != 0));
        exponent += shift;
        if (up && ++mantissa == 0)
        {
            mantissa = 1UL << 63;
            exponent++;
        }

        return Bounded(negative, mantissa, exponent);
    }

    private static ExtendedFloat Bounded(bool negative, ulong mantissa, int exponent) =>
        exponent > ExponentMax ? new ExtendedFloat(negative, 0, 0, infinite: true)
        : new ExtendedFloat(negative, mantissa, exponent);

    private static bool IsDigit(byte letter) => letter is >= (byte)'0' and <= (byte)'9';

    private static ReadOnlySpan<ulong> FivePowers =>
    [
        1, 5, 25, 125, 625, 3125, 15625, 78125, 390625, 1953125, 9765625, 48828125, 244140625, 1220703125, 6103515625,
        30517578125, 152587890625, 762939453125, 3814697265625, 19073486328125, 95367431640625, 476837158203125,
        2384185791015625, 11920928955078125, 59604644775390625, 298023223876953125, 1490116119384765625,
        7450580596923828125,
    ];
}

using System.Buffers;
using System.Buffers.Text;
using System.Diagnostics;
using System.Globalization;
using System.Numerics;

namespace Kv.Lua;

/// <summary>Reads a number without sign and "0x", of any length, piece by piece: digits, at most one point, and an
/// exponent, as C's strtod takes them.</summary>
/// <remarks>
/// Of the digits it keeps as many as decide which double is nearest; of the others it only matters whether one is not
/// zero. What it costs is the search for the digits' end.
/// </remarks>
internal struct LongNumber(int numberBase)
{
    // None that is half way between two neighbours has more than 767 digits.
    private const int DecimalsKept = 1000;

    // 64 bits: 53 and one to round by, when those in front are zero.
    private const int HexadecimalsKept = 16;

    // Of an exponent: no text is so long that its digits could make up for it.
    private const long Beyond = 1L << 40;

    private byte[] _decimals = [];
    private ulong _bits;        // of a hexadecimal number
    private int _kept;
    private bool _hasDigits, _hasMore, _hasExponent, _isNegativeExponent;
    private long _scale, _exponent;
    private Part _part;
    private int _taken;

    private enum Part
    {
        Whole,
        Fraction,
        ExponentSign,
        Exponent,
    }

    /// <summary>Begins to read a number that may have a sign and "0x" in front.</summary>
    /// <param name="text">Its first bytes: three at least.</param>
    /// <param name="prefix">How many of them are not to be taken.</param>
    public static LongNumber Begin(ReadOnlySpan<byte> text, out int prefix)
    {
        prefix = text[0] is (byte)'-' or (byte)'+' ? 1 : 0;
        bool isHexadecimal = text[prefix] == '0' && (text[prefix + 1] | 0x20) == 'x';
        if (isHexadecimal) prefix += 2;
        return new LongNumber(isHexadecimal ? 16 : 10);
    }

    /// <summary>How much of what was taken is a number; 0: nothing.</summary>
    public int Length { get; private set; }

    /// <summary>Takes the next piece.</summary>
    /// <returns>How many bytes; fewer than there are: there it ends.</returns>
    public int Take(ReadOnlySpan<byte> piece)
    {
        int at = 0;
        // Ends: each round passes a byte at least.
        while (at < piece.Length)
        {
            int digits = DigitsAt(piece[at..]);
            if (digits > 0) TakeDigits(piece.Slice(at, digits));
            else if (!TryMark(piece[at])) break;
            at += Math.Max(1, digits);
            if (_hasDigits && (_part <= Part.Fraction || _hasExponent)) Length = _taken + at;
        }

        _taken += at;
        return at;
    }

    /// <summary>The nearest double.</summary>
    public readonly double Value
    {
        get
        {
            Debug.Assert(Length > 0, "there is a number");
            if (_kept == 0) return 0;
            long exponent = _isNegativeExponent ? -_exponent : _exponent;
            return numberBase == 10 ? Decimal(_scale + exponent) : Hexadecimal((4 * _scale) + exponent);
        }
    }

    private readonly int DigitsAt(ReadOnlySpan<byte> text)
    {
        int end = text.IndexOfAnyExcept(NumberSyntax.DigitsOf(_part < Part.ExponentSign ? numberBase : 10));
        return end < 0 ? text.Length : end;
    }

    private bool TryMark(byte mark)
    {
        if (mark == '.' && _part == Part.Whole)
        {
            _part = Part.Fraction;
        }
        else if (_part <= Part.Fraction && _hasDigits && (mark | 0x20) == (numberBase == 10 ? 'e' : 'p'))
        {
            _part = Part.ExponentSign;
        }
        else if (_part == Part.ExponentSign && mark is (byte)'+' or (byte)'-')
        {
            _part = Part.Exponent;
            _isNegativeExponent = mark == '-';
        }
        else
        {
            return false;
        }

        return true;
    }

    private void TakeDigits(ReadOnlySpan<byte> digits)
    {
        if (_part >= Part.ExponentSign)
        {
            _part = Part.Exponent;
            _hasExponent = true;
            // Ends: no later than beyond, or with the digits.
            foreach (byte digit in _exponent == 0 ? digits.TrimStart((byte)'0') : digits)
            {
                if (_exponent >= Beyond) break;
                _exponent = (_exponent * 10) + digit - '0';
            }

            return;
        }

        _hasDigits = true;
        int given = digits.Length;
        if (_kept == 0) digits = digits.TrimStart((byte)'0');
        int kept = Math.Min(digits.Length, (numberBase == 10 ? DecimalsKept : HexadecimalsKept) - _kept);
        Keep(digits[..kept]);
        var more = digits[kept..];
        _hasMore = _hasMore || more.ContainsAnyExcept((byte)'0');
        _scale += _part == Part.Whole ? more.Length : more.Length - given;
    }

    private void Keep(ReadOnlySpan<byte> digits)
    {
        if (digits.IsEmpty) return;
        if (numberBase == 10)
        {
            // Behind them one that stands for more, and an exponent.
            const int behind = 32;
            if (_kept == 0) _decimals = new byte[DecimalsKept + behind];
            digits.CopyTo(_decimals.AsSpan(_kept));
        }
        else
        {
            foreach (byte digit in digits) _bits = (_bits << 4) | (uint)NumberSyntax.DigitOf(digit);
        }

        _kept += digits.Length;
    }

    private readonly double Decimal(long exponent)
    {
        const int infinite = 100_000;
        int end = _kept;
        if (_hasMore)
        {
            _decimals[end++] = (byte)'1';
            exponent--;
        }

        _decimals[end++] = (byte)'e';
        Utf8Formatter.TryFormat(Math.Clamp(exponent, -infinite, infinite), _decimals.AsSpan(end), out int written);
        bool isRead = double.TryParse(_decimals.AsSpan(0, end + written), NumberStyles.Float,
            CultureInfo.InvariantCulture, out double number);
        Debug.Assert(isRead, "digits and an exponent");
        return number;
    }

    // Rounded once, to the nearest, half way to the even one: of a number near 0 to fewer bits than 53.
    private readonly double Hexadecimal(long exponent)
    {
        const int precision = 53, exponentMin = -1022, exponentMax = 1024;
        int zeros = BitOperations.LeadingZeroCount(_bits);
        ulong bits = (_bits << zeros) | (_hasMore ? 1u : 0);
        exponent -= zeros;
        long first = exponent + 63;        // of the first bit
        if (first >= exponentMax) return double.PositiveInfinity;
        if (first < exponentMin - precision) return 0;
        int kept = (int)Math.Min(precision, precision - (exponentMin - first));
        ulong half = 1UL << (63 - kept), number = kept == 0 ? 0 : bits >> (64 - kept), rest = bits & ((half << 1) - 1);
        if (rest > half || (rest == half && (number & 1) == 1)) number++;
        return Math.ScaleB(number, (int)exponent + 64 - kept);
    }
}

using System.Buffers;
using System.Buffers.Text;
using System.Globalization;

namespace Kv.Lua;

/// <summary>Numbers to text and back, as C's printf and strtod do it for Lua.</summary>
internal static class NumberSyntax
{
    private const int TextMax = 64;

    /// <summary>Of longer texts .NET reads only the digits that decide.</summary>
    public const int ManyBytes = 4096;

    /// <summary>White space.</summary>
    public static readonly SearchValues<byte> Spaces = SearchValues.Create(" \t\n\v\f\r"u8);

    // What nan may have in brackets.
    private static readonly SearchValues<byte> Payload =
        SearchValues.Create("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"u8);

    // Of each base up to 36.
    private static readonly SearchValues<byte>[] s_digits = [.. Enumerable.Range(0, 37).Select(numberBase =>
        SearchValues.Create([.. Enumerable.Range(0, 128).Select(letter => (byte)letter)
            .Where(letter => DigitOf(letter) < numberBase)]))];

    // By precision, in digits: from this value on a number is printed with an exponent.
    private static readonly double[] s_plainMax =
        [0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14];

    // .NET's NaN has the sign set, C's has not; and the compiler does not keep the sign of -double.NaN.
    private static readonly double s_nan = BitConverter.UInt64BitsToDouble(0x7FF8_0000_0000_0000);

    /// <summary>The text of a number, as tostring gives it: "%.14g".</summary>
    public static LuaString Format(double number)
    {
        Span<byte> text = stackalloc byte[TextMax];
        return new LuaString(text[..Format(number, text)]);
    }

    /// <summary>Writes the text of a number.</summary>
    /// <returns>Its bytes, at most 32.</returns>
    public static int Format(double number, Span<byte> text) => Format(number, 14, text);

    /// <summary>Writes "%.{precision}g".</summary>
    /// <param name="precision">1 to 14.</param>
    /// <returns>Bytes written, at most 32.</returns>
    public static int Format(double number, int precision, Span<byte> text)
    {
        if (number == Math.Floor(number) && Math.Abs(number) < s_plainMax[precision]
            && (number != 0 || !double.IsNegative(number)))
        {
            Utf8Formatter.TryFormat((long)number, text, out int written);
            return written;
        }

        return double.IsFinite(number) ? CFormat.General(number, precision, text)
            : System.Text.Encoding.ASCII.GetBytes(CFormat.General(number, precision, false, false), text);
    }

    /// <summary>Reads as much of a text as is a number, as C's strtod does it.</summary>
    /// <returns>How many bytes; 0: it begins with none.</returns>
    public static int ParsePrefix(ReadOnlySpan<byte> text, out double number)
    {
        int sign = !text.IsEmpty && text[0] is (byte)'-' or (byte)'+' ? 1 : 0, length = sign;
        var rest = text[sign..];
        if (rest.Length > 2 && rest[0] == '0' && (rest[1] | 0x20) == 'x')
        {
            var read = new LongNumber(16);
            read.Take(rest[2..]);
            if (read.Length == 0) return DecimalPrefix(text, sign, out number);
            number = text[0] == '-' ? -read.Value : read.Value;
            return sign + 2 + read.Length;
        }

        if (StartsWithWord(rest, "infinity"u8)) length += 8;
        else if (StartsWithWord(rest, "inf"u8)) length += 3;
        else if (StartsWithWord(rest, "nan"u8)) length += 3 + PayloadLength(rest[3..]);
        else return DecimalPrefix(text, sign, out number);
        bool isNan = (rest[0] | 0x20) == 'n';
        if (!TryParse(text[..(isNan ? sign + 3 : length)], out number)) length = 0;
        return length;
    }

    /// <summary>Whether a text begins with a word, in whatever case.</summary>
    public static bool StartsWithWord(ReadOnlySpan<byte> text, ReadOnlySpan<byte> word) =>
        text.Length >= word.Length && System.Text.Ascii.EqualsIgnoreCase(text[..word.Length], word);

    // "(", letters, digits and underlines, ")".
    private static int PayloadLength(ReadOnlySpan<byte> text)
    {
        if (text.IsEmpty || text[0] != '(') return 0;
        int end = text[1..].IndexOfAnyExcept(Payload) + 1;
        return end > 0 && text[end] == ')' ? end + 1 : 0;
    }

    private static int DecimalPrefix(ReadOnlySpan<byte> text, int sign, out double number)
    {
        // Whole numbers of up to 15 digits are what most are.
        const int exactDigits = 15;
        long whole = 0;
        int at = sign;
        for (; at < text.Length && IsDigit(text[at]) && at - sign < exactDigits; at++)
            whole = (whole * 10) + text[at] - '0';
        if (at > sign && (at == text.Length || (!IsDigit(text[at]) && text[at] != '.' && (text[at] | 0x20) != 'e')))
        {
            number = sign == 1 && text[0] == '-' ? -(double)whole : whole;
            return at;
        }

        at = sign + DecimalLength(text[sign..]);
        number = 0;
        if (at == sign) return 0;
        ReadDecimal(text[sign..at], out number);
        if (text[0] == '-') number = -number;
        return at;
    }

    /// <summary>Bytes of a text's beginning that are a decimal number without sign: digits with at most one point, and
    /// an exponent with at least one digit.</summary>
    private static int DecimalLength(ReadOnlySpan<byte> text)
    {
        int at = DigitsOf(text), digits = at;
        if (at < text.Length && text[at] == '.')
        {
            int more = DigitsOf(text[++at..]);
            digits += more;
            at += more;
        }

        if (digits == 0) return 0;
        if (at == text.Length || (text[at] | 0x20) != 'e') return at;
        int exponent = at + 1;
        if (exponent < text.Length && text[exponent] is (byte)'+' or (byte)'-') exponent++;
        int end = exponent + DigitsOf(text[exponent..]);
        return end > exponent ? end : at;
    }

    /// <summary>How many digits a text begins with.</summary>
    private static int DigitsOf(ReadOnlySpan<byte> text)
    {
        int end = text.IndexOfAnyExceptInRange((byte)'0', (byte)'9');
        return end < 0 ? text.Length : end;
    }

    /// <summary>Reads a number with white space around it: decimal, hexadecimal, inf or nan, as strtod takes
    /// them.</summary>
    public static bool TryParse(ReadOnlySpan<byte> text, out double number)
    {
        // C's strings end at a zero byte.
        int end = text.IndexOf((byte)0);
        text = Trim(end < 0 ? text : text[..end]);
        number = 0;
        if (text.IsEmpty) return false;
        bool negative = text[0] == '-';
        if (text[0] is (byte)'-' or (byte)'+') text = text[1..];
        if (text.IsEmpty) return false;

        bool isRead;
        if (text.Length > 2 && text[0] == '0' && (text[1] | 0x20) == 'x')
            isRead = TryLong(text[2..], 16, out number);
        else if (IsDigit(text[0]) || text[0] == '.') isRead = TryDecimal(text, out number);
        else isRead = TryWord(text, out number);
        if (negative) number = -number;
        return isRead;
    }

    /// <summary>The digits of a base of up to 36.</summary>
    public static SearchValues<byte> DigitsOf(int numberBase) => s_digits[numberBase];

    public static bool IsSpace(byte c) => c is (byte)' ' or (>= 9 and <= 13);

    /// <summary>Reads a whole number of another base, as C's strtoul does it: a sign, "0x" for base 16, 64
    /// bits.</summary>
    public static bool TryParse(ReadOnlySpan<byte> text, int numberBase, out double number)
    {
        number = 0;
        int end = text.IndexOf((byte)0);        // C's strings end there
        if (end >= 0) text = text[..end];
        text = Trim(text);
        bool negative = !text.IsEmpty && text[0] == '-';
        if (!text.IsEmpty && text[0] is (byte)'-' or (byte)'+') text = text[1..];
        if (numberBase == 16 && text.Length > 2 && text[0] == '0' && (text[1] | 0x20) == 'x') text = text[2..];
        // All of them before one is read: of millions that is done at once.
        if (text.IsEmpty || text.ContainsAnyExcept(DigitsOf(numberBase))) return false;
        text = text.TrimStart((byte)'0');
        bool overflows = text.Length > 64;
        ulong sum = 0;
        for (int i = 0; i < text.Length && !overflows; i++)
        {
            UInt128 next = ((UInt128)sum * (uint)numberBase) + (uint)DigitOf(text[i]);
            overflows = next > ulong.MaxValue;
            sum = (ulong)next;
        }

        if (overflows) sum = ulong.MaxValue;
        else if (negative) sum = 0 - sum;
        number = sum;
        return true;
    }

    public static bool IsDigit(byte c) => (uint)(c - '0') <= 9;

    /// <summary>The value of a digit in a base of up to 36; 36 for what is none.</summary>
    public static int DigitOf(byte c)
    {
        if (IsDigit(c)) return c - '0';
        int letter = (c | 0x20) - 'a';
        return (uint)letter < 26 ? letter + 10 : 36;
    }

    /// <summary>A text without the white space around it.</summary>
    public static ReadOnlySpan<byte> Trim(ReadOnlySpan<byte> text)
    {
        int start = text.IndexOfAnyExcept(Spaces);
        return start < 0 ? [] : text[start..(text.LastIndexOfAnyExcept(Spaces) + 1)];
    }

    private static bool TryDecimal(ReadOnlySpan<byte> text, out double number)
    {
        // Only what strtod takes.
        number = 0;
        if (DecimalLength(text) != text.Length) return false;
        ReadDecimal(text, out number);
        return true;
    }

    private static void ReadDecimal(ReadOnlySpan<byte> text, out double number)
    {
        if (text.Length > ManyBytes) TryLong(text, 10, out number);
        else double.TryParse(text, NumberStyles.Float, CultureInfo.InvariantCulture, out number);
    }

    private static bool TryLong(ReadOnlySpan<byte> text, int numberBase, out double number)
    {
        var read = new LongNumber(numberBase);
        read.Take(text);
        bool isNumber = read.Length == text.Length;
        number = isNumber ? read.Value : 0;
        return isNumber;
    }

    private static bool TryWord(ReadOnlySpan<byte> text, out double number)
    {
        Span<byte> lower = stackalloc byte[8];
        number = 0;
        if (text.Length > lower.Length) return false;
        for (int i = 0; i < text.Length; i++) lower[i] = (byte)(text[i] | 0x20);
        lower = lower[..text.Length];
        if (lower.SequenceEqual("inf"u8) || lower.SequenceEqual("infinity"u8)) number = double.PositiveInfinity;
        else if (lower.SequenceEqual("nan"u8)) number = s_nan;
        else return false;
        return true;
    }
}

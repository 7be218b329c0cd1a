using System.Buffers;
using System.Diagnostics;
using System.Globalization;
using System.Text;

namespace Kv.Lua.Libraries;

/// <summary>string.format: C's printf for what Lua has.</summary>
internal static class StringFormat
{
    private const int ShortText = 100;

    private static readonly SearchValues<byte> Escaped = SearchValues.Create("\"\\\n\r\0"u8);

    public static int Format(ref LuaCall call) => Format(ref call, new TextParts(call.Machine.Account), 0, 0);

    /// <param name="i">Where in the form to go on.</param>
    /// <param name="argument">The last that has been used.</param>
    private static int Format(ref LuaCall call, TextParts result, int i, int argument)
    {
        var form = call.TextAt(0).Span;
        for (; i < form.Length; i++)
        {
            if (form[i] != '%')
            {
                result.Add(form[i]);
                continue;
            }

            if (++i < form.Length && form[i] == '%')
            {
                result.Add((byte)'%');
                continue;
            }

            if (++argument >= call.Count) throw call.ArgumentError(argument, "no value");
            var field = Field.Read(ref call, form, ref i);
            if (field.Conversion == 'q')
            {
                var text = call.TextAt(argument);
                if (text.Length > Quotation.PieceBytes)
                    return new Quotation(result, text, i + 1, argument).Begin(ref call);
            }

            Add(ref call, result, field, argument);
            call.Spend(4);
        }

        return result.Return(ref call);
    }

    private static void Add(ref LuaCall call, TextParts result, in Field field, int argument)
    {
        switch (field.Conversion)
        {
            case 'c':
                // C cuts it to 32 bits at once: what does not fit is the least, whose last byte is 0.
                double code = call.NumberAt(argument);
                field.AddCharacter(result, Math.Abs(code) < int.MaxValue + 1.0 ? (byte)(int)code : (byte)0);
                break;
            case 'd' or 'i':
                long signed = Arithmetic.ToInteger(call.NumberAt(argument));
                field.AddInteger(result, signed < 0 ? (ulong)-(signed + 1) + 1
                    : (ulong)signed, signed < 0, isSigned: true);
                break;
            case 'o' or 'u' or 'x' or 'X':
                field.AddInteger(result, Arithmetic.ToUnsigned(call.NumberAt(argument)), isNegative: false,
                    isSigned: false);
                break;
            case 'e' or 'E' or 'f' or 'g' or 'G':
                field.AddDouble(result, call.NumberAt(argument));
                break;
            case 'q':
                var quoted = call.TextAt(argument);
                call.Spend(quoted.Length >> 3);
                result.Add((byte)'"');
                Quote(result, quoted, 0, quoted.Length);
                result.Add((byte)'"');
                break;
            case 's':
                AddText(ref call, result, field, argument);
                break;
            default:
                string shown = field.Conversion == 0 ? "%" : "%" + field.Conversion;
                throw call.Failure($"invalid option '{shown}' to 'format'");
        }
    }

    private static void AddText(ref LuaCall call, TextParts result, in Field field, int argument)
    {
        var whole = call.TextAt(argument);
        if (field.Precision < 0 && whole.Length >= ShortText)
        {
            result.Add(whole, 0, whole.Length);
            return;
        }

        // C's printf ends a string at its NUL.
        var text = whole.Span;
        int end = text.IndexOf((byte)0);
        if (end >= 0) text = text[..end];
        if (field.Precision >= 0 && text.Length > field.Precision) text = text[..field.Precision];
        field.Pad(result, text);
    }

    private static void Quote(TextParts result, LuaString text, int at, int end)
    {
        // Ends: each round passes some of the text.
        while (at < end)
        {
            var rest = text.Span[at..end];
            int plain = rest.IndexOfAny(Escaped);
            if (plain != 0)
            {
                if (plain < 0) plain = rest.Length;
                result.Add(text, at, plain);
                at += plain;
                continue;
            }

            if (rest[0] == '\r') result.Add("\\r"u8);
            else if (rest[0] == 0) result.Add("\\000"u8);
            else result.Add([(byte)'\\', rest[0]]);
            at++;
        }
    }

    /// <summary>%q of a long string, a piece at a time; then the rest of the form.</summary>
    private sealed class Quotation(TextParts result, LuaString text, int form, int argument) : Continuation
    {
        /// <summary>Up to a millisecond's work, where all of it is escaped.</summary>
        public const int PieceBytes = 64 << 10;

        private int _at;

        public int Begin(ref LuaCall call)
        {
            result.Add((byte)'"');
            return Resume(ref call, 0, 0);
        }

        public override int Resume(ref LuaCall call, int at, int count)
        {
            call.Machine.Running = this;
            // Ends: each round passes a piece of the text.
            while (_at < text.Length)
            {
                int end = Math.Min(text.Length, _at + PieceBytes);
                Quote(result, text, _at, end);
                call.Spend((end - _at) >> 3);
                _at = end;
                if (call.IsOverBudget)
                {
                    call.Machine.Running = null;
                    return call.Pause(this);
                }
            }

            call.Machine.Running = null;
            result.Add((byte)'"');
            return Format(ref call, result, form, argument);
        }

        public override void Visit(MemoryWalk walk)
        {
            walk.Visit(text);
            walk.Add(result.Bytes);
        }
    }

    /// <summary>What stands after a percent sign.</summary>
    private readonly struct Field
    {
        private const int FlagsMax = 5;

        private bool IsLeft { get; init; }
        private bool HasSign { get; init; }
        private bool HasSpace { get; init; }
        private bool IsAlternate { get; init; }
        private bool HasZeros { get; init; }
        private int Width { get; init; }

        /// <summary>-1: none.</summary>
        public int Precision { get; private init; }

        public char Conversion { get; private init; }

        /// <param name="i">Its first character; then its last.</param>
        public static Field Read(ref LuaCall call, ReadOnlySpan<byte> form, ref int i)
        {
            int start = i;
            bool left = false, sign = false, space = false, alternate = false, zeros = false;
            for (; i < form.Length && "-+ #0"u8.Contains(form[i]); i++)
            {
                left |= form[i] == '-';
                sign |= form[i] == '+';
                space |= form[i] == ' ';
                alternate |= form[i] == '#';
                zeros |= form[i] == '0';
            }

            if (i - start > FlagsMax) throw call.Failure("invalid format (repeated flags)");
            int width = Number(form, ref i, 0), precision = -1;
            if (i < form.Length && form[i] == '.')
            {
                i++;
                precision = Number(form, ref i, 0);
            }

            if (i < form.Length && NumberSyntax.IsDigit(form[i]))
                throw call.Failure("invalid format (width or precision too long)");
            return new Field
            {
                IsLeft = left, HasSign = sign, HasSpace = space, IsAlternate = alternate, HasZeros = zeros,
                Width = width, Precision = precision, Conversion = i < form.Length ? (char)form[i] : '\0',
            };
        }

        // Two digits at most.
        private static int Number(ReadOnlySpan<byte> form, ref int i, int number)
        {
            for (int digits = 0; digits < 2 && i < form.Length && NumberSyntax.IsDigit(form[i]); digits++)
                number = (number * 10) + form[i++] - '0';
            return number;
        }

        public void Pad(TextParts result, ReadOnlySpan<byte> text)
        {
            Debug.Assert(Width >= 0, "a width has two digits at most");
            int missing = Width - text.Length;
            if (!IsLeft) Repeat(result, ' ', missing);
            result.Add(text);
            if (IsLeft) Repeat(result, ' ', missing);
        }

        // C's strings end at a zero byte: it is not there, nor is what would come after it.
        public void AddCharacter(TextParts result, byte c)
        {
            if (c != 0) Pad(result, [c]);
            else if (!IsLeft) Repeat(result, ' ', Width - 1);
        }

        public void AddInteger(TextParts result, ulong number, bool isNegative, bool isSigned)
        {
            string digits = Conversion switch
            {
                'o' => Convert.ToString((long)number, 8),
                'x' => number.ToString("x", CultureInfo.InvariantCulture),
                'X' => number.ToString("X", CultureInfo.InvariantCulture),
                _ => number.ToString(CultureInfo.InvariantCulture),
            };
            if (Precision == 0 && number == 0) digits = "";
            if (Precision > digits.Length) digits = new string('0', Precision - digits.Length) + digits;
            string prefix = isSigned ? SignOf(isNegative)
                : !IsAlternate || number == 0 ? ""
                : Conversion == 'o' ? (digits.StartsWith('0') ? "" : "0") : Conversion == 'u' ? "" : "0" + Conversion;
            AddNumber(result, prefix, digits, mayHaveZeros: Precision < 0);
        }

        public void AddDouble(TextParts result, double number)
        {
            int precision = Precision < 0 ? 6 : Precision;
            string text = Conversion switch
            {
                'e' or 'E' => CFormat.Scientific(number, precision, Conversion == 'E'),
                'f' => CFormat.Fixed(number, precision),
                _ => CFormat.General(number, precision, IsAlternate, Conversion == 'G'),
            };
            if (IsAlternate && double.IsFinite(number)) text = CFormat.WithPoint(text);
            bool isNegative = text.StartsWith('-');
            AddNumber(result, SignOf(isNegative), isNegative ? text[1..] : text, mayHaveZeros: double.IsFinite(number));
        }

        private string SignOf(bool isNegative) => isNegative ? "-" : HasSign ? "+" : HasSpace ? " " : "";

        private void AddNumber(TextParts result, string prefix, string digits, bool mayHaveZeros)
        {
            int missing = Width - prefix.Length - digits.Length;
            bool fills = HasZeros && !IsLeft && mayHaveZeros;
            if (!IsLeft && !fills) Repeat(result, ' ', missing);
            result.Add(Encoding.ASCII.GetBytes(prefix));
            if (fills) Repeat(result, '0', missing);
            result.Add(Encoding.ASCII.GetBytes(digits));
            if (IsLeft) Repeat(result, ' ', missing);
        }

        private static void Repeat(TextParts result, char c, int count)
        {
            for (int i = 0; i < count; i++) result.Add((byte)c);
        }
    }
}

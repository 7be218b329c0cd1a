using System.Globalization;
using System.Runtime.InteropServices;
using System.Text;

namespace Kv.Lua.Libraries;

/// <summary>string.format: C's printf for what Lua has.</summary>
internal static class StringFormat
{
    private const int ShortText = 100;

    public static int Format(ref LuaCall call)
    {
        var form = call.TextAt(0).Span;
        var result = new List<byte>(form.Length + 16);
        int argument = 0;
        for (int i = 0; i < form.Length; i++)
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
            Add(ref call, result, field, argument);
            call.Spend(4);
        }

        return call.Return(call.Text(CollectionsMarshal.AsSpan(result)));
    }

    private static void Add(ref LuaCall call, List<byte> result, in Field field, int argument)
    {
        switch (field.Conversion)
        {
            case 'c':
                int from = result.Count;
                field.Pad(result, [(byte)call.IntegerAt(argument)]);
                // C's strings end at a zero byte.
                int zero = result.IndexOf(0, from);
                if (zero >= 0) result.RemoveRange(zero, result.Count - zero);
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
                Quote(result, call.TextAt(argument).Span);
                call.Charge(0);
                break;
            case 's':
                AddText(ref call, result, field, argument);
                break;
            default:
                string shown = field.Conversion == 0 ? "%" : "%" + field.Conversion;
                throw call.Failure($"invalid option '{shown}' to 'format'");
        }
    }

    private static void AddText(ref LuaCall call, List<byte> result, in Field field, int argument)
    {
        var text = call.TextAt(argument).Span;
        call.Charge(text.Length);
        if (field.Precision < 0 && text.Length >= ShortText)
        {
            result.AddRange(text);
            return;
        }

        // C's printf ends a string at its NUL.
        int end = text.IndexOf((byte)0);
        if (end >= 0) text = text[..end];
        if (field.Precision >= 0 && text.Length > field.Precision) text = text[..field.Precision];
        field.Pad(result, text);
    }

    private static void Quote(List<byte> result, ReadOnlySpan<byte> text)
    {
        result.Add((byte)'"');
        foreach (byte c in text)
        {
            switch (c)
            {
                case (byte)'"' or (byte)'\\' or (byte)'\n':
                    result.Add((byte)'\\');
                    result.Add(c);
                    break;
                case (byte)'\r': result.AddRange("\\r"u8); break;
                case 0: result.AddRange("\\000"u8); break;
                default: result.Add(c); break;
            }
        }

        result.Add((byte)'"');
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

        public void Pad(List<byte> result, ReadOnlySpan<byte> text)
        {
            int missing = Width - text.Length;
            if (!IsLeft) Repeat(result, ' ', missing);
            result.AddRange(text);
            if (IsLeft) Repeat(result, ' ', missing);
        }

        public void AddInteger(List<byte> result, ulong number, bool isNegative, bool isSigned)
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

        public void AddDouble(List<byte> result, double number)
        {
            int precision = Precision < 0 ? 6 : Precision;
            string text = Conversion switch
            {
                'e' or 'E' => CFormat.Scientific(number, precision, Conversion == 'E'),
                'f' => CFormat.Fixed(number, precision),
                _ => CFormat.General(number, precision, IsAlternate, Conversion == 'G'),
            };
            bool isNegative = text.StartsWith('-');
            AddNumber(result, SignOf(isNegative), isNegative ? text[1..] : text, mayHaveZeros: double.IsFinite(number));
        }

        private string SignOf(bool isNegative) => isNegative ? "-" : HasSign ? "+" : HasSpace ? " " : "";

        private void AddNumber(List<byte> result, string prefix, string digits, bool mayHaveZeros)
        {
            int missing = Width - prefix.Length - digits.Length;
            bool fills = HasZeros && !IsLeft && mayHaveZeros;
            if (!IsLeft && !fills) Repeat(result, ' ', missing);
            result.AddRange(Encoding.ASCII.GetBytes(prefix));
            if (fills) Repeat(result, '0', missing);
            result.AddRange(Encoding.ASCII.GetBytes(digits));
            if (IsLeft) Repeat(result, ' ', missing);
        }

        private static void Repeat(List<byte> result, char c, int count)
        {
            for (int i = 0; i < count; i++) result.Add((byte)c);
        }
    }
}

namespace Kv.Lua.Libraries.Json;

/// <summary>Divides JSON text into words.</summary>
/// <remarks>As lua-cjson, it takes the text for C's: a zero byte is its end.</remarks>
internal sealed class JsonLexer(ByteWriter writer)
{
    private const int EscapeLength = 6;      // \uXXXX

    // Names of fields come again and again: one object serves them all, with its hash computed once.
    private const int KnownNames = 64, KnownLengthMax = 32;

    private readonly LuaString?[] _names = new LuaString?[KnownNames];
    private LuaString _text = LuaString.Empty;
    private bool _allowsInvalidNumbers;

    /// <summary>Where the text goes on.</summary>
    public int At { get; private set; }

    /// <summary>Where the word begins, or where it is wrong.</summary>
    public int Start { get; private set; }

    /// <summary>What is wrong with it.</summary>
    public string Error { get; private set; } = "";

    /// <summary>Of a number or boolean: its value.</summary>
    public double Number { get; private set; }

    /// <summary>Of a string.</summary>
    public LuaString Text { get; private set; } = LuaString.Empty;

    public LuaString Input => _text;

    public void Begin(LuaString text, bool allowsInvalidNumbers)
    {
        (_text, _allowsInvalidNumbers, At) = (text, allowsInvalidNumbers, 0);
        Text = LuaString.Empty;
    }

    /// <summary>Lets go of what was read.</summary>
    public void End()
    {
        _text = Text = LuaString.Empty;
        Array.Clear(_names);
    }

    public JsonToken Next(ref LuaCall call)
    {
        var text = _text.Span;
        int at = At;
        while (at < text.Length && text[at] is (byte)' ' or (byte)'\t' or (byte)'\n' or (byte)'\r') at++;
        At = Start = at;
        if (at >= text.Length) return JsonToken.End;
        byte first = text[at];
        switch (first)
        {
            case (byte)'"': return String(ref call, text);
            case (byte)',': return One(JsonToken.Comma);
            case (byte)':': return One(JsonToken.Colon);
            case (byte)'{': return One(JsonToken.ObjectBegin);
            case (byte)'}': return One(JsonToken.ObjectEnd);
            case (byte)'[': return One(JsonToken.ArrayBegin);
            case (byte)']': return One(JsonToken.ArrayEnd);
            case 0: return JsonToken.End;
        }

        if (first == '-' || NumberSyntax.IsDigit(first))
            return _allowsInvalidNumbers || !IsInvalidNumber(text[at..]) ? NumberWord(text)
                : Wrong("invalid number");
        if (text[at..].StartsWith("true"u8)) return Word(4, JsonToken.Boolean, 1);
        if (text[at..].StartsWith("false"u8)) return Word(5, JsonToken.Boolean, 0);
        if (text[at..].StartsWith("null"u8)) return Word(4, JsonToken.Null, 0);
        // Only what is a number that JSON has not: all else is no word at all.
        bool mayBeNumber = first is (byte)'+' or (byte)'i' or (byte)'I' or (byte)'n' or (byte)'N';
        return mayBeNumber && _allowsInvalidNumbers && IsInvalidNumber(text[at..]) ? NumberWord(text)
            : Wrong("invalid token");
    }

    private JsonToken One(JsonToken token)
    {
        At++;
        return token;
    }

    private JsonToken Word(int length, JsonToken token, double number)
    {
        At += length;
        Number = number;
        return token;
    }

    private JsonToken Wrong(string error)
    {
        Start = At;
        Error = error;
        return JsonToken.Error;
    }

    // A plus in front, hexadecimal, a leading zero, infinities and NaN: C takes them, JSON does not.
    private static bool IsInvalidNumber(ReadOnlySpan<byte> text)
    {
        if (text[0] == '+') return true;
        if (text[0] == '-') text = text[1..];
        if (text.IsEmpty) return false;
        if (text[0] == '0') return text.Length > 1 && ((text[1] | 0x20) == 'x' || NumberSyntax.IsDigit(text[1]));
        return text.Length >= 3 && (text[0] | 0x20) is 'i' or 'n'
            && NumberSyntax.StartsWithWord(text, "inf"u8) || NumberSyntax.StartsWithWord(text, "nan"u8);
    }

    private JsonToken NumberWord(ReadOnlySpan<byte> text)
    {
        int length = NumberSyntax.ParsePrefix(text[At..], out double number);
        if (length == 0) return Wrong("invalid number");
        At += length;
        Number = number;
        return JsonToken.Number;
    }

    private JsonToken String(ref LuaCall call, ReadOnlySpan<byte> text)
    {
        int begin = At + 1, length = text[begin..].IndexOfAny((byte)'"', (byte)'\\', (byte)0);
        if (length < 0)
        {
            At = text.Length;
            return Wrong("unexpected end of string");
        }

        call.Spend(length >> 6);
        if (text[begin + length] != '"') return StringWithEscapes(ref call, text, begin, length);
        Text = Known(ref call, text.Slice(begin, length));
        At = begin + length + 1;
        return JsonToken.String;
    }

    private LuaString Known(ref LuaCall call, ReadOnlySpan<byte> bytes)
    {
        if (bytes.Length is 0 or > KnownLengthMax) return call.Text(bytes);
        ref LuaString? known =
            ref _names[((bytes.Length * 7) ^ (bytes[0] * 3) ^ (bytes[^1] * 5) ^ bytes[bytes.Length / 2])
                & (KnownNames - 1)];
        if (known is null || !known.Span.SequenceEqual(bytes)) known = call.Text(bytes);
        return known;
    }

    private JsonToken StringWithEscapes(ref LuaCall call, ReadOnlySpan<byte> text, int begin, int length)
    {
        writer.Clear();
        At = begin;
        // Ends: each round passes a byte at least.
        while (true)
        {
            if (length < 0 || text[At + length] == 0)
            {
                At = length < 0 ? text.Length : At + length;
                return Wrong("unexpected end of string");
            }

            writer.Add(text.Slice(At, length));
            call.Spend(length >> 6);
            At += length;
            if (text[At] == '"') break;
            byte code = At + 1 < text.Length ? text[At + 1] : (byte)0;
            if (code == 'u')
            {
                if (!TryUnicode(text)) return Wrong("invalid unicode escape code");
            }
            else
            {
                byte meant = MeantBy(code);
                if (meant == 0) return Wrong("invalid escape code");
                writer.Add(meant);
                At += 2;
            }

            length = text[At..].IndexOfAny((byte)'"', (byte)'\\', (byte)0);
        }

        At++;
        Text = call.Text(writer.Written);
        return JsonToken.String;
    }

    private static byte MeantBy(byte code) => code switch
    {
        (byte)'"' or (byte)'\\' or (byte)'/' => code,
        (byte)'b' => 8,
        (byte)'t' => 9,
        (byte)'n' => 10,
        (byte)'f' => 12,
        (byte)'r' => 13,
        _ => 0,
    };

    // A character of four digits, or of two such escapes where it is beyond.
    private bool TryUnicode(ReadOnlySpan<byte> text)
    {
        int code = UnitAt(text, At), length = EscapeLength;
        if (code < 0) return false;
        if ((code & 0xF800) == 0xD800)
        {
            int low = UnitAt(text, At + EscapeLength);
            if ((code & 0x400) != 0 || low < 0 || (low & 0xFC00) != 0xDC00) return false;
            code = (((code & 0x3FF) << 10) | (low & 0x3FF)) + 0x10000;
            length *= 2;
        }

        writer.Wrote(new System.Text.Rune(code).EncodeToUtf8(writer.Room(4)));
        At += length;
        return true;
    }

    /// <summary>What \uXXXX at a place says; -1 when there is none.</summary>
    private static int UnitAt(ReadOnlySpan<byte> text, int at)
    {
        if (text.Length - at < EscapeLength || text[at] != '\\' || text[at + 1] != 'u') return -1;
        int code = 0;
        foreach (byte c in text.Slice(at + 2, 4))
        {
            int digit = NumberSyntax.DigitOf(c);
            if (digit >= 16) return -1;
            code = (code * 16) + digit;
        }

        return code;
    }
}

using System.Buffers;
using System.Diagnostics;

namespace Kv.Lua.Libraries.Json;

/// <summary>Divides JSON text into words, of which long ones are read in pieces.</summary>
/// <remarks>As lua-cjson, it takes the text for C's: a zero byte is its end.</remarks>
internal sealed class JsonLexer(TextParts writer)
{
    private const int EscapeLength = 6;      // \uXXXX

    /// <summary>Escapes of a string that are read or written at once, and what each counts as.</summary>
    public const int EscapesAtOnce = 8192, EscapeUnits = 32;

    // Names of fields come again and again: one object serves them all, with its hash computed once.
    private const int KnownNames = 64, KnownLengthMax = 32;

    private static readonly SearchValues<byte> Spaces = SearchValues.Create(" \t\n\r"u8);

    // What a number has, and then some: the first byte of something else ends it.
    private static readonly SearchValues<byte> OfNumbers = SearchValues.Create("0123456789abcdefABCDEFxXpP.+-"u8);

    private readonly LuaString?[] _names = new LuaString?[KnownNames];
    private LuaString _text = LuaString.Empty;
    private bool _allowsInvalidNumbers;
    private Rest _rest;
    private int _begin;     // of a string or number of which there is a rest
    private int _digits;    // of a number: where they begin, after a sign and "0x"
    private LongNumber _number;
    private TextInPieces? _making;

    // What of a word is still to be read.
    private enum Rest
    {
        None,
        Text,
        TextWithEscapes,
        Copy,
        Number,
    }

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

    public void Begin(LuaString text, bool allowsInvalidNumbers)
    {
        (_text, _allowsInvalidNumbers, At) = (text, allowsInvalidNumbers, 0);
        Text = LuaString.Empty;
        _rest = Rest.None;
    }

    public void Visit(MemoryWalk walk)
    {
        walk.Visit(_text);
        walk.Visit(Text);
        _making?.Visit(walk);
    }

    /// <summary>Lets go of what was read.</summary>
    public void End()
    {
        _text = Text = LuaString.Empty;
        _making = null;
        Array.Clear(_names);
    }

    public JsonToken Next(ref LuaCall call)
    {
        if (_rest != Rest.None) return GoOn(ref call);
        var text = _text.Span;
        int at = At;
        if (at < text.Length && text[at] <= ' ')
        {
            int spaces = text[at..Math.Min(text.Length, at + TextInPieces.PieceBytes)].IndexOfAnyExcept(Spaces);
            if (spaces < 0 && text.Length - at > TextInPieces.PieceBytes)
            {
                At += TextInPieces.PieceBytes;
                call.Spend(TextInPieces.PieceBytes >> 6);
                return JsonToken.Unfinished;
            }

            at = spaces < 0 ? text.Length : at + spaces;
        }

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
            return _allowsInvalidNumbers || !IsInvalidNumber(text[at..]) ? NumberWord(ref call, text)
                : Wrong("invalid number");
        if (text[at..].StartsWith("true"u8)) return Word(4, JsonToken.Boolean, 1);
        if (text[at..].StartsWith("false"u8)) return Word(5, JsonToken.Boolean, 0);
        if (text[at..].StartsWith("null"u8)) return Word(4, JsonToken.Null, 0);
        // Only what is a number that JSON has not: all else is no word at all.
        bool mayBeNumber = first is (byte)'+' or (byte)'i' or (byte)'I' or (byte)'n' or (byte)'N';
        return mayBeNumber && _allowsInvalidNumbers && IsInvalidNumber(text[at..]) ? NumberWord(ref call, text)
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

    private JsonToken GoOn(ref LuaCall call) => _rest switch
    {
        Rest.Text => LongString(ref call),
        Rest.TextWithEscapes => StringWithEscapes(ref call),
        Rest.Copy => Copy(ref call),
        _ => LongNumberWord(ref call),
    };

    private JsonToken NumberWord(ref LuaCall call, ReadOnlySpan<byte> text)
    {
        text = text[At..];
        if (text.Length > NumberSyntax.ManyBytes && !text[..NumberSyntax.ManyBytes].ContainsAnyExcept(OfNumbers))
            return BeginLongNumber(ref call, text);
        return ShortNumber(text);
    }

    private JsonToken ShortNumber(ReadOnlySpan<byte> text)
    {
        int length = NumberSyntax.ParsePrefix(text, out double number);
        if (length == 0) return Wrong("invalid number");
        At += length;
        Number = number;
        return JsonToken.Number;
    }

    private JsonToken BeginLongNumber(ref LuaCall call, ReadOnlySpan<byte> text)
    {
        _number = LongNumber.Begin(text, out int prefix);
        _begin = At;
        At = _digits = _begin + prefix;
        _rest = Rest.Number;
        return LongNumberWord(ref call);
    }

    private JsonToken LongNumberWord(ref LuaCall call)
    {
        // Ends: each round passes a piece, or finds the end.
        while (true)
        {
            int length = Math.Min(_text.Length - At, TextInPieces.PieceBytes);
            int taken = _number.Take(_text.Span.Slice(At, length));
            At += taken;
            call.Spend(taken >> 6);
            if (taken < length || At == _text.Length) break;
            if (call.IsOverBudget) return JsonToken.Unfinished;
        }

        _rest = Rest.None;
        var text = _text.Span;
        At = _begin;
        // "0x" and no digit is a 0, "-" alone nothing.
        Debug.Assert(_number.Length <= _text.Length - _digits, "the number is within the text");
        if (_number.Length == 0) return ShortNumber(text[At..]);
        Number = text[_begin] == '-' ? -_number.Value : _number.Value;
        At = _digits + _number.Length;
        return JsonToken.Number;
    }

    private JsonToken String(ref LuaCall call, ReadOnlySpan<byte> text)
    {
        int begin = At + 1;
        var piece = text[begin..Math.Min(text.Length, begin + TextInPieces.PieceBytes)];
        int length = piece.IndexOfAny((byte)'"', (byte)'\\', (byte)0);
        if (length >= 0 && piece[length] == '"')
        {
            call.Spend(length >> 6);
            Text = Known(ref call, piece[..length]);
            At = begin + length + 1;
            return JsonToken.String;
        }

        At = _begin = begin;
        if (length < 0) return LongString(ref call);
        writer.Clear();
        return StringWithEscapes(ref call);
    }

    // Its end, or an escape, is looked for first.
    private JsonToken LongString(ref LuaCall call)
    {
        _rest = Rest.Text;
        // Ends: each round passes a piece, or finds the end.
        while (true)
        {
            var piece = _text.Span[At..Math.Min(_text.Length, At + TextInPieces.PieceBytes)];
            int found = piece.IndexOfAny((byte)'"', (byte)'\\', (byte)0);
            call.Spend(piece.Length >> 6);
            if (found >= 0)
            {
                At += found;
                break;
            }

            At += piece.Length;
            if (At == _text.Length) return WrongInString("unexpected end of string");
            if (call.IsOverBudget) return JsonToken.Unfinished;
        }

        if (_text.Span[At] == '"')
        {
            int length = At - _begin;
            At++;
            return Copy(ref call, new PartOfText(TextInPieces.Room(ref call, length), _text, _begin));
        }

        At = _begin;
        writer.Clear();
        return StringWithEscapes(ref call);
    }

    private JsonToken Copy(ref LuaCall call, TextInPieces making)
    {
        _making = making;
        _rest = Rest.Copy;
        return Copy(ref call);
    }

    private JsonToken Copy(ref LuaCall call)
    {
        if (!_making!.TryMake(ref call, out var text)) return JsonToken.Unfinished;
        Text = text;
        _making = null;
        _rest = Rest.None;
        return JsonToken.String;
    }

    private JsonToken WrongInString(string error)
    {
        _rest = Rest.None;
        return Wrong(error);
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

    private JsonToken StringWithEscapes(ref LuaCall call)
    {
        _rest = Rest.TextWithEscapes;
        var text = _text.Span;
        // Ends: each round passes a piece, or finds the end.
        while (true)
        {
            int begin = At, end = Math.Min(text.Length, begin + TextInPieces.PieceBytes), escapes = 0;
            // Ends: each round passes a byte at least.
            for (; At < end && escapes < EscapesAtOnce; escapes++)
            {
                int plain = text[At..end].IndexOfAny((byte)'"', (byte)'\\', (byte)0);
                if (plain < 0) plain = end - At;
                writer.Add(_text, At, plain);
                At += plain;
                if (At == end) break;
                if (text[At] == '"') return EndOfString(ref call);
                if (text[At] == 0) return WrongInString("unexpected end of string");
                if (!TryEscape(text, out string wrong)) return WrongInString(wrong);
            }

            call.Spend(((At - begin) >> 6) + (escapes * EscapeUnits));
            if (At >= text.Length) return WrongInString("unexpected end of string");
            if (call.IsOverBudget) return JsonToken.Unfinished;
        }
    }

    private JsonToken EndOfString(ref LuaCall call)
    {
        Debug.Assert(_text.Span[At] == (byte)'"', "the string ends with its quote");
        At++;
        call.Spend((At - _begin) >> 8);
        if (writer.IsLong)
        {
            var making = writer.Joined(ref call);
            writer.Clear();
            return Copy(ref call, making);
        }

        Text = writer.Text(ref call);
        _rest = Rest.None;
        return JsonToken.String;
    }

    private bool TryEscape(ReadOnlySpan<byte> text, out string wrong)
    {
        Debug.Assert(text[At] == (byte)'\\', "an escape begins with a backslash");
        byte code = At + 1 < text.Length ? text[At + 1] : (byte)0;
        if (code == 'u')
        {
            wrong = "invalid unicode escape code";
            return TryUnicode(text);
        }

        wrong = "invalid escape code";
        byte meant = MeantBy(code);
        if (meant == 0) return false;
        writer.Add(meant);
        At += 2;
        return true;
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

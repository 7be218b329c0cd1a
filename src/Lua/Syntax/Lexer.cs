using System.Buffers;
using System.Diagnostics;
using System.Runtime.InteropServices;

namespace Kv.Lua.Syntax;

/// <summary>Divides the text of a chunk into words.</summary>
/// <param name="text">The chunk.</param>
/// <param name="chunkName">As errors name it.</param>
/// <param name="watch">May end it.</param>
internal ref struct Lexer(ReadOnlySpan<byte> text, string chunkName, ReadingWatch watch)
{
    /// <summary>A string longer than this is refused: it would not fit into any memory limit.</summary>
    private const int TokenBytesMax = 1 << 28;

    private const int ShownMax = 4096;

    private static readonly SearchValues<byte> InLongBracket = SearchValues.Create("\n\r[]"u8),
        InDoubleQuotes = SearchValues.Create("\"\\\n\r"u8), InSingleQuotes = SearchValues.Create("'\\\n\r"u8);

    private readonly ReadOnlySpan<byte> _text = text;
    private readonly string _chunkName = chunkName;
    private ReadingWatch _watch = watch;
    private readonly Dictionary<LuaString, LuaString>.AlternateLookup<ReadOnlySpan<byte>> _strings =
        new Dictionary<LuaString, LuaString>(ByText.Instance).GetAlternateLookup<ReadOnlySpan<byte>>();
    private int _at, _start;
    private TokenKind _peeked;
    private bool _hasPeeked;
    private LuaString _peekedText = LuaString.Empty;
    private double _peekedNumber;
    private int _peekedLine, _peekedStart, _peekedEnd;

    /// <summary>The word that the parser looks at.</summary>
    public TokenKind Kind { get; private set; } = TokenKind.EndOfText;

    /// <summary>Of a name or string: its bytes.</summary>
    public LuaString Text { get; private set; } = LuaString.Empty;

    /// <summary>Of a number: its value.</summary>
    public double Number { get; private set; }

    /// <summary>The line of the word, from 1.</summary>
    public int Line { get; private set; } = 1;

    /// <summary>The line of the word before.</summary>
    public int LineBefore { get; private set; } = 1;

    /// <summary>Goes on to the next word.</summary>
    public void Next()
    {
        LineBefore = Line;
        if (_hasPeeked)
        {
            (Kind, Text, Number, Line, _start, _at) = (_peeked, _peekedText, _peekedNumber, _peekedLine, _peekedStart,
                _peekedEnd);
            LineBefore = Line;      // as in Lua, which has gone on to the line of the word that it looked at
            _hasPeeked = false;
            return;
        }

        _watch.Pass();
        Kind = Scan();
    }

    /// <summary>The word after the present one.</summary>
    public TokenKind Peek()
    {
        Debug.Assert(!_hasPeeked, "one word is looked at ahead");
        var (kind, text, number, line, before, start, at) = (Kind, Text, Number, Line, LineBefore, _start, _at);
        Next();
        (_peeked, _peekedText, _peekedNumber, _peekedLine, _peekedStart, _peekedEnd) = (Kind, Text, Number, Line,
            _start, _at);
        _hasPeeked = true;
        (Kind, Text, Number, Line, LineBefore, _start, _at) = (kind, text, number, line, before, start, at);
        return _peeked;
    }

    /// <summary>An error at the present word.</summary>
    public readonly LuaException Error(string message) => ErrorNear(message, Shown());

    public readonly LuaException ErrorAt(int line, string message) => new($"{_chunkName}:{line}: {message}");

    private readonly LuaException ErrorNear(string message, string? near) =>
        new($"{_chunkName}:{Line}: {message}{(near == null ? "" : $" near '{near}'")}");

    /// <returns>null for a zero byte, which Lua takes for no word at all.</returns>
    private readonly string? Shown()
    {
        if (Kind == TokenKind.EndOfText) return "<eof>";
        var shown = _text[_start..Math.Min(_at, _text.Length)];
        if (Kind == TokenKind.String) return ShownString(shown);
        if (Kind == TokenKind.Other && shown[0] == 0) return null;
        string said = System.Text.Encoding.Latin1.GetString(shown.Length > ShownMax ? shown[..ShownMax] : shown);
        return Kind == TokenKind.Other && shown.Length == 1 && shown[0] < 32 ? $"char({shown[0]})" : said;
    }

    // As it was read: escapes are done, and a line feed at the beginning of a long one is gone.
    private readonly string ShownString(ReadOnlySpan<byte> source)
    {
        int brackets = source[0] == '[' ? source[1..].IndexOf((byte)'[') + 2 : 1;
        return Quoted([.. source[..brackets], .. Text.Span, .. source[^brackets..]]);
    }

    // What has been read of a string, up to a zero byte: C's strings end there.
    private static string Quoted(ReadOnlySpan<byte> read)
    {
        int end = read.IndexOf((byte)0);
        if (end >= 0) read = read[..end];
        return System.Text.Encoding.Latin1.GetString(read.Length > ShownMax ? read[..ShownMax] : read);
    }

    private readonly byte Current => _at < _text.Length ? _text[_at] : (byte)0;

    private readonly byte Following => _at + 1 < _text.Length ? _text[_at + 1] : (byte)0;

    private TokenKind Scan()
    {
        // Ends: each round passes a byte of the text.
        while (true)
        {
            _start = _at;
            if (_at >= _text.Length) return TokenKind.EndOfText;
            byte c = _text[_at];
            switch (c)
            {
                case (byte)'\n' or (byte)'\r':
                    NewLine();
                    continue;
                case (byte)' ' or (byte)'\t' or (byte)'\v' or (byte)'\f':
                    _at++;
                    continue;
                case (byte)'-' when Following == '-':
                    SkipComment();
                    continue;
                case (byte)'[':
                    int level = LevelOf();
                    if (level >= 0)
                    {
                        Text = Unique(LongBracket(level, isComment: false));
                        return TokenKind.String;
                    }

                    if (level == -1) return One(TokenKind.LeftBracket);
                    Kind = TokenKind.Other;
                    while (_at < _text.Length && _text[_at] is (byte)'[' or (byte)'=') _at++;
                    throw Error("invalid long string delimiter");
                case (byte)'"' or (byte)'\'':
                    Text = Unique(QuotedString(c));
                    return TokenKind.String;
                case (byte)'.' when !NumberSyntax.IsDigit(Following):
                    if (Following != '.') return One(TokenKind.Dot);
                    _at++;
                    return Following == '.' ? Two(TokenKind.Dots) : One(TokenKind.Concat);
                case (byte)'=': return Following == '=' ? Two(TokenKind.Equal) : One(TokenKind.Assign);
                case (byte)'~': return Following == '=' ? Two(TokenKind.NotEqual) : One(TokenKind.Other);
                case (byte)'<': return Following == '=' ? Two(TokenKind.LessOrEqual) : One(TokenKind.Less);
                case (byte)'>': return Following == '=' ? Two(TokenKind.GreaterOrEqual) : One(TokenKind.Greater);
            }

            if (NumberSyntax.IsDigit(c) || c == '.') return NumberToken();
            return IsNameStart(c) ? NameToken() : One(KindOf(c));
        }
    }

    private static TokenKind KindOf(byte c) => c switch
    {
        (byte)'+' => TokenKind.Plus,
        (byte)'-' => TokenKind.Minus,
        (byte)'*' => TokenKind.Star,
        (byte)'/' => TokenKind.Slash,
        (byte)'%' => TokenKind.Percent,
        (byte)'^' => TokenKind.Caret,
        (byte)'#' => TokenKind.Hash,
        (byte)'(' => TokenKind.LeftParenthesis,
        (byte)')' => TokenKind.RightParenthesis,
        (byte)'{' => TokenKind.LeftBrace,
        (byte)'}' => TokenKind.RightBrace,
        (byte)']' => TokenKind.RightBracket,
        (byte)';' => TokenKind.Semicolon,
        (byte)':' => TokenKind.Colon,
        (byte)',' => TokenKind.Comma,
        _ => TokenKind.Other,
    };

    private TokenKind One(TokenKind kind)
    {
        _at++;
        return kind;
    }

    private TokenKind Two(TokenKind kind)
    {
        _at += 2;
        return kind;
    }

    private static bool IsNameStart(byte c) => (uint)((c | 0x20) - 'a') < 26 || c == '_';

    private static bool IsNamePart(byte c) => IsNameStart(c) || NumberSyntax.IsDigit(c);

    private TokenKind NameToken()
    {
        Debug.Assert(IsNameStart(_text[_start]), "a name begins as one");
        while (_at < _text.Length && IsNamePart(_text[_at])) _at++;
        var name = _text[_start.._at];
        if (ReservedWords.Find(name) is { } kind) return kind;
        Text = Unique(name);
        return TokenKind.Name;
    }

    private TokenKind NumberToken()
    {
        // All that could be of a number, as Lua 5.1 reads it; then what is none is refused as a whole.
        while (_at < _text.Length && (NumberSyntax.IsDigit(_text[_at]) || _text[_at] == '.')) _at++;
        if ((Current | 0x20) == 'e')
        {
            _at++;
            if (Current is (byte)'+' or (byte)'-') _at++;
        }

        while (_at < _text.Length && IsNamePart(_text[_at])) _at++;
        Kind = TokenKind.Number;
        if (!NumberSyntax.TryParse(_text[_start.._at], out double number)) throw Error("malformed number");
        Number = number;
        return TokenKind.Number;
    }

    private void NewLine()
    {
        byte first = _text[_at++];
        if (_at < _text.Length && _text[_at] is (byte)'\n' or (byte)'\r' && _text[_at] != first) _at++;
        Line++;
    }

    private void SkipLine()
    {
        int end = _text[_at..].IndexOfAny((byte)'\n', (byte)'\r');
        _at = end < 0 ? _text.Length : _at + end;
    }

    private void SkipComment()
    {
        _at += 2;
        if (Current == '[')
        {
            int level = LevelOf();
            if (level >= 0)
            {
                LongBracket(level, isComment: true);
                return;
            }
        }

        SkipLine();
    }

    /// <summary>Equals signs of a long bracket that begins here; -1 for a bracket alone, -2 for what is
    /// neither.</summary>
    private readonly int LevelOf()
    {
        Debug.Assert(_text[_at] == (byte)'[', "a long bracket begins with a bracket");
        int at = _at + 1;
        while (at < _text.Length && _text[at] == '=') at++;
        if (at < _text.Length && _text[at] == '[') return at - _at - 1;
        return at == _at + 1 ? -1 : -2;
    }

    /// <returns>What is in it; of a comment nothing.</returns>
    private ReadOnlySpan<byte> LongBracket(int level, bool isComment)
    {
        Debug.Assert(level >= 0, "the bracket was looked at");
        _at += level + 2;
        if (Current is (byte)'\n' or (byte)'\r' && _at < _text.Length) NewLine();
        List<byte>? before = null;      // what is not as it stands in the text: other ends of lines
        int start = _at;
        // Ends: each round passes a byte.
        while (true)
        {
            int plain = _text[_at..].IndexOfAny(InLongBracket);
            if (plain < 0) break;
            _at += plain;
            byte c = _text[_at];
            if (c is (byte)'\n' or (byte)'\r')
            {
                int end = _at;
                NewLine();
                if (isComment || (c == '\n' && _at == end + 1)) continue;
                (before ??= []).AddRange(_text[start..end]);
                before.Add((byte)'\n');
                start = _at;
                continue;
            }

            if (level == 0 && c == '[' && Following == '[')
                throw ErrorNear("nesting of [[...]] is deprecated", "[");
            if (c == ']' && IsClosing(level))
            {
                var rest = _text[start.._at];
                _at += level + 2;
                if (before is null || isComment) return rest;
                before.AddRange(rest);
                return CollectionsMarshal.AsSpan(before);
            }

            _at++;
        }

        _at = _text.Length;
        throw ErrorNear($"unfinished long {(isComment ? "comment" : "string")}", "<eof>");
    }

    private readonly bool IsClosing(int level)
    {
        Debug.Assert(_text[_at] == (byte)']', "a long bracket ends with a bracket");
        int end = _at + level + 1;
        if (end >= _text.Length || _text[end] != ']') return false;
        return _text[(_at + 1)..end].IndexOfAnyExcept((byte)'=') < 0;
    }

    private ReadOnlySpan<byte> QuotedString(byte quote)
    {
        Debug.Assert(_text[_at] == quote, "the string begins with its quote");
        List<byte>? content = null;     // from the first escape on
        _at++;
        // Ends: each round passes a byte.
        while (true)
        {
            int plain = _text[_at..].IndexOfAny(quote == '"' ? InDoubleQuotes : InSingleQuotes), start = _at;
            if (plain < 0)
            {
                _at = _text.Length;
                throw ErrorNear("unfinished string", "<eof>");
            }

            _at += plain;
            byte c = _text[_at];
            if (c == quote && content is null) return _text[start.._at++];
            content ??= [];
            content.AddRange(_text[start.._at]);
            if (c == quote)
            {
                _at++;
                return CollectionsMarshal.AsSpan(content);
            }

            if (c != '\\') throw ErrorNear("unfinished string", Quoted([quote, .. content]));
            _at++;
            Escape(content);
            if (content.Count > TokenBytesMax) throw new LuaException("not enough memory");
        }
    }

    private void Escape(List<byte> content)
    {
        if (_at >= _text.Length) return;    // the round after says what is wrong
        byte c = _text[_at];
        if (c is (byte)'\n' or (byte)'\r')
        {
            NewLine();
            content.Add((byte)'\n');
            return;
        }

        if (NumberSyntax.IsDigit(c))
        {
            int code = 0;
            for (int digits = 0; digits < 3 && NumberSyntax.IsDigit(Current); digits++) code = (code * 10)
                + _text[_at++] - '0';
            if (code > 255)
                throw ErrorNear("escape sequence too large",
                    Quoted([_text[_start], .. content]));
            content.Add((byte)code);
            return;
        }

        _at++;
        content.Add(c switch
        {
            (byte)'a' => 7,
            (byte)'b' => 8,
            (byte)'f' => 12,
            (byte)'n' => 10,
            (byte)'r' => 13,
            (byte)'t' => 9,
            (byte)'v' => 11,
            _ => c,
        });
    }

    // One object for equal names and strings of a chunk, so that comparing the references mostly decides.
    private readonly LuaString Unique(ReadOnlySpan<byte> bytes)
    {
        if (_strings.TryGetValue(bytes, out var found)) return found;
        found = CommonStrings.Find(bytes) ?? new LuaString(bytes).Share();
        _strings.Dictionary.Add(found, found);
        return found;
    }
}

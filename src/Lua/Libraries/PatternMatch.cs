namespace Kv.Lua.Libraries;

/// <summary>One try of a pattern on a string.</summary>
/// <remarks>
/// Recursion is as deep as the pattern has repetitions and captures, and bounded; work is counted, since a pattern of
/// some
/// repetitions can take time of a power of the string's length.
/// </remarks>
internal ref struct PatternMatch
{
    public const int CapturesMax = 32;

    private const int DepthMax = 200;

    /// <summary>Steps of one call: some tens of milliseconds.</summary>
    private const long StepsMax = 10_000_000;

    private const int Unfinished = -1, Position = -2, None = -1;

    private readonly ReadOnlySpan<byte> _text, _pattern;
    private readonly Span<int> _starts, _lengths;
    private readonly int _first;    // the byte that every match begins with; -1: there are several, or none
    private int _depth;

    /// <param name="captures">Room for twice <see cref="CapturesMax"/> numbers.</param>
    public PatternMatch(ReadOnlySpan<byte> text, ReadOnlySpan<byte> pattern, Span<int> captures)
    {
        _text = text;
        _pattern = pattern;
        _starts = captures[..CapturesMax];
        _lengths = captures[CapturesMax..];
        _first = FirstOf(pattern);
    }

    private static int FirstOf(ReadOnlySpan<byte> pattern)
    {
        if (pattern.IsEmpty || "^$*+?.([%-)"u8.Contains(pattern[0])) return -1;
        return pattern.Length > 1 && "*?-"u8.Contains(pattern[1]) ? -1 : pattern[0];
    }

    /// <summary>Captures of the last match.</summary>
    public int Captures { get; private set; }

    /// <summary>Work done so far.</summary>
    public long Steps { get; private set; }

    /// <summary>Tries to match from a place.</summary>
    /// <returns>Where the match ends; -1: there is none.</returns>
    public int TryAt(int place, int patternStart)
    {
        Captures = 0;
        _depth = 0;
        return Match(place, patternStart);
    }

    /// <summary>The first place from one on where a match can begin: where the pattern's first character is, if it is
    /// one.</summary>
    /// <returns>One past the end of the text when there is none.</returns>
    public readonly int NextCandidate(int place)
    {
        if (_first < 0 || place >= _text.Length) return _first < 0 ? place : _text.Length + 1;
        int found = _text[place..].IndexOf((byte)_first);
        return found < 0 ? _text.Length + 1 : place + found;
    }

    /// <summary>A capture of the last match; without any, the whole of it.</summary>
    public readonly (int Start, int Length, bool IsPosition) Capture(int index, int start, int end)
    {
        if (index >= Captures)
        {
            if (index != 0) throw LuaException.WithPlace("invalid capture index");
            return (start, end - start, false);
        }

        if (_lengths[index] == Unfinished) throw LuaException.WithPlace("unfinished capture");
        return (_starts[index], _lengths[index], _lengths[index] == Position);
    }

    private void Count()
    {
        if (++Steps > StepsMax) throw LuaException.WithPlace("pattern matching takes too long");
    }

    private int Match(int s, int p)
    {
        if (++_depth > DepthMax) throw LuaException.WithPlace("pattern too complex");
        // Ends: each round passes an item of the pattern.
        while (p < _pattern.Length)
        {
            Count();
            switch (_pattern[p])
            {
                case (byte)'(':
                    int opened = p + 1 < _pattern.Length && _pattern[p + 1] == ')' ? Open(s, p + 2, Position)
                        : Open(s, p + 1, Unfinished);
                    _depth--;
                    return opened;
                case (byte)')':
                    int closed = Close(s, p + 1);
                    _depth--;
                    return closed;
                case (byte)'$' when p + 1 == _pattern.Length:
                    _depth--;
                    return s == _text.Length ? s : None;
                case (byte)'%' when p + 1 < _pattern.Length && _pattern[p + 1] == 'b':
                    s = Balance(s, p + 2);
                    p += 4;
                    break;
                case (byte)'%' when p + 1 < _pattern.Length && _pattern[p + 1] == 'f':
                    p += 2;
                    if (p >= _pattern.Length || _pattern[p] != '[')
                        throw LuaException.WithPlace("missing '[' after '%f' in pattern");
                    int after = EndOfClass(p);
                    byte before = s == 0 ? (byte)0 : _text[s - 1], here = s < _text.Length ? _text[s] : (byte)0;
                    if (IsInSet(before, p, after - 1) || !IsInSet(here, p, after - 1)) s = None;
                    p = after;
                    break;
                case (byte)'%' when p + 1 < _pattern.Length && NumberSyntax.IsDigit(_pattern[p + 1]):
                    s = Again(s, _pattern[p + 1]);
                    p += 2;
                    break;
                default:
                    if (!TryItem(ref s, ref p, out int result)) break;
                    _depth--;
                    return result;
            }

            if (s != None) continue;
            _depth--;
            return None;
        }

        _depth--;
        return s;
    }

    /// <summary>One character or class, with what repeats it.</summary>
    /// <returns>True when the rest was matched, too; else the places have moved on, s to -1 where it does not
    /// fit.</returns>
    private bool TryItem(ref int s, ref int p, out int result)
    {
        int end = EndOfClass(p);
        byte suffix = end < _pattern.Length ? _pattern[end] : (byte)0;
        result = None;
        switch (suffix)
        {
            case (byte)'?':
                if (s < _text.Length && IsSingle(_text[s], p, end))
                {
                    result = Match(s + 1, end + 1);
                    if (result != None) return true;
                }

                p = end + 1;
                return false;
            case (byte)'*':
                result = Most(s, p, end, 0);
                return true;
            case (byte)'+':
                result = Most(s, p, end, 1);
                return true;
            case (byte)'-':
                result = Least(s, p, end);
                return true;
            default:
                s = s < _text.Length && IsSingle(_text[s], p, end) ? s + 1 : None;
                p = end;
                return false;
        }
    }

    private int Most(int s, int p, int end, int least)
    {
        int count = 0;
        while (s + count < _text.Length && IsSingle(_text[s + count], p, end)) count++;
        Steps += count;
        // Ends: one fewer each round.
        for (; count >= least; count--)
        {
            int result = Match(s + count, end + 1);
            if (result != None) return result;
        }

        return None;
    }

    private int Least(int s, int p, int end)
    {
        // Ends: each round passes a byte of the text.
        while (true)
        {
            int result = Match(s, end + 1);
            if (result != None) return result;
            if (s >= _text.Length || !IsSingle(_text[s], p, end)) return None;
            s++;
            Count();
        }
    }

    private int Open(int s, int p, int kind)
    {
        if (Captures >= CapturesMax) throw LuaException.WithPlace("too many captures");
        _starts[Captures] = s;
        _lengths[Captures] = kind;
        Captures++;
        int result = Match(s, p);
        if (result == None) Captures--;
        return result;
    }

    private int Close(int s, int p)
    {
        int index = Captures - 1;
        while (index >= 0 && _lengths[index] != Unfinished) index--;
        if (index < 0) throw LuaException.WithPlace("invalid pattern capture");
        _lengths[index] = s - _starts[index];
        int result = Match(s, p);
        if (result == None) _lengths[index] = Unfinished;
        return result;
    }

    private int Balance(int s, int p)
    {
        if (p + 1 >= _pattern.Length) throw LuaException.WithPlace("unbalanced pattern");
        byte open = _pattern[p], close = _pattern[p + 1];
        if (s >= _text.Length || _text[s] != open) return None;
        int depth = 1;
        for (int i = s + 1; i < _text.Length; i++)
        {
            Count();
            if (_text[i] == close)
            {
                if (--depth == 0) return i + 1;
            }
            else if (_text[i] == open)
            {
                depth++;
            }
        }

        return None;
    }

    // What was captured before, once more.
    private readonly int Again(int s, byte digit)
    {
        int index = digit - '1';
        if (index < 0 || index >= Captures || _lengths[index] == Unfinished)
            throw LuaException.WithPlace("invalid capture index");
        if (_lengths[index] < 0) return None;
        var captured = _text.Slice(_starts[index], _lengths[index]);
        return _text[s..].StartsWith(captured) ? s + captured.Length : None;
    }

    private readonly int EndOfClass(int p)
    {
        if (_pattern[p] == '%')
        {
            if (p + 1 >= _pattern.Length) throw LuaException.WithPlace("malformed pattern (ends with '%')");
            return p + 2;
        }

        if (_pattern[p++] != '[') return p;
        if (p < _pattern.Length && _pattern[p] == '^') p++;
        do
        {
            if (p >= _pattern.Length) throw LuaException.WithPlace("malformed pattern (missing ']')");
            if (_pattern[p++] == '%' && p < _pattern.Length) p++;
        }
        while (p >= _pattern.Length || _pattern[p] != ']');

        return p + 1;
    }

    private readonly bool IsSingle(byte c, int p, int end) => _pattern[p] switch
    {
        (byte)'.' => true,
        (byte)'%' => IsOfClass(c, _pattern[p + 1]),
        (byte)'[' => IsInSet(c, p, end - 1),
        _ => _pattern[p] == c,
    };

    private readonly bool IsInSet(byte c, int p, int end)
    {
        bool isIn = true;
        if (_pattern[p + 1] == '^')
        {
            isIn = false;
            p++;
        }

        // Ends: each round passes a part of the set.
        while (++p < end)
        {
            if (_pattern[p] == '%')
            {
                p++;
                if (IsOfClass(c, _pattern[p])) return isIn;
            }
            else if (p + 2 < end && _pattern[p + 1] == '-')
            {
                p += 2;
                if (_pattern[p - 2] <= c && c <= _pattern[p]) return isIn;
            }
            else if (_pattern[p] == c)
            {
                return isIn;
            }
        }

        return !isIn;
    }

    // The C locale's classes: a letter is a class, an upper-case one its complement, anything else is itself.
    private static bool IsOfClass(byte c, byte name)
    {
        int bit = ClassBits[name];
        if (bit == 0) return name == c;
        return ((Classes[c] & bit) != 0) != char.IsAsciiLetterUpper((char)name);
    }

    private static readonly ushort[] ClassBits = MakeClassBits(), Classes = MakeClasses();

    private static ushort[] MakeClassBits()
    {
        var bits = new ushort[256];
        for (int i = 0; i < ClassNames.Length; i++)
            bits[ClassNames[i]] = bits[ClassNames[i] & ~0x20] = (ushort)(1 << i);
        return bits;
    }

    private static ReadOnlySpan<byte> ClassNames => "acdlpsuwxz"u8;

    private static ushort[] MakeClasses()
    {
        var classes = new ushort[256];
        for (int c = 0; c < 256; c++)
            for (int i = 0; i < ClassNames.Length; i++)
                if (Belongs((byte)c, ClassNames[i])) classes[c] |= (ushort)(1 << i);
        return classes;
    }

    private static bool Belongs(byte c, byte name) => (char)name switch
    {
        'a' => char.IsAsciiLetter((char)c),
        'c' => c < 32 || c == 127,
        'd' => NumberSyntax.IsDigit(c),
        'l' => char.IsAsciiLetterLower((char)c),
        'p' => c is > 32 and < 127 && !char.IsAsciiLetterOrDigit((char)c),
        's' => NumberSyntax.IsSpace(c),
        'u' => char.IsAsciiLetterUpper((char)c),
        'w' => char.IsAsciiLetterOrDigit((char)c),
        'x' => char.IsAsciiHexDigit((char)c),
        _ => c == 0,
    };
}

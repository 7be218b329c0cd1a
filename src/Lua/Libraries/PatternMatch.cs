using System.Diagnostics;

namespace Kv.Lua.Libraries;

/// <summary>Matches a pattern at places of a string, in steps.</summary>
/// <remarks>
/// A repetition, an optional item and a capture leave a choice on a stack of the match's own: when what follows does
/// not fit, the last choice is made otherwise. So a match can be put aside anywhere, and takes none of the thread's
/// stack.
/// Work is counted, since a pattern of some repetitions can take time of a power of the string's length.
/// A machine has one: from <see cref="Begin"/> to what a try gives nothing else of the script runs.
/// </remarks>
internal sealed class PatternMatch
{
    public const int CapturesMax = 32;

    /// <summary>What a try gives besides the end of the match: there is none; its steps are used up, and the next call
    /// goes on.</summary>
    public const int None = -1, Paused = -2;

    private const int DepthMax = 200;

    /// <summary>Steps at one place: half a second.</summary>
    private const long StepsMax = 100_000_000;

    /// <summary>A match gets on by so much however small the budget is.</summary>
    private const long StepsLeast = 64;

    /// <summary>The most before a look at the budget, for who has a very large one.</summary>
    private const long StepsMost = 1 << 20;

    private const int Unfinished = -1, Position = -2;

    private readonly int[] _starts = new int[CapturesMax], _lengths = new int[CapturesMax];
    private readonly Choice[] _choices = new Choice[DepthMax];
    private LuaString _text = LuaString.Empty, _pattern = LuaString.Empty;
    private int _first;     // the byte that every match begins with; -1: there are several, or none
    private int _depth, _s, _p, _counted, _nested;
    private long _allowed, _left, _atPlace;
    private bool _isPaused;

    private enum Kind
    {
        Optional,       // without the item
        Most,           // one repetition less
        Least,          // one more
        Opened,         // a capture that began
        Closed,         // a capture that ended
    }

    private struct Choice
    {
        public Kind Kind;
        public int S, P, End, Count, Fewest;
    }

    /// <summary>Captures of the last match.</summary>
    public int Captures { get; private set; }

    /// <summary>Matches a pattern on a string from here on, as far as the budget goes.</summary>
    public void Begin(LuaString text, LuaString pattern, ref LuaCall call)
    {
        (_text, _pattern) = (text, pattern);
        _first = FirstOf(pattern.Span);
        _isPaused = false;
        GoOn(ref call);
    }

    /// <summary>Goes on after it was put aside.</summary>
    public void GoOn(ref LuaCall call) =>
        _left = _allowed = Math.Clamp(call.Machine.Budget * 4, StepsLeast, StepsMost);

    /// <summary>Takes what was done into account.</summary>
    public void End(ref LuaCall call)
    {
        call.Spend(_allowed - _left);
        _allowed = _left;
    }

    /// <summary>Lets go of the strings.</summary>
    public void Clear()
    {
        (_text, _pattern) = (LuaString.Empty, LuaString.Empty);
        _isPaused = false;
    }

    private static int FirstOf(ReadOnlySpan<byte> pattern)
    {
        if (pattern.IsEmpty || "^$*+?.([%-)"u8.Contains(pattern[0])) return -1;
        return pattern.Length > 1 && "*?-"u8.Contains(pattern[1]) ? -1 : pattern[0];
    }

    /// <summary>Tries to match from a place, or goes on where it was put aside.</summary>
    /// <returns>Where the match ends, or <see cref="None"/>, or <see cref="Paused"/>.</returns>
    public int TryAt(int place, int patternStart)
    {
        Debug.Assert(place >= 0 && place <= _text.Length, "a match begins within the text, or at its end");
        if (!_isPaused)
        {
            Captures = 0;
            (_depth, _s, _p, _counted, _nested, _atPlace) = (0, place, patternStart, 0, 0, 0);
        }

        _isPaused = false;
        long before = _left;
        int result = Match(_text.Span, _pattern.Span);
        _atPlace += before - _left;
        if (result != Paused) return result;
        if (_atPlace > StepsMax) throw LuaException.WithPlace("pattern matching takes too long");
        _isPaused = true;
        return Paused;
    }

    /// <summary>The first place from one on where a match can begin: where the pattern's first character is, if it is
    /// one.</summary>
    /// <returns>One past the end of the text when there is none.</returns>
    public int NextCandidate(int place)
    {
        if (_isPaused) return place;
        if (_first < 0 || place >= _text.Length) return _first < 0 ? place : _text.Length + 1;
        int found = _text.Span[place..].IndexOf((byte)_first);
        _left -= (found < 0 ? _text.Length - place : found) >> 5;
        return found < 0 ? _text.Length + 1 : place + found;
    }

    /// <summary>A capture of the last match; without any, the whole of it.</summary>
    public (int Start, int Length, bool IsPosition) Capture(int index, int start, int end)
    {
        Debug.Assert(index >= 0 && start <= end, "a match has an end");
        if (index >= Captures)
        {
            if (index != 0) throw LuaException.WithPlace("invalid capture index");
            return (start, end - start, false);
        }

        if (_lengths[index] == Unfinished) throw LuaException.WithPlace("unfinished capture");
        return (_starts[index], _lengths[index], _lengths[index] == Position);
    }

    private int Match(ReadOnlySpan<byte> text, ReadOnlySpan<byte> pattern)
    {
        int s = _s, p = _p;
        // Ends: each round takes a step.
        while (true)
        {
            if (s == None && !TryChoice(text, pattern, out s, out p)) return None;
            if (--_left < 0)
            {
                (_s, _p) = (s, p);
                return Paused;
            }

            if (p >= pattern.Length) return s;
            switch (pattern[p])
            {
                case (byte)'(':
                    bool isPosition = p + 1 < pattern.Length && pattern[p + 1] == ')';
                    Open(s, isPosition ? Position : Unfinished);
                    p += isPosition ? 2 : 1;
                    continue;
                case (byte)')':
                    Close(s);
                    p++;
                    continue;
                case (byte)'$' when p + 1 == pattern.Length:
                    s = s == text.Length ? s : None;
                    p++;
                    continue;
                case (byte)'%' when p + 1 < pattern.Length && pattern[p + 1] == 'b':
                    int balanced = Balance(text, pattern, s, p + 2);
                    if (balanced == Paused)
                    {
                        (_s, _p) = (s, p);
                        return Paused;
                    }

                    s = balanced;
                    p += 4;
                    continue;
                case (byte)'%' when p + 1 < pattern.Length && pattern[p + 1] == 'f':
                    p += 2;
                    if (p >= pattern.Length || pattern[p] != '[')
                        throw LuaException.WithPlace("missing '[' after '%f' in pattern");
                    int after = EndOfClass(pattern, p);
                    byte before = s == 0 ? (byte)0 : text[s - 1], here = s < text.Length ? text[s] : (byte)0;
                    if (IsInSet(pattern, before, p, after - 1) || !IsInSet(pattern, here, p, after - 1)) s = None;
                    p = after;
                    continue;
                case (byte)'%' when p + 1 < pattern.Length && NumberSyntax.IsDigit(pattern[p + 1]):
                    s = Again(text, s, pattern[p + 1]);
                    p += 2;
                    continue;
                default:
                    if (TryItem(text, pattern, ref s, ref p)) continue;
                    (_s, _p) = (s, p);
                    return Paused;
            }
        }
    }

    /// <summary>One character or class, with what repeats it.</summary>
    /// <returns>False: its steps are used up.</returns>
    private bool TryItem(ReadOnlySpan<byte> text, ReadOnlySpan<byte> pattern, ref int s, ref int p)
    {
        int end = EndOfClass(pattern, p);
        switch (end < pattern.Length ? pattern[end] : (byte)0)
        {
            case (byte)'?':
                if (s < text.Length && IsSingle(pattern, text[s], p, end))
                {
                    Push(new Choice { Kind = Kind.Optional, S = s, End = end });
                    s++;
                }

                p = end + 1;
                return true;
            case (byte)'*':
                return TryMost(text, pattern, ref s, ref p, end, 0);
            case (byte)'+':
                return TryMost(text, pattern, ref s, ref p, end, 1);
            case (byte)'-':
                Push(new Choice { Kind = Kind.Least, S = s, P = p, End = end });
                p = end + 1;
                return true;
            default:
                s = s < text.Length && IsSingle(pattern, text[s], p, end) ? s + 1 : None;
                p = end;
                return true;
        }
    }

    private bool TryMost(ReadOnlySpan<byte> text, ReadOnlySpan<byte> pattern, ref int s, ref int p, int end, int fewest)
    {
        Debug.Assert(s >= 0 && s <= text.Length && fewest is 0 or 1, "an item is tried within the text");
        int count = _counted;
        if (pattern[p] == '.')
        {
            count = text.Length - s;
        }
        else
        {
            // Ends: each round passes a byte of the text.
            while (s + count < text.Length && IsSingle(pattern, text[s + count], p, end))
            {
                count++;
                if (--_left >= 0) continue;
                _counted = count;
                return false;
            }
        }

        _counted = 0;
        if (count < fewest)
        {
            s = None;
            return true;
        }

        Push(new Choice { Kind = Kind.Most, S = s, End = end, Count = count, Fewest = fewest });
        s += count;
        p = end + 1;
        return true;
    }

    private void Push(in Choice choice)
    {
        if (_depth == DepthMax - 1) throw LuaException.WithPlace("pattern too complex");
        _choices[_depth++] = choice;
    }

    /// <summary>Makes the last choice otherwise.</summary>
    /// <returns>False when there is none: the pattern does not match here.</returns>
    private bool TryChoice(ReadOnlySpan<byte> text, ReadOnlySpan<byte> pattern, out int s, out int p)
    {
        (s, p) = (None, 0);
        // Ends: each round takes a choice away, or finds one.
        while (_depth > 0)
        {
            ref Choice choice = ref _choices[_depth - 1];
            switch (choice.Kind)
            {
                case Kind.Optional:
                    (s, p) = (choice.S, choice.End + 1);
                    _depth--;
                    return true;
                case Kind.Most when --choice.Count >= choice.Fewest:
                    (s, p) = (choice.S + choice.Count, choice.End + 1);
                    return true;
                case Kind.Least when choice.S < text.Length
                    && IsSingle(pattern, text[choice.S], choice.P, choice.End):
                    (s, p) = (++choice.S, choice.End + 1);
                    return true;
                case Kind.Opened:
                    Captures--;
                    break;
                case Kind.Closed:
                    _lengths[choice.S] = Unfinished;
                    break;
            }

            _depth--;
        }

        return false;
    }

    private void Open(int s, int kind)
    {
        if (Captures >= CapturesMax) throw LuaException.WithPlace("too many captures");
        _starts[Captures] = s;
        _lengths[Captures] = kind;
        Captures++;
        Push(new Choice { Kind = Kind.Opened });
    }

    private void Close(int s)
    {
        int index = Captures - 1;
        while (index >= 0 && _lengths[index] != Unfinished) index--;
        if (index < 0) throw LuaException.WithPlace("invalid pattern capture");
        Debug.Assert(s >= _starts[index], "a capture ends after it begins");
        _lengths[index] = s - _starts[index];
        Push(new Choice { Kind = Kind.Closed, S = index });
    }

    private int Balance(ReadOnlySpan<byte> text, ReadOnlySpan<byte> pattern, int s, int p)
    {
        if (p + 1 >= pattern.Length) throw LuaException.WithPlace("unbalanced pattern");
        byte open = pattern[p], close = pattern[p + 1];
        if (s >= text.Length || text[s] != open) return None;
        int nested = _nested, i = s + 1 + _counted;
        (_counted, _nested) = (0, 0);
        for (; i < text.Length; i++)
        {
            if (--_left < 0)
            {
                (_counted, _nested) = (i - s - 1, nested);
                return Paused;
            }

            if (text[i] == close)
            {
                if (nested-- == 0) return i + 1;
            }
            else if (text[i] == open)
            {
                nested++;
            }
        }

        return None;
    }

    // What was captured before, once more.
    private int Again(ReadOnlySpan<byte> text, int s, byte digit)
    {
        int index = digit - '1';
        if (index < 0 || index >= Captures || _lengths[index] == Unfinished)
            throw LuaException.WithPlace("invalid capture index");
        if (_lengths[index] < 0) return None;
        var captured = text.Slice(_starts[index], _lengths[index]);
        _left -= captured.Length >> 5;
        return text[s..].StartsWith(captured) ? s + captured.Length : None;
    }

    private static int EndOfClass(ReadOnlySpan<byte> pattern, int p)
    {
        Debug.Assert(p < pattern.Length, "a class has a beginning");
        if (pattern[p] == '%')
        {
            if (p + 1 >= pattern.Length) throw LuaException.WithPlace("malformed pattern (ends with '%')");
            return p + 2;
        }

        if (pattern[p++] != '[') return p;
        if (p < pattern.Length && pattern[p] == '^') p++;
        do
        {
            if (p >= pattern.Length) throw LuaException.WithPlace("malformed pattern (missing ']')");
            if (pattern[p++] == '%' && p < pattern.Length) p++;
        }
        while (p >= pattern.Length || pattern[p] != ']');

        return p + 1;
    }

    private static bool IsSingle(ReadOnlySpan<byte> pattern, byte c, int p, int end) => pattern[p] switch
    {
        (byte)'.' => true,
        (byte)'%' => IsOfClass(c, pattern[p + 1]),
        (byte)'[' => IsInSet(pattern, c, p, end - 1),
        _ => pattern[p] == c,
    };

    private static bool IsInSet(ReadOnlySpan<byte> pattern, byte c, int p, int end)
    {
        Debug.Assert(pattern[p] == (byte)'[' && end < pattern.Length, "a set has its brackets");
        bool isIn = true;
        if (pattern[p + 1] == '^')
        {
            isIn = false;
            p++;
        }

        // Ends: each round passes a part of the set.
        while (++p < end)
        {
            if (pattern[p] == '%')
            {
                p++;
                if (IsOfClass(c, pattern[p])) return isIn;
            }
            else if (p + 2 < end && pattern[p + 1] == '-')
            {
                p += 2;
                if (pattern[p - 2] <= c && c <= pattern[p]) return isIn;
            }
            else if (pattern[p] == c)
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

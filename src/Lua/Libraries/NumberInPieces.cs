using System.Buffers;

namespace Kv.Lua.Libraries;

/// <summary>tonumber of a long text: the spaces, zeros and digits that do not change the number are passed over piece
/// by piece, and what is left is read at once.</summary>
/// <remarks>Left are all digits where there is a point or an exponent.</remarks>
internal sealed class NumberInPieces(LuaString text, int numberBase) : Continuation
{
    private Stage _stage;
    private SearchValues<byte> _digits = NumberSyntax.DigitsOf(numberBase);
    private int _start, _end = text.Length, _at;
    private bool _isHexadecimal;

    private enum Stage
    {
        ZeroByte,
        SpacesInFront,
        SpacesBehind,
        Digits,
        Zeros,
    }

    public int Begin(ref LuaCall call) => Resume(ref call, 0, 0);

    public override int Resume(ref LuaCall call, int at, int count)
    {
        // Ends: each round passes a piece of the text, or goes on to the next stage.
        while (true)
        {
            int length = Math.Min(TextInPieces.PieceBytes, _end - _at);
            call.Spend(length >> 6);
            if (!TryPass(length))
            {
                if (call.IsOverBudget) return call.Pause(this);
            }
            else if (TryEnd(out var value))
            {
                return call.Return(value);
            }
        }
    }

    public override void Visit(MemoryWalk walk) => walk.Visit(text);

    /// <returns>True at the end of what the stage looks for.</returns>
    private bool TryPass(int length)
    {
        if (_stage == Stage.SpacesBehind)
        {
            int last = text.Span.Slice(_end - length, length).LastIndexOfAnyExcept(NumberSyntax.Spaces);
            _end -= length - 1 - last;
            return last >= 0 || _end == _at;
        }

        var piece = text.Span.Slice(_at, length);
        int found = _stage switch
        {
            Stage.ZeroByte => piece.IndexOf((byte)0),
            Stage.SpacesInFront => piece.IndexOfAnyExcept(NumberSyntax.Spaces),
            Stage.Digits => piece.IndexOfAnyExcept(_digits),
            _ => piece.IndexOfAnyExcept((byte)'0'),
        };
        _at += found < 0 ? length : found;
        return found >= 0 || _at == _end;
    }

    /// <summary>Goes on to the next stage.</summary>
    /// <returns>True when the number is known, or that it is none.</returns>
    private bool TryEnd(out LuaValue value)
    {
        value = LuaValue.Nil;
        switch (_stage)
        {
            case Stage.ZeroByte:
                (_end, _at) = (_at, 0);     // C's strings end there
                break;
            case Stage.SpacesInFront:
                _start = _at;
                break;
            case Stage.SpacesBehind when _end - _start <= TextInPieces.PieceBytes:
                value = Read(text.Span[_start.._end]);
                return true;
            case Stage.SpacesBehind:
                _at = BeginOfDigits();
                break;
            case Stage.Digits when _at < _end:
                // Of another base there is nothing but digits.
                if (numberBase == 10) value = Read(text.Span[_start.._end]);
                return true;
            case Stage.Digits:
                _at = BeginOfDigits();
                break;
            case Stage.Zeros:
                value = OfDigits();
                return true;
        }

        _stage++;
        return false;
    }

    // After a sign, and "0x".
    private int BeginOfDigits()
    {
        var rest = text.Span[_start.._end];
        int at = rest[0] is (byte)'-' or (byte)'+' ? 1 : 0;
        _isHexadecimal = numberBase is 10 or 16 && rest[at] == '0' && (rest[at + 1] | 0x20) == 'x';
        if (_isHexadecimal) _digits = NumberSyntax.DigitsOf(16);
        return _start + at + (_isHexadecimal ? 2 : 0);
    }

    // Of nothing but digits, after zeros in front of them.
    private LuaValue OfDigits()
    {
        bool isNegative = text.Span[_start] == '-';
        int count = Math.Min(_end - _at, NumberSyntax.InfiniteDigits);
        // More digits make it no larger: it is infinite, or the largest of 64 bits.
        byte[] shortened = [.. isNegative ? "-"u8 : ""u8, .. _isHexadecimal ? "0x"u8 : ""u8, (byte)'0',
            .. text.Span.Slice(_at, count)];
        return Read(shortened);
    }

    private LuaValue Read(ReadOnlySpan<byte> number)
    {
        bool isNumber = numberBase == 10 ? NumberSyntax.TryParse(number, out double value)
            : NumberSyntax.TryParse(number, numberBase, out value);
        return isNumber ? value : LuaValue.Nil;
    }
}

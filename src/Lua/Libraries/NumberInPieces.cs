using System.Buffers;
using System.Diagnostics;

namespace Kv.Lua.Libraries;

/// <summary>tonumber of a long text, which is read piece by piece: what is around the number, then it.</summary>
internal sealed class NumberInPieces(LuaString text, int numberBase) : Continuation
{
    private Stage _stage;
    private readonly SearchValues<byte> _digits = NumberSyntax.DigitsOf(numberBase);
    private LongNumber _number;     // of base 10
    private int _start, _end = text.Length, _at, _first;

    private enum Stage
    {
        ZeroByte,
        SpacesInFront,
        SpacesBehind,
        Number,
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
        Debug.Assert(length >= 0 && _at + length <= _end, "a piece is within the text");
        if (_stage == Stage.SpacesBehind)
        {
            int last = text.Span.Slice(_end - length, length).LastIndexOfAnyExcept(NumberSyntax.Spaces);
            _end -= length - 1 - last;
            return last >= 0 || _end == _at;
        }

        var piece = text.Span.Slice(_at, length);
        if (_stage == Stage.Number)
        {
            int taken = _number.Take(piece);
            _at += taken;
            return taken < length || _at == _end;
        }

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
        Debug.Assert(_start <= _end && _at <= _end, "the stages come nearer to the number");
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
                _at = _first = BeginOfDigits();
                // Of another base there is nothing but digits.
                if (numberBase != 10) _stage = Stage.Number;
                break;
            case Stage.Number:
                if (_number.Length != _end - _first) return true;
                value = text.Span[_start] == '-' ? -_number.Value : _number.Value;
                return true;
            case Stage.Digits when _at < _end:
                return true;
            case Stage.Digits:
                _at = _first;
                break;
            case Stage.Zeros:
                value = OfDigits();
                return true;
        }

        _stage++;
        return false;
    }

    // After a sign, which is one byte, and "0x", two; in most bases they are none.
    private int BeginOfDigits()
    {
        _number = LongNumber.Begin(text.Span[_start.._end], out int prefix);
        return _start + (numberBase is 10 or 16 ? prefix : prefix & 1);
    }

    // Of nothing but digits, after zeros in front of them.
    private LuaValue OfDigits()
    {
        // More digits of any base make it no larger: it is the largest of 64 bits.
        const int most = 65;
        var digits = text.Span.Slice(_at, Math.Min(_end - _at, most));
        byte[] shortened = [.. text.Span[_start] == '-' ? "-"u8 : ""u8, (byte)'0', .. digits];
        return Read(shortened);
    }

    private LuaValue Read(ReadOnlySpan<byte> number)
    {
        bool isNumber = numberBase == 10 ? NumberSyntax.TryParse(number, out double value)
            : NumberSyntax.TryParse(number, numberBase, out value);
        return isNumber ? value : LuaValue.Nil;
    }
}

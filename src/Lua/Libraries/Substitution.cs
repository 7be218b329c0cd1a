using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Kv.Lua.Libraries;

/// <summary>string.gsub, also between two calls of its function.</summary>
internal sealed class Substitution : Continuation
{
    private readonly LuaString _text, _pattern;
    private readonly LuaValue _replacement;
    private readonly int _most;
    private readonly bool _isAnchored;
    private readonly List<byte> _result = [];
    private int _place, _count, _start, _end, _charged;

    public Substitution(ref LuaCall call)
    {
        _text = call.TextAt(0);
        _pattern = call.TextAt(1);
        _replacement = call[2];
        if (_replacement.Type is not (LuaType.Number or LuaType.String or LuaType.Function or LuaType.Table))
            throw call.ArgumentError(2, "string/function/table expected");
        _most = call.IntegerAt(3, _text.Length + 1);
        _isAnchored = _pattern.Length > 0 && _pattern.Span[0] == '^';
    }

    public int Begin(ref LuaCall call) => Run(ref call);

    public override int Resume(ref LuaCall call, int at, int count)
    {
        Add(ref call, count > 0 ? call.Coroutine.Stack[at] : LuaValue.Nil);
        return Advance() ? Run(ref call) : Finish(ref call);
    }

    public override void Visit(MemoryWalk walk)
    {
        walk.Visit(_text);
        walk.Visit(_pattern);
        walk.Visit(_replacement);
    }

    [SkipLocalsInit]
    private int Run(ref LuaCall call)
    {
        var text = _text.Span;
        var match = new PatternMatch(text, _pattern.Span, stackalloc int[2 * PatternMatch.CapturesMax]);
        // Ends: each round passes a byte of the text, or calls the script, which the budget counts.
        while (_count < _most)
        {
            int candidate = _isAnchored ? _place : match.NextCandidate(_place);
            if (candidate > _place)
            {
                // Nothing matches before: it is passed as it is.
                candidate = Math.Min(candidate, text.Length);
                _result.AddRange(text[_place..candidate]);
                _place = candidate;
            }

            _start = _place;
            _end = match.TryAt(_place, _isAnchored ? 1 : 0);
            if (_end >= 0)
            {
                _count++;
                if (!TryReplace(ref call, ref match, text, out int invoked))
                {
                    call.Spend(match.Steps);
                    return invoked;
                }
            }

            ChargeResult(ref call);
            if (!Advance()) break;
        }

        call.Spend(match.Steps);
        return Finish(ref call);
    }

    /// <summary>Passes what was matched, or a byte.</summary>
    /// <returns>False at the end.</returns>
    private bool Advance()
    {
        if (_end >= 0 && _end > _place)
        {
            _place = _end;
        }
        else if (_place < _text.Length)
        {
            _result.Add(_text.Span[_place++]);
        }
        else
        {
            return false;
        }

        return !_isAnchored;
    }

    private int Finish(ref LuaCall call)
    {
        _result.AddRange(_text.Span[Math.Min(_place, _text.Length)..]);
        ChargeResult(ref call);
        return call.Return(new LuaString(CollectionsMarshal.AsSpan(_result)), _count);
    }

    private void ChargeResult(ref LuaCall call)
    {
        if (_result.Capacity <= _charged) return;
        call.Charge(2L * (_result.Capacity - _charged));
        _charged = _result.Capacity;
    }

    /// <returns>False when a function of the script is called for it.</returns>
    private bool TryReplace(ref LuaCall call, scoped ref PatternMatch match, ReadOnlySpan<byte> text, out int invoked)
    {
        invoked = 0;
        if (_replacement.ToText() is { } form)
        {
            AddForm(ref call, ref match, text, form.Span);
            return true;
        }

        if (_replacement.AsFunction is not null)
        {
            int count = Math.Max(1, match.Captures), at = call.Function + 1 + call.Count;
            call.Coroutine.EnsureStack(at + 1 + count + Coroutine.Spare);
            call.Coroutine.Stack[at] = _replacement;
            for (int i = 0; i < count; i++)
                call.Coroutine.Stack[at + 1 + i] = StringLibrary.CaptureOf(ref call, ref match, text, i, _start, _end);
            invoked = call.InvokeAt(this, at, count);
            return false;
        }

        return TryLookUp(ref call, StringLibrary.CaptureOf(ref call, ref match, text, 0, _start, _end), out invoked);
    }

    private bool TryLookUp(ref LuaCall call, LuaValue key, out int invoked)
    {
        invoked = 0;
        LuaValue container = _replacement;
        // Ends: after so many steps.
        for (int step = 0; step < LuaLimits.EventChainMax; step++)
        {
            LuaValue found = container.AsTable is { } table ? table.Find(key) : LuaValue.Nil;
            LuaValue handler = found.IsNil ? Events.HandlerOf(call.Machine, container, CommonStrings.Index)
                : LuaValue.Nil;
            if (handler.IsNil)
            {
                Add(ref call, found);
                return true;
            }

            if (handler.AsFunction is not null)
            {
                invoked = call.Invoke(this, handler, [container, key]);
                return false;
            }

            container = handler;
        }

        throw Events.Failure("loop in gettable");
    }

    // nil and false leave what was matched.
    private void Add(ref LuaCall call, in LuaValue value)
    {
        if (!value.IsTrue) _result.AddRange(_text.Span[_start.._end]);
        else if (value.ToText() is { } text) _result.AddRange(text.Span);
        else throw call.Failure($"invalid replacement value (a {value.TypeName})");
        ChargeResult(ref call);
    }

    // %0 is the whole match, %1 to %9 its captures; another character after % is itself.
    private void AddForm(ref LuaCall call, scoped ref PatternMatch match, ReadOnlySpan<byte> text,
        ReadOnlySpan<byte> form)
    {
        for (int i = 0; i < form.Length; i++)
        {
            if (form[i] != '%')
            {
                _result.Add(form[i]);
                continue;
            }

            byte next = ++i < form.Length ? form[i] : (byte)0;
            if (!NumberSyntax.IsDigit(next))
            {
                _result.Add(next);
                continue;
            }

            if (next == '0')
            {
                _result.AddRange(text[_start.._end]);
                continue;
            }

            var (from, length, isPosition) = match.Capture(next - '1', _start, _end);
            if (isPosition) _result.AddRange(NumberSyntax.Format(from + 1).Span);
            else _result.AddRange(text.Slice(from, length));
        }

        call.Spend(form.Length >> 2);
    }
}

using System.Diagnostics;

namespace Kv.Lua.Libraries;

/// <summary>string.gsub, also between two calls of its function.</summary>
internal sealed class Substitution : Continuation
{
    private readonly LuaString _text, _pattern;
    private readonly LuaValue _replacement;
    private readonly int _most;
    private readonly bool _isAnchored;
    private readonly TextParts _result;
    private int _place, _count, _start, _end, _formAt;
    private Stage _stage;

    // What a pause has come between.
    private enum Stage
    {
        Matching,
        Writing,        // what stands for a match
        Called,         // a function of the script for it
    }

    public Substitution(ref LuaCall call)
    {
        _text = call.TextAt(0);
        _pattern = StringLibrary.PatternAt(ref call, 1);
        _replacement = call[2];
        _most = call.IntegerAt(3, _text.Length + 1);        // in the reference's order
        if (_replacement.Type is not (LuaType.Number or LuaType.String or LuaType.Function or LuaType.Table))
            throw call.ArgumentError(2, "string/function/table expected");
        _isAnchored = _pattern.Length > 0 && _pattern.Span[0] == '^';
        _result = new TextParts(call.Machine.Account);
    }

    public int Begin(ref LuaCall call)
    {
        call.Machine.Pattern.Begin(_text, _pattern, ref call);
        call.Machine.Running = this;
        int code = Run(ref call);
        call.Machine.Running = null;
        return code;
    }

    public override int Resume(ref LuaCall call, int at, int count)
    {
        call.Machine.Running = this;
        int code = GoOn(ref call, at, count);
        call.Machine.Running = null;
        return code;
    }

    private int GoOn(ref LuaCall call, int at, int count)
    {
        Debug.Assert(_stage != Stage.Called || _end >= 0, "a function is called for a match");
        if (_stage == Stage.Called)
        {
            _stage = Stage.Matching;
            Add(ref call, count > 0 ? call.Coroutine.Stack[at] : LuaValue.Nil);
            // The function may have matched other patterns.
            call.Machine.Pattern.Begin(_text, _pattern, ref call);
            return Advance() ? Run(ref call) : Finish(ref call);
        }

        call.Machine.Pattern.GoOn(ref call);
        return Run(ref call);
    }

    public override void Visit(MemoryWalk walk)
    {
        walk.Visit(_text);
        walk.Visit(_pattern);
        walk.Visit(_replacement);
        walk.Add(_result.Bytes);
    }

    private int Run(ref LuaCall call)
    {
        var text = _text.Span;
        var match = call.Machine.Pattern;
        // Ends: each round passes a byte of the text, or calls the script, which the budget counts.
        while (_count < _most)
        {
            if (_stage == Stage.Matching && !TryMatch(match, text)) return Pause(ref call, match);
            if (_end >= 0)
            {
                if (!TryReplace(ref call, match, text, out int invoked))
                {
                    match.End(ref call);
                    return invoked;
                }

                _count++;
            }

            _stage = Stage.Matching;
            if (!Advance()) break;
            if (call.IsOverBudget) return Pause(ref call, match);
        }

        match.End(ref call);
        return Finish(ref call);
    }

    private int Pause(ref LuaCall call, PatternMatch match)
    {
        match.End(ref call);
        return call.Pause(this);
    }

    /// <summary>Finds what matches at the place, or at the next where something can.</summary>
    /// <returns>False: the match is put aside.</returns>
    private bool TryMatch(PatternMatch match, ReadOnlySpan<byte> text)
    {
        int candidate = _isAnchored ? _place : Math.Min(match.NextCandidate(_place), text.Length);
        Debug.Assert(candidate >= _place, "what was passed is not matched again");
        // Nothing matches before: it is passed as it is.
        _result.Add(_text, _place, candidate - _place);
        _place = _start = candidate;
        _end = match.TryAt(_place, _isAnchored ? 1 : 0);
        return _end != PatternMatch.Paused;
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
        int rest = Math.Min(_place, _text.Length);
        _result.Add(_text, rest, _text.Length - rest);
        return _result.Return(ref call, _count);
    }

    /// <returns>False when a function of the script is called for it, or it is put aside.</returns>
    private bool TryReplace(ref LuaCall call, PatternMatch match, ReadOnlySpan<byte> text, out int invoked)
    {
        Debug.Assert(_end >= _start, "there is a match");
        invoked = 0;
        if (_replacement.ToText() is { } form)
        {
            _stage = Stage.Writing;
            if (TryAddForm(ref call, match, form)) return true;
            invoked = call.Pause(this);
            return false;
        }

        if (_replacement.AsFunction is not null)
        {
            int count = Math.Max(1, match.Captures), at = call.Function + 1 + call.Count;
            call.Coroutine.EnsureStack(at + 1 + count + Coroutine.Spare);
            call.Coroutine.Stack[at] = _replacement;
            for (int i = 0; i < count; i++)
                call.Coroutine.Stack[at + 1 + i] = StringLibrary.CaptureOf(ref call, match, text, i, _start, _end);
            invoked = call.InvokeAt(this, at, count);
            _stage = Stage.Called;
            _count++;
            return false;
        }

        return TryLookUp(ref call, StringLibrary.CaptureOf(ref call, match, text, 0, _start, _end), out invoked);
    }

    private bool TryLookUp(ref LuaCall call, LuaValue key, out int invoked)
    {
        invoked = 0;
        LuaValue container = _replacement;
        // Ends: after EventChainMax steps.
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
                _stage = Stage.Called;
                _count++;
                return false;
            }

            container = handler;
        }

        throw Events.Failure("loop in gettable");
    }

    // nil and false leave what was matched.
    private void Add(ref LuaCall call, in LuaValue value)
    {
        if (!value.IsTrue) _result.Add(_text, _start, _end - _start);
        else if (value.ToText() is { } text) _result.Add(text, 0, text.Length);
        else throw call.Failure($"invalid replacement value (a {value.TypeName})");
    }

    // %0 is the whole match, %1 to %9 its captures; another character after % is itself.
    private bool TryAddForm(ref LuaCall call, PatternMatch match, LuaString replacement)
    {
        var form = replacement.Span;
        // Ends: each round passes some of the form.
        while (_formAt < form.Length)
        {
            var rest = form[_formAt..Math.Min(form.Length, _formAt + TextInPieces.PieceBytes)];
            int plain = rest.IndexOf((byte)'%');
            if (plain != 0)
            {
                if (plain < 0) plain = rest.Length;
                _result.Add(rest[..plain]);
                _formAt += plain;
                call.Spend(plain >> 4);
            }
            else
            {
                AddItem(match, _formAt + 1 < form.Length ? form[_formAt + 1] : (byte)0);
                _formAt += 2;
                call.Spend(1);
            }

            if (call.IsOverBudget && _formAt < form.Length) return false;
        }

        _formAt = 0;
        return true;
    }

    private void AddItem(PatternMatch match, byte item)
    {
        if (!NumberSyntax.IsDigit(item))
        {
            _result.Add(item);
            return;
        }

        if (item == '0')
        {
            _result.Add(_text, _start, _end - _start);
            return;
        }

        var (from, length, isPosition) = match.Capture(item - '1', _start, _end);
        if (isPosition) _result.Add(NumberSyntax.Format(from + 1).Span);
        else _result.Add(_text, from, length);
    }
}

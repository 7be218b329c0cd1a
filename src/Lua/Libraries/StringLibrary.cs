using System.Runtime.CompilerServices;

namespace Kv.Lua.Libraries;

/// <summary>string.*, also as methods of strings.</summary>
internal static class StringLibrary
{
    private const int ResultsMax = 8000;

    public static void AddTo(LuaMachine machine)
    {
        var library = StandardLibraries.AddLibrary(machine, "string");
        StandardLibraries.Add(library, "byte", Byte);
        StandardLibraries.Add(library, "char", Char);
        StandardLibraries.Add(library, "dump", (ref LuaCall call) =>
            throw call.Failure("unable to dump given function"));
        StandardLibraries.Add(library, "find", (ref LuaCall call) => Find(ref call, wantsPlaces: true));
        StandardLibraries.Add(library, "format", StringFormat.Format);
        library[CommonStrings.Add("gfind")] = StandardLibraries.Add(library, "gmatch", AllMatches);
        StandardLibraries.Add(library, "gsub", (ref LuaCall call) => new Substitution(ref call).Begin(ref call));
        StandardLibraries.Add(library, "len", (ref LuaCall call) => call.Return(call.TextAt(0).Length));
        StandardLibraries.Add(library, "lower", (ref LuaCall call) =>
            Map(ref call, static c => (uint)(c - 'A') < 26 ? (byte)(c | 0x20) : c));
        StandardLibraries.Add(library, "match", (ref LuaCall call) => Find(ref call, wantsPlaces: false));
        StandardLibraries.Add(library, "rep", Repeat);
        StandardLibraries.Add(library, "reverse", Reverse);
        StandardLibraries.Add(library, "sub", Sub);
        StandardLibraries.Add(library, "upper", (ref LuaCall call) =>
            Map(ref call, static c => (uint)(c - 'a') < 26 ? (byte)(c & ~0x20) : c));
        machine.StringMetatable[CommonStrings.Index] = library;
    }

    // From 1; negative ones count from the end.
    private static int Place(int place, int length) => place >= 0 ? place : Math.Max(0, length + place + 1);

    private static int Byte(ref LuaCall call)
    {
        var text = call.TextAt(0);
        int from = Place(call.IntegerAt(1, 1), text.Length), to = Place(call.IntegerAt(2, from), text.Length);
        from = Math.Max(from, 1);
        to = Math.Min(to, text.Length);
        if (from > to) return call.Return();
        int count = to - from + 1;
        if (count >= ResultsMax) throw call.Failure("string slice too long");
        var results = call.Results(count);
        for (int i = 0; i < count; i++) results[i] = text.Span[from - 1 + i];
        return count;
    }

    private static int Char(ref LuaCall call)
    {
        byte[] bytes = new byte[call.Count];
        for (int i = 0; i < bytes.Length; i++)
        {
            int code = call.IntegerAt(i);
            if (code is < 0 or > 255) throw call.ArgumentError(i, "invalid value");
            bytes[i] = (byte)code;
        }

        return call.Return(call.Text(bytes));
    }

    private static int Map(ref LuaCall call, Func<byte, byte> map)
    {
        var text = call.TextAt(0).Span;
        call.Charge(LuaString.OverheadBytes + text.Length);
        call.Spend(text.Length >> 4);
        byte[] bytes = new byte[text.Length];
        for (int i = 0; i < bytes.Length; i++) bytes[i] = map(text[i]);
        return call.Return(new LuaString(bytes));
    }

    private static int Repeat(ref LuaCall call)
    {
        var text = call.TextAt(0);
        int count = call.IntegerAt(1);
        if (count <= 0 || text.Length == 0) return call.Return(LuaString.Empty);
        long length = (long)text.Length * count;
        call.Charge(LuaString.OverheadBytes + length);
        call.Spend(length >> 6);
        if (length > Array.MaxLength) throw call.Failure("not enough memory");
        byte[] bytes = new byte[length];
        if (text.Length == 1)
        {
            bytes.AsSpan().Fill(text.Span[0]);
        }
        else
        {
            for (int i = 0; i < count; i++) text.Span.CopyTo(bytes.AsSpan(i * text.Length));
        }

        return call.Return(new LuaString(bytes));
    }

    private static int Reverse(ref LuaCall call)
    {
        var text = call.TextAt(0).Span;
        call.Charge(LuaString.OverheadBytes + text.Length);
        byte[] bytes = text.ToArray();
        bytes.AsSpan().Reverse();
        return call.Return(new LuaString(bytes));
    }

    private static int Sub(ref LuaCall call)
    {
        var text = call.TextAt(0);
        int from = Math.Max(1, Place(call.IntegerAt(1), text.Length)),
            to = Math.Min(text.Length, Place(call.IntegerAt(2, -1), text.Length));
        if (from > to) return call.Return(LuaString.Empty);
        if (from == 1 && to == text.Length) return call.Return(text);
        return call.Return(call.Text(text.Span[(from - 1)..to]));
    }

    [SkipLocalsInit]
    private static int Find(ref LuaCall call, bool wantsPlaces)
    {
        var text = call.TextAt(0).Span;
        var pattern = call.TextAt(1).Span;
        int init = Math.Clamp(Place(call.IntegerAt(2, 1), text.Length) - 1, 0, text.Length);
        if (wantsPlaces && (call[3].IsTrue || pattern.IndexOfAny("^$*+?.([%-"u8) < 0))
        {
            int found = text[init..].IndexOf(pattern);
            call.Spend((text.Length - init) >> 5);
            return found < 0 ? call.Return(LuaValue.Nil) : call.Return(init + found + 1, init + found + pattern.Length);
        }

        bool isAnchored = !pattern.IsEmpty && pattern[0] == '^';
        var match = new PatternMatch(text, pattern, stackalloc int[2 * PatternMatch.CapturesMax]);
        for (int place = init; place <= text.Length; place++)
        {
            if (!isAnchored && (place = match.NextCandidate(place)) > text.Length) break;
            int end = match.TryAt(place, isAnchored ? 1 : 0);
            if (end >= 0)
            {
                call.Spend(match.Steps);
                return wantsPlaces ? ReturnPlaces(ref call, ref match, text, place, end)
                    : ReturnCaptures(ref call, ref match, text, place, end);
            }

            if (isAnchored) break;
        }

        call.Spend(match.Steps);
        return call.Return(LuaValue.Nil);
    }

    private static int ReturnPlaces(ref LuaCall call, scoped ref PatternMatch match, ReadOnlySpan<byte> text, int start,
        int end)
    {
        var results = call.Results(match.Captures + 2);
        for (int i = 0; i < match.Captures; i++) results[i + 2] = CaptureOf(ref call, ref match, text, i, start, end);
        results[0] = start + 1;
        results[1] = end;
        return match.Captures + 2;
    }

    /// <summary>Ends with the captures of a match, or the whole of it.</summary>
    public static int ReturnCaptures(ref LuaCall call, scoped ref PatternMatch match, ReadOnlySpan<byte> text,
        int start, int end)
    {
        int count = Math.Max(1, match.Captures);
        var results = call.Results(count);
        for (int i = 0; i < count; i++) results[i] = CaptureOf(ref call, ref match, text, i, start, end);
        return count;
    }

    public static LuaValue CaptureOf(ref LuaCall call, scoped ref PatternMatch match, ReadOnlySpan<byte> text,
        int index, int start, int end)
    {
        var (from, length, isPosition) = match.Capture(index, start, end);
        return isPosition ? from + 1 : call.Text(text.Slice(from, length));
    }

    private static int AllMatches(ref LuaCall call)
    {
        var text = call.TextAt(0);
        var pattern = call.TextAt(1);
        int place = 0;
        call.Charge(Closure.OverheadBytes * 2);
        return call.Return(new LuaBuiltin("gmatch_aux", (ref LuaCall inner) =>
        {
            var match = new PatternMatch(text.Span, pattern.Span, stackalloc int[2 * PatternMatch.CapturesMax]);
            for (; place <= text.Length; place++)
            {
                if ((place = match.NextCandidate(place)) > text.Length) break;
                int end = match.TryAt(place, 0);
                if (end < 0) continue;
                int start = place;
                place = end == start ? end + 1 : end;
                inner.Spend(match.Steps);
                return ReturnCaptures(ref inner, ref match, text.Span, start, end);
            }

            inner.Spend(match.Steps);
            return inner.Return(LuaValue.Nil);
        }));
    }
}

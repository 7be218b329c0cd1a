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
            Case(ref call, (byte)'A'));
        StandardLibraries.Add(library, "match", (ref LuaCall call) => Find(ref call, wantsPlaces: false));
        StandardLibraries.Add(library, "rep", Repeat);
        StandardLibraries.Add(library, "reverse", Reverse);
        StandardLibraries.Add(library, "sub", Sub);
        StandardLibraries.Add(library, "upper", (ref LuaCall call) =>
            Case(ref call, (byte)'a'));
        machine.StringMetatable[CommonStrings.Index] = library;
    }

    // From 1; negative ones count from the end.
    private static long Place(long place, int length) => place >= 0 ? place : Math.Max(0, length + place + 1);

    /// <summary>A pattern among the arguments: C's strings end at a zero byte, and so does what is matched.</summary>
    public static LuaString PatternAt(ref LuaCall call, int index)
    {
        var pattern = call.TextAt(index);
        int end = pattern.Span.IndexOf((byte)0);
        return end < 0 ? pattern : call.Text(pattern.Span[..end]);
    }

    private static int Byte(ref LuaCall call)
    {
        var text = call.TextAt(0);
        long first = Place(call.LongAt(1, 1), text.Length), last = Place(call.LongAt(2, first), text.Length);
        first = Math.Max(first, 1);
        last = Math.Min(last, text.Length);
        if (first > last) return call.Return();
        int from = (int)first, count = (int)last - from + 1;
        if (count >= ResultsMax) throw call.Failure("stack overflow (string slice too long)");
        call.Spend(4L * count);
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

    private static int Case(ref LuaCall call, byte first)
    {
        var text = call.TextAt(0);
        return new CasedText(TextInPieces.Room(ref call, text.Length), text, first).Begin(ref call);
    }

    private static int Repeat(ref LuaCall call)
    {
        var text = call.TextAt(0);
        int count = call.IntegerAt(1);
        if (count <= 0 || text.Length == 0) return call.Return(LuaString.Empty);
        return new RepeatedText(TextInPieces.Room(ref call, (long)text.Length * count), text.Span).Begin(ref call);
    }

    private static int Reverse(ref LuaCall call)
    {
        var text = call.TextAt(0);
        return new ReversedText(TextInPieces.Room(ref call, text.Length), text).Begin(ref call);
    }

    private static int Sub(ref LuaCall call)
    {
        var text = call.TextAt(0);
        long first = Math.Max(1, Place(call.LongAt(1), text.Length)),
            last = Math.Min(text.Length, Place(call.LongAt(2, -1), text.Length));
        if (first > last) return call.Return(LuaString.Empty);
        int from = (int)first, to = (int)last;
        if (from == 1 && to == text.Length) return call.Return(text);
        return PartOfText.Return(ref call, text, from - 1, to - from + 1);
    }

    private static int Find(ref LuaCall call, bool wantsPlaces)
    {
        LuaString text = call.TextAt(0), sought = call.TextAt(1), pattern = PatternAt(ref call, 1);
        int init = (int)Math.Clamp(Place(call.LongAt(2, 1), text.Length) - 1, 0, text.Length);
        if (wantsPlaces && (call[3].IsTrue || pattern.Span.IndexOfAny("^$*+?.([%-"u8) < 0))
        {
            int found = text.Span[init..].IndexOf(sought.Span);
            call.Spend(((found < 0 ? text.Length : found) - init) >> 5);
            return found < 0 ? call.Return(LuaValue.Nil) : call.Return(init + found + 1, init + found + sought.Length);
        }

        call.Machine.Pattern.Begin(text, pattern, ref call);
        return Search(ref call, text, pattern, init, wantsPlaces, null);
    }

    /// <summary>Looks for a match from a place on.</summary>
    /// <param name="paused">What has been put aside once, or null.</param>
    private static int Search(ref LuaCall call, LuaString text, LuaString pattern, int place, bool wantsPlaces,
        PausedSearch? paused)
    {
        var match = call.Machine.Pattern;
        bool isAnchored = pattern.Length > 0 && pattern.Span[0] == '^';
        // Ends: each round passes a place.
        for (; place <= text.Length; place++)
        {
            if (!isAnchored && (place = match.NextCandidate(place)) > text.Length) break;
            int end = match.TryAt(place, isAnchored ? 1 : 0);
            if (end == PatternMatch.Paused)
            {
                match.End(ref call);
                paused ??= new PausedSearch(text, pattern, wantsPlaces);
                paused.Place = place;
                return call.Pause(paused);
            }

            if (end >= 0)
            {
                match.End(ref call);
                return wantsPlaces ? ReturnPlaces(ref call, match, text.Span, place, end)
                    : ReturnCaptures(ref call, match, text.Span, place, end);
            }

            if (isAnchored) break;
        }

        match.End(ref call);
        return call.Return(LuaValue.Nil);
    }

    /// <summary>string.find and string.match that have been put aside.</summary>
    private sealed class PausedSearch(LuaString text, LuaString pattern, bool wantsPlaces) : Continuation
    {
        public int Place;

        public override int Resume(ref LuaCall call, int at, int count)
        {
            call.Machine.Pattern.GoOn(ref call);
            return Search(ref call, text, pattern, Place, wantsPlaces, this);
        }

        public override void Visit(MemoryWalk walk)
        {
            walk.Visit(text);
            walk.Visit(pattern);
        }
    }

    private static int ReturnPlaces(ref LuaCall call, PatternMatch match, ReadOnlySpan<byte> text, int start, int end)
    {
        var results = call.Results(match.Captures + 2);
        for (int i = 0; i < match.Captures; i++) results[i + 2] = CaptureOf(ref call, match, text, i, start, end);
        results[0] = start + 1;
        results[1] = end;
        return match.Captures + 2;
    }

    /// <summary>Ends with the captures of a match, or the whole of it.</summary>
    public static int ReturnCaptures(ref LuaCall call, PatternMatch match, ReadOnlySpan<byte> text,
        int start, int end)
    {
        int count = Math.Max(1, match.Captures);
        var results = call.Results(count);
        for (int i = 0; i < count; i++) results[i] = CaptureOf(ref call, match, text, i, start, end);
        return count;
    }

    public static LuaValue CaptureOf(ref LuaCall call, PatternMatch match, ReadOnlySpan<byte> text,
        int index, int start, int end)
    {
        var (from, length, isPosition) = match.Capture(index, start, end);
        return isPosition ? from + 1 : call.Text(text.Slice(from, length));
    }

    private static int AllMatches(ref LuaCall call)
    {
        LuaString text = call.TextAt(0), pattern = PatternAt(ref call, 1);
        call.Charge(Closure.OverheadBytes * 2);
        var matches = new Matches(text, pattern);
        return call.Return(new LuaBuiltin("gmatch_aux", matches.Next) { Held = text });
    }

    /// <summary>The iterator of string.gmatch, also while it is put aside.</summary>
    private sealed class Matches(LuaString text, LuaString pattern) : Continuation
    {
        private int _place;

        public int Next(ref LuaCall call)
        {
            if (_place > text.Length) return call.Return();
            call.Machine.Pattern.Begin(text, pattern, ref call);
            return Search(ref call);
        }

        public override int Resume(ref LuaCall call, int at, int count)
        {
            call.Machine.Pattern.GoOn(ref call);
            return Search(ref call);
        }

        private int Search(ref LuaCall call)
        {
            var match = call.Machine.Pattern;
            // Ends: each round passes a place.
            for (; _place <= text.Length; _place++)
            {
                if ((_place = match.NextCandidate(_place)) > text.Length) break;
                int end = match.TryAt(_place, 0);
                if (end == PatternMatch.Paused)
                {
                    match.End(ref call);
                    return call.Pause(this);
                }

                if (end < 0) continue;
                int start = _place;
                _place = end == start ? end + 1 : end;
                match.End(ref call);
                return ReturnCaptures(ref call, match, text.Span, start, end);
            }

            match.End(ref call);
            return call.Return();
        }
    }
}

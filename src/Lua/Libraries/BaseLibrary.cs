namespace Kv.Lua.Libraries;

/// <summary>The functions that are globals themselves.</summary>
internal static class BaseLibrary
{
    /// <summary>Results that a C function of the reference may push.</summary>
    private const int ResultsMax = 8000;

    private static readonly LuaRest Collected = new((ref call) => call.Return(0));
    private static readonly LuaString Version = CommonStrings.Add("Lua 5.1");

    public static void AddTo(LuaMachine machine)
    {
        LuaTable globals = machine.Globals;
        globals[CommonStrings.Add("_G")] = globals;
        globals[CommonStrings.Add("_VERSION")] = Version;
        StandardLibraries.Add(globals, "assert", Assert);
        StandardLibraries.Add(globals, "collectgarbage", CollectGarbage);
        StandardLibraries.Add(globals, "error", Error);
        StandardLibraries.Add(globals, "gcinfo", (ref LuaCall call) =>
            call.Return(Math.Floor(call.Machine.MemoryBytes / 1024.0)));
        StandardLibraries.Add(globals, "getmetatable", GetMetatable);
        StandardLibraries.Add(globals, "ipairs", IndexPairs);
        StandardLibraries.Add(globals, "load", Load);
        StandardLibraries.Add(globals, "loadstring", LoadString);
        machine.NextFunction = StandardLibraries.Add(globals, "next", Next);
        machine.IndexIterator = new LuaBuiltin("ipairs_aux", NextIndex);
        StandardLibraries.Add(globals, "pairs", (ref LuaCall call) =>
            call.Return(call.Machine.NextFunction!, call.TableAt(0), LuaValue.Nil));
        StandardLibraries.Add(globals, "pcall", ProtectedCall);
        StandardLibraries.Add(globals, "rawequal", (ref LuaCall call) =>
        {
            Events.SpendOnText(call.Machine, call.ValueAt(0));
            return call.Return(LuaValue.RawEquals(call.ValueAt(0), call.ValueAt(1)));
        });
        StandardLibraries.Add(globals, "rawget", (ref LuaCall call) =>
            call.Return(call.TableAt(0).Find(call.ValueAt(1))));
        StandardLibraries.Add(globals, "rawset", RawSet);
        StandardLibraries.Add(globals, "select", Select);
        StandardLibraries.Add(globals, "setmetatable", SetMetatable);
        StandardLibraries.Add(globals, "tonumber", ToNumber);
        StandardLibraries.Add(globals, "tostring", ToText);
        StandardLibraries.Add(globals, "type", (ref LuaCall call) =>
            call.Return(CommonStrings.Add(call.ValueAt(0).TypeName)));
        StandardLibraries.Add(globals, "unpack", Unpack);
        StandardLibraries.Add(globals, "xpcall", HandledCall);
    }

    private static int Assert(ref LuaCall call)
    {
        if (!call.ValueAt(0).IsTrue)
            throw new LuaException(call[1].IsNil ? new LuaString("assertion failed!")
                : call.TextAt(1)) { WantsPlace = true };
        var arguments = call.Arguments();
        call.Coroutine.Stack.AsSpan(call.Function + 1,
            arguments.Length).CopyTo(call.Coroutine.Stack.AsSpan(call.Function));
        return call.Count;
    }

    private static int CollectGarbage(ref LuaCall call)
    {
        string word = call[0].IsNil ? "collect" : call.TextAt(0).ToString().Split('\0')[0];
        switch (word)
        {
            case "count": return call.Return(call.Machine.MemoryBytes / 1024.0);
            case "collect":
                call.Machine.Upkeep.WantMeasure();
                return call.Pause(Collected.Continuation);
            case "step": return call.Return(true);
            case "stop" or "restart" or "setpause" or "setstepmul": return call.Return(0);
            default: throw call.ArgumentError(0, $"invalid option '{word}'");
        }
    }

    private static int Error(ref LuaCall call)
    {
        int level = call.IntegerAt(1, 1);
        LuaValue value = call[0];
        // A number becomes a string, also where there is no place to put in front.
        if (level > 0 && value.ToText() is { } text)
            value = new LuaString([.. System.Text.Encoding.Latin1.GetBytes(call.Machine.Place(level)), .. text.Span]);
        return call.Error(value);
    }

    private static int GetMetatable(ref LuaCall call)
    {
        if (Events.MetatableOf(call.Machine, call.ValueAt(0)) is not { } metatable) return call.Return(LuaValue.Nil);
        LuaValue shown = metatable[CommonStrings.Metatable];
        return call.Return(shown.IsNil ? metatable : shown);
    }

    private static int SetMetatable(ref LuaCall call)
    {
        var table = call.TableAt(0);
        if (call.Count < 2 || (!call[1].IsNil && !call[1].IsTable))
            throw call.ArgumentError(1, "nil or table expected");
        if (table.Metatable is { } old && !old[CommonStrings.Metatable].IsNil)
            throw call.Failure("cannot change a protected metatable");
        table.LetWrite();
        table.Metatable = call[1].AsTable;
        return call.Return(table);
    }

    private static int IndexPairs(ref LuaCall call) => call.Return(call.Machine.IndexIterator!, call.TableAt(0), 0);

    private static int NextIndex(ref LuaCall call)
    {
        int index = call.IntegerAt(1) + 1;
        LuaValue value = call.TableAt(0)[index];
        return value.IsNil ? call.Return() : call.Return(index, value);
    }

    private static int Next(ref LuaCall call)
    {
        LuaValue key = call[1];
        if (!call.TableAt(0).TryNext(ref key, out LuaValue value)) throw Events.Failure("invalid key to 'next'");
        return key.IsNil ? call.Return(key) : call.Return(key, value);
    }

    private static int ProtectedCall(ref LuaCall call)
    {
        if (call.Count == 0 && call.Machine.CaughtBy != null)
            return call.Invoke(ProtectedResults.Instance, LuaValue.True, []);
        call.ValueAt(0);
        return call.InvokeAt(ProtectedResults.Instance, call.Function + 1, call.Count - 1);
    }

    private static int HandledCall(ref LuaCall call)
    {
        LuaValue handler = call.Count > 1 ? call[1] : throw call.ArgumentError(1, "value expected");
        call.Charge(Continuation.OverheadBytes);
        return call.InvokeAt(new HandledResults(handler), call.Function + 1, 0);
    }

    private static int RawSet(ref LuaCall call)
    {
        var table = call.TableAt(0);
        Events.SetRaw(table, call.ValueAt(1), call.ValueAt(2));
        return call.Return(table);
    }

    private static int Select(ref LuaCall call)
    {
        if (call[0].AsString is { Length: > 0 } word && word.Span[0] == '#') return call.Return(call.Count - 1);
        int index = call.IntegerAt(0);
        if (index < 0) index = call.Count + index;
        else if (index > call.Count) index = call.Count;
        if (index < 1) throw call.ArgumentError(0, "index out of range");
        int count = call.Count - index;
        LuaValue[] stack = call.Coroutine.Stack;
        stack.AsSpan(call.Function + 1 + index, count).CopyTo(stack.AsSpan(call.Function));
        return count;
    }

    private static int ToNumber(ref LuaCall call)
    {
        int numberBase = call.IntegerAt(1, 10);
        if (call[0].AsString is { Length: > TextInPieces.PieceBytes } text && numberBase is >= 2 and <= 36)
            return new NumberInPieces(text, numberBase).Begin(ref call);
        Events.SpendOnText(call.Machine, call[0]);
        if (numberBase == 10)
        {
            return call.ValueAt(0).TryToNumber(out double number) ? call.Return(number) : call.Return(LuaValue.Nil);
        }

        var digits = call.TextAt(0).Span;
        if (numberBase is < 2 or > 36) throw call.ArgumentError(1, "base out of range");
        return NumberSyntax.TryParse(digits, numberBase, out double parsed) ? call.Return(parsed)
            : call.Return(LuaValue.Nil);
    }

    private static int ToText(ref LuaCall call)
    {
        LuaValue value = call.ValueAt(0);
        LuaValue handler = Events.HandlerOf(call.Machine, value, CommonStrings.ToText);
        if (!handler.IsNil) return call.Invoke(FirstResult.Instance, handler, [value]);
        if (value.ToText() is { } text) return call.Return(text);
        return call.Return(call.Text(System.Text.Encoding.ASCII.GetBytes(AddressOf(value))));
    }

    /// <summary>The text of a value that has none of its own.</summary>
    public static string AddressOf(in LuaValue value) => value.Reference switch
    {
        Atom => value.Reference.ToString()!,
        _ => $"{value.TypeName}: 0x{System.Runtime.CompilerServices.RuntimeHelpers.GetHashCode(value.Reference):x12}",
    };

    private static int Unpack(ref LuaCall call)
    {
        var table = call.TableAt(0);
        int from = call.IntegerAt(1, 1), to = call[2].IsNil ? table.Length : call.IntegerAt(2);
        if (from > to) return call.Return();
        long count = (long)to - from + 1;
        if (count >= ResultsMax) throw call.Failure("too many results to unpack");
        var results = call.Results((int)count);
        for (int i = 0; i < results.Length; i++) results[i] = table[from + i];
        call.Spend(count);
        return (int)count;
    }

    private static int LoadString(ref LuaCall call)
    {
        var text = call.TextAt(0);
        return Loaded(ref call, text.Memory, call[1].IsNil ? NameOf(text) : call.TextAt(1).ToString());
    }

    // A text is its own name. No error shows so much of it.
    private static string NameOf(LuaString text)
    {
        const int most = 256;
        return System.Text.Encoding.Latin1.GetString(text.Span[..Math.Min(text.Length, most)]);
    }

    private static int Load(ref LuaCall call)
    {
        string name = call[1].IsNil ? "=(load)" : call.TextAt(1).ToString();       // in the reference's order
        if (call[0].AsFunction is null) throw call.TypeError(0, "function");
        call.Charge(Continuation.OverheadBytes);
        return call.Invoke(new LoadedPieces(name), call[0], []);
    }

    /// <summary>Ends with the function of a text, or nil and what is wrong with it.</summary>
    public static int Loaded(ref LuaCall call, ReadOnlyMemory<byte> text, string name)
    {
        call.Charge(text.Length);
        if (text.Length >= LoadedElsewhere.TextBytesMin && call.Machine.Elsewhere != null)
            return new LoadedElsewhere(text, name).Begin(ref call);
        call.Spend(text.Length);
        LuaChunk chunk;
        try
        {
            chunk = LuaMachine.Compile(text.Span, name);
        }
        catch (LuaException error)
        {
            return call.Return(LuaValue.Nil, error.Value);
        }

        return Loaded(ref call, chunk);
    }

    /// <summary>Ends with the function of a chunk.</summary>
    public static int Loaded(ref LuaCall call, LuaChunk chunk)
    {
        call.Charge(chunk.Bytes);
        chunk.Prototype.GiveToScript();
        return call.Return(new Closure(chunk.Prototype, []));
    }
}

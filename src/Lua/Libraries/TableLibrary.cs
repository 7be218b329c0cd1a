namespace Kv.Lua.Libraries;

/// <summary>table.*</summary>
internal static class TableLibrary
{
    public static void AddTo(LuaMachine machine)
    {
        var library = StandardLibraries.AddLibrary(machine, "table");
        StandardLibraries.Add(library, "concat", Concat);
        StandardLibraries.Add(library, "foreach", (ref LuaCall call) => new EachPair(call.TableAt(0)).Begin(ref call));
        StandardLibraries.Add(library, "foreachi", (ref LuaCall call) =>
            new EachIndex(call.TableAt(0)).Begin(ref call));
        StandardLibraries.Add(library, "getn", (ref LuaCall call) => call.Return(call.TableAt(0).Length));
        StandardLibraries.Add(library, "maxn", MaxIndex);
        StandardLibraries.Add(library, "insert", Insert);
        StandardLibraries.Add(library, "remove", Remove);
        StandardLibraries.Add(library, "setn", (ref LuaCall call) => throw call.Failure("'setn' is obsolete"));
        StandardLibraries.Add(library, "sort", Sort);
    }

    private static int Concat(ref LuaCall call)
    {
        LuaString separator = call[1].IsNil ? LuaString.Empty : call.TextAt(1);     // in the reference's order
        var table = call.TableAt(0);
        int from = call.IntegerAt(2, 1), to = call[3].IsNil ? table.Length : call.IntegerAt(3);
        if (from > to) return call.Return(LuaString.Empty);
        call.Charge(Continuation.OverheadBytes);
        return new TableConcat(table, separator, from, to).Begin(ref call);
    }

    private static int MaxIndex(ref LuaCall call)
    {
        var table = call.TableAt(0);
        double most = 0;
        LuaValue key = LuaValue.Nil;
        long count = 0;
        for (; table.TryNext(ref key, out _) && !key.IsNil; count++)
            if (key.IsNumber && key.Number > most) most = key.Number;
        call.Spend(count);
        return call.Return(most);
    }

    private static int Insert(ref LuaCall call)
    {
        var table = call.TableAt(0);
        int end = table.Length + 1, place = end;
        switch (call.Count)
        {
            case 2: break;
            case 3:
                place = call.IntegerAt(1);
                if (place > end) end = place;
                break;
            default: throw call.Failure("wrong number of arguments to 'insert'");
        }

        if (place >= end)
        {
            Events.SetRaw(table, place, call[call.Count - 1]);
            return call.Return();
        }

        return new TableShift(table, end, place, call[call.Count - 1], isUp: true).Begin(ref call);
    }

    private static int Remove(ref LuaCall call)
    {
        var table = call.TableAt(0);
        int end = table.Length, place = call.IntegerAt(1, end);
        if (place < 1 || place > end) return call.Return();
        if (place < end) return new TableShift(table, place, end, table[place], isUp: false).Begin(ref call);
        LuaValue removed = table[place];
        Events.SetRaw(table, end, LuaValue.Nil);
        return call.Return(removed);
    }

    private static int Sort(ref LuaCall call)
    {
        var table = call.TableAt(0);
        if (!call[1].IsNil && call[1].AsFunction is null) throw call.TypeError(1, "function");
        call.Charge(Continuation.OverheadBytes);
        return new TableSort(table, call[1]).Begin(ref call);
    }
}

/// <summary>table.foreach, between two calls of its function.</summary>
internal sealed class EachPair(LuaTable table) : Continuation
{
    /// <summary>A call costs as much as some instructions.</summary>
    public const int CallUnits = 8;

    private LuaValue _key = LuaValue.Nil;
    private bool _isPaused;

    public int Begin(ref LuaCall call)
    {
        if (call[1].AsFunction is null) throw call.TypeError(1, "function");
        return Next(ref call);
    }

    public override int Resume(ref LuaCall call, int at, int count)
    {
        LuaValue result = count > 0 && !_isPaused ? call.Coroutine.Stack[at] : LuaValue.Nil;
        if (!result.IsNil) return call.Return(result);
        // A table may grow as long as it is gone through, and a function may have nothing that is counted.
        _isPaused = !_isPaused && call.IsOverBudget;
        return _isPaused ? call.Pause(this) : Next(ref call);
    }

    private int Next(ref LuaCall call)
    {
        call.Spend(CallUnits);
        if (!table.TryNext(ref _key, out LuaValue value)) throw Events.Failure("invalid key to 'next'");
        return _key.IsNil ? call.Return() : call.Invoke(this, call[1], [_key, value]);
    }
}

/// <summary>table.foreachi, likewise.</summary>
internal sealed class EachIndex(LuaTable table) : Continuation
{
    private readonly int _last = table.Length;
    private int _index;
    private bool _isPaused;

    public int Begin(ref LuaCall call)
    {
        if (call[1].AsFunction is null) throw call.TypeError(1, "function");
        return Next(ref call);
    }

    public override int Resume(ref LuaCall call, int at, int count)
    {
        LuaValue result = count > 0 && !_isPaused ? call.Coroutine.Stack[at] : LuaValue.Nil;
        if (!result.IsNil) return call.Return(result);
        // A table may grow as long as it is gone through, and a function may have nothing that is counted.
        _isPaused = !_isPaused && call.IsOverBudget;
        return _isPaused ? call.Pause(this) : Next(ref call);
    }

    private int Next(ref LuaCall call)
    {
        call.Spend(EachPair.CallUnits);
        return ++_index > _last ? call.Return() : call.Invoke(this, call[1], [_index, table[_index]]);
    }
}

using System.Runtime.CompilerServices;
using Kv.Lua.Compilation;

namespace Kv.Lua;

/// <summary>What instructions make: lists and functions.</summary>
internal static class Making
{
    public static void SetList(Coroutine coroutine, int container, int count, int stored)
    {
        if (count == 0) count = coroutine.Top - container - 1;
        var table = (LuaTable)coroutine.Stack[container].Reference!;
        table.ReserveArray(stored + count);
        for (int n = 1; n <= count; n++) table.Set(stored + n, coroutine.Stack[container + n]);
    }

    public static LuaFunction MakeClosure(LuaMachine machine, Prototype made, Closure outer, ref LuaValue r)
    {
        int[] captures = made.Captures;
        machine.Account.Charge(Closure.OverheadBytes + (captures.Length * 8));
        var upvalues = captures.Length == 0 ? [] : new Cell[captures.Length];
        for (int n = 0; n < captures.Length; n++)
            upvalues[n] = captures[n] < 0 ? outer.Upvalues[-1 - captures[n]]
                : (Cell)Unsafe.Add(ref r, captures[n]).Reference!;
        return new Closure(made, upvalues);
    }
}

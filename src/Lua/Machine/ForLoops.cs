using System.Runtime.CompilerServices;

namespace Kv.Lua;

/// <summary>The two kinds of for.</summary>
internal static class ForLoops
{
    public static void Prepare(LuaMachine machine, ref LuaValue a)
    {
        ref LuaValue last = ref Unsafe.Add(ref a, 1);
        ref LuaValue step = ref Unsafe.Add(ref a, 2);
        for (int i = 0; i < 3; i++) Events.SpendOnText(machine, Unsafe.Add(ref a, i));
        if (!a.TryToNumber(out double from)) throw Events.Failure("'for' initial value must be a number");
        if (!last.TryToNumber(out double to)) throw Events.Failure("'for' limit must be a number");
        if (!step.TryToNumber(out double by)) throw Events.Failure("'for' step must be a number");
        a = from - by;
        last = to;
        step = by;
    }

    // The iterators of pairs and ipairs are not called: what they do is done here.
    public static bool TryIterate(LuaMachine machine, ref LuaValue a, int variables)
    {
        if (a.Reference is not LuaBuiltin iterator || Unsafe.Add(ref a, 1).Reference is not LuaTable table)
            return false;
        ref LuaValue control = ref Unsafe.Add(ref a, 2);
        LuaValue key, value;
        if (ReferenceEquals(iterator, machine.NextFunction))
        {
            key = control;
            if (!table.TryNext(ref key, out value)) throw Events.Failure("invalid key to 'next'");
        }
        else if (ReferenceEquals(iterator, machine.IndexIterator) && control.IsNumber)
        {
            double index = control.Number + 1;
            value = table.Find(index);
            key = value.IsNil ? LuaValue.Nil : index;
        }
        else
        {
            return false;
        }

        Unsafe.Add(ref a, 3) = key;
        if (variables > 1) Unsafe.Add(ref a, 4) = value;
        for (int n = 2; n < variables; n++) Unsafe.Add(ref a, 3 + n) = LuaValue.Nil;
        return true;
    }

    public static void CallIterator(LuaMachine machine, Coroutine coroutine, int control, int variables)
    {
        int function = control + 3;
        coroutine.EnsureStack(function + 3 + Coroutine.Spare);
        coroutine.Stack.AsSpan(control, 3).CopyTo(coroutine.Stack.AsSpan(function));
        Calls.Call(machine, function, 2, function, variables, After.Store);
    }
}

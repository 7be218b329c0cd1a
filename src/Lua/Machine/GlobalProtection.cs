namespace Kv.Lua;

/// <summary>Keeps scripts from each other: no script changes what the next one finds.</summary>
internal static class GlobalProtection
{
    /// <summary>Makes the globals, all tables among them and the metatables of basic types read-only, and a global that
    /// is not there an error.</summary>
    public static void Apply(LuaMachine machine)
    {
        LuaTable metatable = machine.NewTable(0, 1);
        metatable[CommonStrings.Index] = new LuaBuiltin("global", Missing);
        machine.Globals.Metatable = metatable;
        Seal(machine.Globals);
        Seal(machine.StringMetatable);
    }

    private static int Missing(ref LuaCall call)
    {
        LuaString name = call[1].ToText()
            ?? throw call.Failure("Second argument to luaProtectedTableError must be a string or number");
        throw call.Failure($"Script attempted to access nonexistent global variable '{name}'");
    }

    private static void Seal(LuaTable first)
    {
        var pending = new Stack<LuaTable>([first]);
        // Ends: a table is looked at when it becomes read-only, once.
        while (pending.TryPop(out LuaTable? table))
        {
            if (table.IsReadOnly) continue;
            table.IsReadOnly = true;
            if (table.Metatable is { } metatable) pending.Push(metatable);
            for (int place = 0; table.TryVisit(ref place, out _, out LuaValue value);)
                if (value.AsTable is { } inner) pending.Push(inner);
        }
    }
}

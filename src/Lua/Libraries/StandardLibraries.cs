using Kv.Lua.Libraries.Json;
using Kv.Lua.Libraries.MessagePack;
using Kv.Lua.Libraries.Struct;

namespace Kv.Lua.Libraries;

/// <summary>The libraries of every machine.</summary>
internal static class StandardLibraries
{
    public static void AddTo(LuaMachine machine)
    {
        BaseLibrary.AddTo(machine);
        CoroutineLibrary.AddTo(machine);
        MathLibrary.AddTo(machine);
        StringLibrary.AddTo(machine);
        TableLibrary.AddTo(machine);
        BitLibrary.AddTo(machine);
        JsonLibrary.AddTo(machine);
        MessagePackLibrary.AddTo(machine);
        StructLibrary.AddTo(machine);
    }

    /// <summary>Adds a function to a table.</summary>
    public static LuaBuiltin Add(LuaTable table, string name, LuaHostFunction body)
    {
        var function = new LuaBuiltin(name, body);
        table[CommonStrings.Add(name)] = function;
        return function;
    }

    /// <summary>A new table among the globals.</summary>
    public static LuaTable AddLibrary(LuaMachine machine, string name)
    {
        var library = machine.NewTable();
        machine.Globals[CommonStrings.Add(name)] = library;
        return library;
    }
}

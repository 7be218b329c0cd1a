namespace Kv.Lua;

/// <summary>The types of Lua 5.1.</summary>
public enum LuaType
{
    Nil,
    Boolean,
    Number,
    String,
    Table,
    Function,
    UserData,
    Thread,
}

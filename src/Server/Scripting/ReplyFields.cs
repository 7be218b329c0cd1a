using Kv.Lua;

namespace Kv.Server.Scripting;

/// <summary>The fields of tables that stand for replies which Lua has no values for.</summary>
internal static class ReplyFields
{
    public static readonly LuaString Ok = LuaString.Name("ok"), Err = LuaString.Name("err"),
        Map = LuaString.Name("map"), Set = LuaString.Name("set"), Double = LuaString.Name("double"),
        BigNumber = LuaString.Name("big_number"), Verbatim = LuaString.Name("verbatim_string"),
        Text = LuaString.Name("string"), Format = LuaString.Name("format");
}

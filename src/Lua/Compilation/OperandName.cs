namespace Kv.Lua.Compilation;

/// <summary>What an error calls a value, as in "local 'x'".</summary>
internal readonly record struct OperandName(string Kind, LuaString Name)
{
    public override string ToString()
    {
        // C's strings end at a zero byte.
        string name = Name.ToString();
        int end = name.IndexOf('\0', StringComparison.Ordinal);
        return $"{Kind} '{(end < 0 ? name : name[..end])}'";
    }
}

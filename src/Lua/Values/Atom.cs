namespace Kv.Lua;

/// <summary>A value without content: nil, true, false, and the JSON library's null.</summary>
/// <remarks>It refers to nothing, so the runtime makes the four where no collector ever looks, and storing one of them
/// needs no write barrier.</remarks>
internal sealed class Atom
{
    public static readonly Atom Nil = new(LuaType.Nil, isTrue: false);
    public static readonly Atom True = new(LuaType.Boolean, isTrue: true);
    public static readonly Atom False = new(LuaType.Boolean, isTrue: false);
    public static readonly Atom Null = new(LuaType.UserData, isTrue: true);

    private readonly bool _isTrue;

    private Atom(LuaType type, bool isTrue)
    {
        Type = type;
        _isTrue = isTrue;
    }

    public LuaType Type { get; }

    public override string ToString() => Type switch
    {
        LuaType.Nil => "nil",
        LuaType.Boolean => _isTrue ? "true" : "false",
        _ => "userdata: (nil)",
    };
}

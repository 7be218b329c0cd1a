namespace Kv.Lua;

/// <summary>A value without content: nil, true, false, and the JSON library's null.</summary>
internal sealed class Atom
{
    public static readonly Atom Nil = new("nil", LuaType.Nil);
    public static readonly Atom True = new("true", LuaType.Boolean);
    public static readonly Atom False = new("false", LuaType.Boolean);
    public static readonly Atom Null = new("userdata: (nil)", LuaType.UserData);

    private readonly string _text;

    private Atom(string text, LuaType type)
    {
        _text = text;
        Type = type;
    }

    public LuaType Type { get; }

    public override string ToString() => _text;
}

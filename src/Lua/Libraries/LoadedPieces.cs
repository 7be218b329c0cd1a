namespace Kv.Lua.Libraries;

/// <summary>load, while it asks its function for the pieces of a chunk.</summary>
internal sealed class LoadedPieces(string name) : Continuation
{
    private readonly List<byte> _text = [];

    public override int Resume(ref LuaCall call, int at, int count)
    {
        LuaValue piece = count > 0 ? call.Coroutine.Stack[at] : LuaValue.Nil;
        var text = piece.ToText();
        if (!piece.IsNil && text is null)
            return call.Return(LuaValue.Nil,
                LuaString.OfBytes(call.Machine.Place() + "reader function must return a string"));
        if (text is not { Length: > 0 })
            return BaseLibrary.Loaded(ref call, _text.ToArray(), name);
        call.Charge(text.Length);
        _text.AddRange(text.Span);
        return call.Invoke(this, call[0], []);
    }

    public override bool TryCatch(ref LuaCall call, in LuaValue error, out int result)
    {
        result = call.Return(LuaValue.Nil, error);
        return true;
    }
}

namespace Kv.Lua.Libraries;

/// <summary>load, while it asks its function for the pieces of a chunk.</summary>
internal sealed class LoadedPieces(string name) : Continuation
{
    private readonly List<byte> _text = [];

    public override int Resume(ref LuaCall call, int at, int count)
    {
        LuaValue piece = count > 0 ? call.Coroutine.Stack[at] : LuaValue.Nil;
        if (!piece.IsNil && piece.AsString is null) throw call.Failure("reader function must return a string");
        if (piece.AsString is not { Length: > 0 } text)
            return BaseLibrary.Loaded(ref call, _text.ToArray(), name);
        call.Charge(text.Length);
        _text.AddRange(text.Span);
        return call.Invoke(this, call[0], []);
    }
}

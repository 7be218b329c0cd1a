namespace Kv.Lua.Libraries;

/// <summary>load, while it asks its function for the pieces of a chunk.</summary>
internal sealed class LoadedPieces(string name) : Continuation
{
    /// <summary>A piece costs as much as some instructions, so that a reader without end is put aside, too.</summary>
    private const int PieceUnits = 16;

    private readonly List<byte> _text = [];
    private bool _isPaused;

    public override int Resume(ref LuaCall call, int at, int count)
    {
        if (_isPaused)
        {
            _isPaused = false;
            return call.Invoke(this, call[0], []);
        }

        LuaValue piece = count > 0 ? call.Coroutine.Stack[at] : LuaValue.Nil;
        var text = piece.ToText();
        if (!piece.IsNil && text is null)
            return call.Return(LuaValue.Nil,
                LuaString.OfBytes(call.Machine.Place() + "reader function must return a string"));
        if (text is not { Length: > 0 })
            return BaseLibrary.Loaded(ref call, _text.ToArray(), name);
        call.Charge(text.Length);
        _text.AddRange(text.Span);
        call.Spend(PieceUnits + (text.Length >> 3));
        if (!call.IsOverBudget) return call.Invoke(this, call[0], []);
        _isPaused = true;
        return call.Pause(this);
    }

    public override void Visit(MemoryWalk walk) => walk.Add(_text.Capacity);

    public override bool TryCatch(ref LuaCall call, in LuaValue error, out int result)
    {
        result = call.Return(LuaValue.Nil, error);
        return true;
    }
}

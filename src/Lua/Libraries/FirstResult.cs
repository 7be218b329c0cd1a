namespace Kv.Lua.Libraries;

/// <summary>A host's function whose result is the first of what it calls.</summary>
internal sealed class FirstResult : Continuation
{
    public static readonly FirstResult Instance = new();

    public override int Resume(ref LuaCall call, int at, int count) =>
        call.Return(count > 0 ? call.Coroutine.Stack[at] : LuaValue.Nil);
}

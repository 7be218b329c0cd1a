namespace Kv.Lua.Libraries;

/// <summary>pcall, while what it calls runs.</summary>
internal sealed class ProtectedResults : Continuation
{
    public static readonly ProtectedResults Instance = new();

    public override int Resume(ref LuaCall call, int at, int count)
    {
        call.Coroutine.EnsureStack(call.Function + count + 1);
        LuaValue[] stack = call.Coroutine.Stack;
        stack.AsSpan(at, count).CopyTo(stack.AsSpan(call.Function + 1));
        stack[call.Function] = LuaValue.True;
        return count + 1;
    }

    public override bool TryCatch(ref LuaCall call, in LuaValue error, out int result)
    {
        result = call.Return(LuaValue.False, call.Machine.CaughtBy is { } show ? show(error) : error);
        return true;
    }
}

/// <summary>xpcall, while what it calls runs: an error goes to the handler.</summary>
internal sealed class HandledResults(LuaValue handler) : Continuation
{
    public override int Resume(ref LuaCall call, int at, int count) =>
        ProtectedResults.Instance.Resume(ref call, at, count);

    public override bool TryCatch(ref LuaCall call, in LuaValue error, out int result)
    {
        if (handler.AsFunction is null) return HandlerResults.Instance.TryCatch(ref call, error, out result);
        result = call.Invoke(HandlerResults.Instance, handler, [error]);
        return true;
    }

    public override void Visit(MemoryWalk walk) => walk.Visit(handler);
}

/// <summary>xpcall, while its handler runs: what that returns is the second result.</summary>
internal sealed class HandlerResults : Continuation
{
    public static readonly HandlerResults Instance = new();

    private static readonly LuaString Failed = new("error in error handling");

    public override int Resume(ref LuaCall call, int at, int count) =>
        call.Return(LuaValue.False, count > 0 ? call.Coroutine.Stack[at] : LuaValue.Nil);

    public override bool TryCatch(ref LuaCall call, in LuaValue error, out int result)
    {
        result = call.Return(LuaValue.False, Failed);
        return true;
    }
}

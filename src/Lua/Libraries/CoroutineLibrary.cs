namespace Kv.Lua.Libraries;

/// <summary>coroutine.*</summary>
internal static class CoroutineLibrary
{
    public static void AddTo(LuaMachine machine)
    {
        var library = StandardLibraries.AddLibrary(machine, "coroutine");
        StandardLibraries.Add(library, "create", (ref LuaCall call) => call.Return(new LuaValue(Create(ref call))));
        StandardLibraries.Add(library, "resume", Resume);
        StandardLibraries.Add(library, "running", Running);
        StandardLibraries.Add(library, "status", Status);
        StandardLibraries.Add(library, "wrap", Wrap);
        StandardLibraries.Add(library, "yield", (ref LuaCall _) => LuaCall.YieldCode);
    }

    private static Coroutine Create(ref LuaCall call)
    {
        if (call[0].Reference is not Closure) throw call.ArgumentError(0, "Lua function expected");
        var made = new Coroutine(call.Machine.Account);
        made.Stack[0] = call[0];
        return made;
    }

    private static Coroutine CoroutineAt(ref LuaCall call, int index) =>
        call[index].Reference as Coroutine ?? throw call.ArgumentError(index, "coroutine expected");

    private static int Resume(ref LuaCall call)
    {
        var coroutine = CoroutineAt(ref call, 0);
        if (WhyNot(coroutine) is { } reason) return call.Return(LuaValue.False, call.Text(reason));
        return call.Resume(ResumeResults.Instance, coroutine, 1);
    }

    private static byte[]? WhyNot(Coroutine coroutine) => coroutine.Status switch
    {
        CoroutineStatus.Suspended => null,
        CoroutineStatus.Dead => "cannot resume dead coroutine"u8.ToArray(),
        CoroutineStatus.Running => "cannot resume running coroutine"u8.ToArray(),
        _ => "cannot resume normal coroutine"u8.ToArray(),
    };

    private static int Running(ref LuaCall call)
    {
        // The script's own coroutine has no name.
        Coroutine current = call.Coroutine;
        return call.Return(current.Resumer is null ? LuaValue.Nil : new LuaValue(current));
    }

    private static int Status(ref LuaCall call)
    {
        var coroutine = CoroutineAt(ref call, 0);
        return call.Return(CommonStrings.Add(coroutine.Status.ToString().ToLowerInvariant()));
    }

    private static int Wrap(ref LuaCall call)
    {
        var coroutine = Create(ref call);
        call.Charge(Closure.OverheadBytes);
        return call.Return(new LuaBuiltin("wrap", (ref LuaCall inner) =>
        {
            if (WhyNot(coroutine) is { } reason) throw inner.Failure(System.Text.Encoding.ASCII.GetString(reason));
            return inner.Resume(WrapResults.Instance, coroutine, 0);
        }) { Held = new LuaValue(coroutine) });
    }
}

/// <summary>yield, until its coroutine is resumed; the values that it is given are its results.</summary>
internal class PassOn : Continuation
{
    public static readonly PassOn Instance = new();

    public override int Resume(ref LuaCall call, int at, int count)
    {
        call.Coroutine.EnsureStack(call.Function + count + 1);
        LuaValue[] stack = call.Coroutine.Stack;
        stack.AsSpan(at, count).CopyTo(stack.AsSpan(call.Function));
        return count;
    }
}

/// <summary>A function of coroutine.wrap, until its coroutine yields or ends.</summary>
internal sealed class WrapResults : PassOn
{
    public static new readonly WrapResults Instance = new();
}

/// <summary>coroutine.resume, until its coroutine yields, ends or fails.</summary>
internal sealed class ResumeResults : Continuation
{
    public static readonly ResumeResults Instance = new();

    public override int Resume(ref LuaCall call, int at, int count) =>
        ProtectedResults.Instance.Resume(ref call, at, count);

    public override bool TryCatch(ref LuaCall call, in LuaValue error, out int result)
    {
        result = call.Return(LuaValue.False, error);
        return true;
    }
}

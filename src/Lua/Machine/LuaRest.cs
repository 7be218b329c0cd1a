namespace Kv.Lua;

/// <summary>The part of a host's function that comes after <see cref="LuaCall.Wait"/>.</summary>
/// <param name="body">Is called with the arguments of the call that waited; it may wait in turn.</param>
/// <remarks>Make one for each function, once: it holds nothing of a call. Threads: any number of machines may share
/// one.</remarks>
public sealed class LuaRest(LuaHostFunction body)
{
    internal Continuation Continuation { get; } = new Part(body);

    private sealed class Part(LuaHostFunction body) : Continuation
    {
        public override int Resume(ref LuaCall call, int at, int count) => body(ref call);
    }
}

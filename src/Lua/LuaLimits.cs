namespace Kv.Lua;

/// <summary>How much a script may take.</summary>
public sealed class LuaLimits
{
    /// <summary>Values on a coroutine's stack, as many as the reference allows a C function to push, and more for deep
    /// calls.</summary>
    internal const int StackMax = 1_000_000;

    /// <summary>Functions that have called each other, in a coroutine.</summary>
    internal const int CallDepthMax = 20_000;

    /// <summary>Coroutines that have resumed each other.</summary>
    internal const int CoroutineDepthMax = 200;

    /// <summary>Steps from a table to its metatable's __index, and so on.</summary>
    internal const int EventChainMax = 100;

    /// <summary>Bytes of everything that a script holds.</summary>
    public long MemoryBytes { get; init; } = 64L << 20;
}

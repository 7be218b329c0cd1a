using Kv.Lua.Compilation;

namespace Kv.Lua;

/// <summary>What can be called: a function of a script, or one of the host's.</summary>
public abstract class LuaFunction
{
    private protected LuaFunction()
    {
    }
}

/// <summary>A host's function, as a script sees it.</summary>
/// <param name="call">The arguments, and what takes the results.</param>
/// <returns>What <see cref="LuaCall.Return()"/> and its like gave.</returns>
public delegate int LuaHostFunction(ref LuaCall call);

/// <summary>A function of the host that scripts can call.</summary>
public sealed class LuaBuiltin(string name, LuaHostFunction body) : LuaFunction
{
    internal readonly LuaHostFunction Body = body;

    /// <summary>What the function keeps alive; nil: nothing of a script.</summary>
    internal LuaValue Held { get; init; } = LuaValue.Nil;

    public string Name { get; } = name;

    public override string ToString() => $"function: builtin: {Name}";
}

/// <summary>A function of a script: its code, and the variables of outer functions that it uses.</summary>
internal sealed class Closure(Prototype prototype, Cell[] upvalues) : LuaFunction
{
    public const int OverheadBytes = 48;

    public readonly Prototype Prototype = prototype;
    public readonly Cell[] Upvalues = upvalues;

    /// <summary>The last memory walk that has seen it. That of a chunk itself, which machines share, a walk may see
    /// twice.</summary>
    public int Walk;

    public override string ToString() =>
        $"function: 0x{System.Runtime.CompilerServices.RuntimeHelpers.GetHashCode(this):x8}";
}

/// <summary>A local variable that inner functions use, too: it lives as long as the last of them.</summary>
internal sealed class Cell
{
    public const int OverheadBytes = 40;

    public LuaValue Value;

    /// <summary>The last memory walk that has seen it.</summary>
    public int Walk;
}

using Kv.Lua.Syntax;

namespace Kv.Lua;

/// <summary>What a chunk's text says of its calls of a host's functions: what each is called with.</summary>
/// <remarks>
/// Of a table of the host (<c>redis</c>) with functions (<c>call</c>), and of a table of values that the host sets
/// (<c>KEYS</c>). Whatever a run of the chunk does, it calls those functions at these places only, with arguments as
/// they are told here; else <see cref="IsComplete"/> is false. Threads: any; it never changes.
/// </remarks>
public sealed class LuaCallSurvey
{
    internal LuaCallSurvey(bool isComplete, IReadOnlyList<IReadOnlyList<LuaCallArgument>> calls)
    {
        IsComplete = isComplete;
        Calls = calls;
    }

    /// <summary>Looks at a text.</summary>
    /// <param name="text">The source.</param>
    /// <param name="table">The name of the host's table.</param>
    /// <param name="functions">The names of its functions.</param>
    /// <param name="values">The name of the table of values.</param>
    public static LuaCallSurvey Of(LuaText text, string table, IReadOnlySet<string> functions, string values)
    {
        ArgumentNullException.ThrowIfNull(text);
        return CallSurvey.Of(text.Body, table, functions, values);
    }

    /// <summary>Looks at a text whose functions the host is given (<c>redis.register_function</c>): what each calls,
    /// when the host runs the text and then it, with the table of values as its first argument.</summary>
    /// <param name="registrar">The name of the function of the host that takes a name and a function, or a table with
    /// <c>function_name</c> and <c>callback</c>.</param>
    /// <returns>By the names of the functions; without those whose names the text does not say.</returns>
    /// <inheritdoc cref="Of"/>
    public static IReadOnlyDictionary<LuaString, LuaCallSurvey> OfRegistered(LuaText text, string table,
        IReadOnlySet<string> functions, string registrar)
    {
        ArgumentNullException.ThrowIfNull(text);
        return CallSurvey.OfRegistered(text.Body, table, functions, registrar);
    }

    /// <summary>Whether all calls are known: the tables are used in no other way than by name, and nothing is run that
    /// is not in the text.</summary>
    public bool IsComplete { get; }

    /// <summary>The arguments of each call.</summary>
    public IReadOnlyList<IReadOnlyList<LuaCallArgument>> Calls { get; }
}

/// <summary>What is known of an argument.</summary>
public enum LuaArgumentKind
{
    /// <summary>One value.</summary>
    Any,

    /// <summary>Any number of values; the last argument only.</summary>
    Several,

    /// <summary>The string, or number, <see cref="LuaCallArgument.Text"/>.</summary>
    Constant,

    /// <summary>A value of the table, or nil.</summary>
    Element,

    /// <summary>Any number of those; the last argument only.</summary>
    SeveralElements,
}

/// <summary>An argument of a call, as far as it is known.</summary>
/// <param name="Text">A constant, as text.</param>
public readonly record struct LuaCallArgument(LuaArgumentKind Kind, LuaString? Text = null);

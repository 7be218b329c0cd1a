using Kv.Lua;

namespace Kv.Server.Scripting;

/// <summary>What can be run as a script: a text of EVAL, or a function of a library.</summary>
/// <remarks>Threads: any.</remarks>
internal abstract class ScriptCode(ScriptFlags flags, LuaChunk chunk)
{
    /// <summary>What errors call it.</summary>
    public abstract string Name { get; }

    /// <summary>Where errors say that they were raised.</summary>
    public abstract string Place { get; }

    public ScriptFlags Flags { get; } = flags;

    public LuaChunk Chunk { get; } = chunk;

    /// <summary>Whether it uses no keys but those that are declared, as its text shows.</summary>
    public bool UsesDeclaredKeys { get; init; }

    /// <summary>Whether it was seen to need all others to stand still: the next time it begins like that. A hint: who
    /// reads it late begins twice.</summary>
    public bool RunsAlone { get; set; }

    /// <summary>Whether it took longer than a turn when it ran last: the next one looks for a place among the long
    /// commands before it begins, since it cannot wait for one after its first change. A hint, as above.</summary>
    public bool TakesTurns { get; set; }

    /// <summary>Whether it has run, so that <see cref="TakesTurns"/> says something. A hint, as above.</summary>
    public bool HasRun { get; set; }
}

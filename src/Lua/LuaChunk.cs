using Kv.Lua.Compilation;

namespace Kv.Lua;

/// <summary>A compiled chunk.</summary>
/// <remarks>Threads: any number of machines may run it.</remarks>
public sealed class LuaChunk
{
    private LuaChunk(Prototype prototype)
    {
        Prototype = prototype;
        Main = new Closure(prototype, []);
    }

    internal Prototype Prototype { get; }

    /// <summary>The chunk as a function. No script can have it, so machines share it.</summary>
    internal Closure Main { get; }

    /// <summary>Bytes that it takes, about.</summary>
    public long Bytes => Prototype.Bytes;

    /// <summary>Compiles a text that was read.</summary>
    /// <exception cref="LuaException">It needs more of something than there can be; the message has the
    /// place.</exception>
    public static LuaChunk Of(LuaText text)
    {
        ArgumentNullException.ThrowIfNull(text);
        return new LuaChunk(Compiler.Compile(text.Body, text.ChunkName));
    }
}

using Kv.Lua;

namespace Kv.Server.Scripting;

/// <summary>The compiled text of a library, which its functions share.</summary>
/// <remarks>Threads: any.</remarks>
internal sealed class LibraryText(LuaChunk chunk)
{
    public LuaChunk Chunk { get; } = chunk;

    /// <summary>Whether its functions were seen to leave something for the next call, or may: it is run anew for each.
    /// A hint: who reads it late looks once more.</summary>
    public bool HasState { get; set; }
}

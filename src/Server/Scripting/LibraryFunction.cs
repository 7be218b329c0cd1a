using Kv.Lua;

namespace Kv.Server.Scripting;

/// <summary>A function of a library. The library's text is run anew before each call of it.</summary>
/// <remarks>So every call finds the library's own variables as they were loaded, on whatever worker it runs.</remarks>
internal sealed class LibraryFunction(LuaChunk chunk, FunctionRegistration registration)
    : ScriptCode(registration.Flags, chunk)
{
    /// <summary>What errors call the text of a library.</summary>
    public const string ChunkName = "@user_function";

    public LuaString NameText { get; } = registration.Name;

    public LuaString? Description { get; } = registration.Description;

    public override string Name { get; } = registration.Name.ToString();

    public override string Place => ChunkName;
}

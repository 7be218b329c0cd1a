using Kv.Lua;

namespace Kv.Server.Scripting;

/// <summary>A function of a library.</summary>
/// <remarks>Every call finds the library's own variables as they were loaded, on whatever worker it runs: the library's
/// text is run anew before it, or changes none (<see cref="KeptLibraries"/>).</remarks>
internal sealed class LibraryFunction(LibraryText text, FunctionRegistration registration)
    : ScriptCode(registration.Flags, text.Chunk)
{
    /// <summary>What errors call the text of a library.</summary>
    public const string ChunkName = "@user_function";

    public LibraryText Text { get; } = text;

    public LuaString NameText { get; } = registration.Name;

    public LuaString? Description { get; } = registration.Description;

    public override string Name { get; } = registration.Name.ToString();

    public override string Place => ChunkName;
}

using Kv.Lua.Compilation;
using Kv.Lua.Syntax;

namespace Kv.Lua;

/// <summary>A compiled chunk.</summary>
/// <remarks>Threads: any number of machines may run it.</remarks>
public sealed class LuaChunk
{
    private const int ShownMax = 60;

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

    internal static LuaChunk Compile(ReadOnlySpan<byte> text, string chunkName)
    {
        if (!text.IsEmpty && text[0] == 27)
            throw new LuaException($"{Shown(chunkName)}: precompiled chunks are refused");
        string shown = Shown(chunkName);
        return new LuaChunk(Compiler.Compile(Parser.Read(text, shown), shown));
    }

    // As errors name a chunk: its name, or its first line.
    private static string Shown(string name)
    {
        if (name.StartsWith('@') || name.StartsWith('=')) return name.Length > ShownMax ? name[1..ShownMax] : name[1..];
        int end = name.AsSpan().IndexOfAny('\n', '\r');
        int most = ShownMax - "[string \"...\"]".Length - 1;
        if (end < 0 && name.Length <= most) return $"[string \"{name}\"]";
        if (end < 0 || end > most) end = most;
        return $"[string \"{name[..Math.Min(end, name.Length)]}...\"]";
    }
}

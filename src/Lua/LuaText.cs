using Kv.Lua.Syntax;

namespace Kv.Lua;

/// <summary>A text that was read: to be compiled, and looked at.</summary>
/// <remarks>Threads: one at a time; compiling writes into its tree.</remarks>
public sealed class LuaText
{
    /// <summary>Memory that reading a text may take while it is read. It is some 60 bytes for each byte of very short
    /// statements, 10 for each of ordinary code, and 1 for each of a long string.</summary>
    internal const long TreeBytesMax = 1 << 30;

    // What the reference's errors have room for, and what is left of it by quotes and dots around a name.
    private const int ShownMax = 80, FileMax = ShownMax - 8, TextMax = ShownMax - 17;

    private LuaText(FunctionBody body, string chunkName) => (Body, ChunkName) = (body, chunkName);

    internal FunctionBody Body { get; }

    /// <summary>As errors name the chunk.</summary>
    internal string ChunkName { get; }

    /// <summary>Reads a text.</summary>
    /// <param name="text">The source.</param>
    /// <param name="chunkName">As <see cref="LuaMachine.Compile"/>.</param>
    /// <param name="cancel">Ends it, soon.</param>
    /// <exception cref="LuaException">The text is no Lua, and the message has place and word; or it is too large: not
    /// enough memory.</exception>
    public static LuaText Read(ReadOnlySpan<byte> text, string chunkName, CancellationToken cancel = default) =>
        Read(text, chunkName, TreeBytesMax, cancel);

    internal static LuaText Read(ReadOnlySpan<byte> text, string chunkName, long treeBytesMax, CancellationToken cancel)
    {
        ArgumentNullException.ThrowIfNull(chunkName);
        string shown = Shown(chunkName);
        return new LuaText(Parser.Read(text, shown, new ReadingWatch(treeBytesMax, cancel)), shown);
    }

    // As errors name a chunk: its name, of which a file's last bytes count; or its first line.
    private static string Shown(string name)
    {
        int end = name.IndexOf('\0', StringComparison.Ordinal);       // C's strings end there
        if (end >= 0) name = name[..end];
        if (name.StartsWith('=')) return name[1..Math.Min(name.Length, ShownMax)];
        if (name.StartsWith('@')) return name.Length - 1 <= FileMax ? name[1..] : $"...{name[^FileMax..]}";
        int line = name.AsSpan().IndexOfAny('\n', '\r');
        int shown = Math.Min(line < 0 ? name.Length : line, TextMax);
        return $"[string \"{name[..shown]}{(shown < name.Length ? "..." : "")}\"]";
    }
}

using Kv.Lua.Syntax;

namespace Kv.Lua;

/// <summary>A text that was read: to be compiled, and looked at.</summary>
/// <remarks>Threads: one at a time; compiling writes into its tree.</remarks>
public sealed class LuaText
{
    /// <summary>Memory that reading a text may take while it is read. It is some 60 bytes for each byte of very short
    /// statements, 10 for each of ordinary code, and 1 for each of a long string.</summary>
    internal const long TreeBytesMax = 1 << 30;

    // What the reference's errors of the lexer and those of running have room for, with C's zero at the end; and what
    // quotes and dots around a name take of it.
    private const int ReadingMax = 80, RunningMax = 60, FileDots = 8, TextQuotes = 17;

    private LuaText(FunctionBody body, string chunkName) => (Body, ChunkName) = (body, chunkName);

    internal FunctionBody Body { get; }

    /// <summary>As errors name the chunk when it runs.</summary>
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
        return new LuaText(Parser.Read(text, Shown(chunkName, ReadingMax), new ReadingWatch(treeBytesMax, cancel)),
            Shown(chunkName, RunningMax));
    }

    // As errors name a chunk: its name, of which a file's last bytes count; or its first line.
    private static string Shown(string name, int room)
    {
        int end = name.IndexOf('\0', StringComparison.Ordinal);       // C's strings end there
        if (end >= 0) name = name[..end];
        if (name.StartsWith('=')) return name[1..Math.Min(name.Length, room)];
        int file = room - FileDots;
        if (name.StartsWith('@')) return name.Length - 1 <= file ? name[1..] : $"...{name[^file..]}";
        int line = name.AsSpan().IndexOfAny('\n', '\r');
        int shown = Math.Min(line < 0 ? name.Length : line, room - TextQuotes);
        return $"[string \"{name[..shown]}{(shown < name.Length ? "..." : "")}\"]";
    }
}

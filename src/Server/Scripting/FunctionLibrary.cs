using System.Text;
using Kv.Lua;
using Kv.Server.Execution;

namespace Kv.Server.Scripting;

/// <summary>A library of functions, as FUNCTION LOAD brought it.</summary>
/// <remarks>Threads: any; nothing changes.</remarks>
internal sealed class FunctionLibrary
{
    // The library, its row in the tables, its functions' objects.
    private const int OverheadBytes = 512;

    private FunctionLibrary(string name, byte[] code, IReadOnlyList<LibraryFunction> functions, long chunkBytes)
    {
        Name = name;
        Code = code;
        Functions = functions;
        Bytes = OverheadBytes + code.Length + chunkBytes;
    }

    public string Name { get; }

    /// <summary>The text, with its first line.</summary>
    public byte[] Code { get; }

    public IReadOnlyList<LibraryFunction> Functions { get; }

    /// <summary>What it takes of memory, about.</summary>
    public long Bytes { get; }

    /// <summary>Compiles a text and runs it, to see what it registers.</summary>
    /// <param name="commands">Those that its functions call.</param>
    /// <param name="load">Runs a chunk; what it registers goes to the list. Returns an error, or null.</param>
    /// <exception cref="ScriptRefusedException">It is no library; the message is the reply.</exception>
    public static FunctionLibrary Read(ReadOnlySpan<byte> text, CommandTable commands,
        Func<LuaChunk, List<FunctionRegistration>, LoadLimits, string?> load, LoadLimits limits)
    {
        string name = ReadName(text, out var code);
        LuaText read;
        LuaChunk chunk;
        try
        {
            read = LuaText.Read(code, LibraryFunction.ChunkName, limits.Cancel);
            chunk = LuaChunk.Of(read);
        }
        catch (LuaException exception)
        {
            throw new ScriptRefusedException($"ERR Error compiling function: {exception.Message}");
        }

        List<FunctionRegistration> registered = [];
        if (load(chunk, registered, limits) is { } error)
            throw new ScriptRefusedException($"ERR Error registering functions: {error}");
        if (registered.Count == 0) throw new ScriptRefusedException("ERR No functions registered");
        var plain = DeclaredKeys.OfFunctions(read, commands);
        var shared = new LibraryText(chunk);
        return new FunctionLibrary(name, text.ToArray(), [.. registered.Select(function =>
            new LibraryFunction(shared, function) { UsesDeclaredKeys = plain.Contains(function.Name) })], chunk.Bytes);
    }

    /// <summary>The name in the first line, "#!lua name=x".</summary>
    /// <param name="code">The rest, with the line's end, so that lines keep their numbers.</param>
    /// <exception cref="ScriptRefusedException">There is none.</exception>
    public static string ReadName(ReadOnlySpan<byte> text, out ReadOnlySpan<byte> code)
    {
        if (!text.StartsWith("#!"u8)) throw new ScriptRefusedException("ERR Missing library metadata");
        int end = text.IndexOf((byte)'\n');
        if (end < 0) throw new ScriptRefusedException("ERR Invalid library metadata");
        code = text[end..];
        string[] words = Encoding.Latin1.GetString(text[2..end]).Split(' ', StringSplitOptions.RemoveEmptyEntries
            | StringSplitOptions.TrimEntries);
        string? name = null;
        foreach (string word in words.Skip(1))
        {
            if (!word.StartsWith("name=", StringComparison.OrdinalIgnoreCase))
                throw new ScriptRefusedException($"ERR Invalid metadata value given: {word}");
            if (name != null)
                throw new ScriptRefusedException("ERR Invalid metadata value, name argument was given multiple times");
            name = word["name=".Length..];
        }

        if (name == null) throw new ScriptRefusedException("ERR Library name was not given");
        if (!FunctionRegistration.IsName(Encoding.Latin1.GetBytes(name)))
            throw new ScriptRefusedException($"ERR {FunctionRegistration.BadName}");
        string engine = words.Length == 0 ? "" : words[0];
        return engine.Equals("lua", StringComparison.OrdinalIgnoreCase) ? name
            : throw new ScriptRefusedException($"ERR Engine '{engine}' not found");
    }
}

using System.Text;
using Kv.Lua;
using Kv.Server.Execution;

namespace Kv.Server.Scripting;

/// <summary>A script that was compiled: once, for all workers.</summary>
/// <remarks>Threads: any. What changes are hints and counts: who reads one late does a little more work.</remarks>
internal sealed class Script : ScriptCode
{
    /// <summary>What errors call a script.</summary>
    public const string ChunkName = "@user_script";

    // A row of the cache, its key and the objects around the text.
    private const int OverheadBytes = 256;

    private static readonly (string Name, ScriptFlags Flag)[] FlagNames =
    [
        ("no-writes", ScriptFlags.NoWrites), ("allow-oom", ScriptFlags.AllowOom),
        ("allow-stale", ScriptFlags.AllowStale),
        ("no-cluster", ScriptFlags.NoCluster), ("allow-cross-slot-keys", ScriptFlags.AllowCrossSlotKeys),
    ];

    private Script(ScriptSha sha, ScriptFlags flags, LuaChunk chunk, long bytes)
        : base(flags, chunk)
    {
        Sha = sha;
        Bytes = bytes;
    }

    public override string Name => Sha.ToString();

    public override string Place => ChunkName;

    public ScriptSha Sha { get; }

    /// <summary>What it takes of memory, about.</summary>
    public long Bytes { get; }

    /// <summary>Whether it stays until SCRIPT FLUSH.</summary>
    public bool IsPinned { get; set; }

    /// <summary>When it was last run, in the ticks of the cache.</summary>
    public long LastUse { get; set; }

    /// <summary>Compiles a text.</summary>
    /// <exception cref="ScriptRefusedException">It is no script; the message is the reply.</exception>
    public static Script Compile(ScriptSha sha, ReadOnlySpan<byte> text, CommandTable commands,
        CancellationToken cancel = default)
    {
        var flags = ScriptFlags.Unsaid;
        var code = text;
        if (text.StartsWith("#!"u8)) flags = ReadFirstLine(text, out code);
        try
        {
            var read = LuaText.Read(code, ChunkName, cancel);
            var chunk = LuaChunk.Of(read);
            return new Script(sha, flags, chunk, OverheadBytes + text.Length + chunk.Bytes)
            {
                UsesDeclaredKeys = DeclaredKeys.AreAll(read, commands),
            };
        }
        catch (LuaException exception)
        {
            throw new ScriptRefusedException($"ERR Error compiling script (new function): {exception.Message}");
        }
    }

    // The line's end stays: it counts in the numbers of lines.
    private static ScriptFlags ReadFirstLine(ReadOnlySpan<byte> text, out ReadOnlySpan<byte> code)
    {
        int end = text.IndexOf((byte)'\n');
        if (end < 0) throw new ScriptRefusedException("ERR Invalid script shebang");
        code = text[end..];
        string[] words = Encoding.Latin1.GetString(text[..end])
            .Split(' ', StringSplitOptions.RemoveEmptyEntries | StringSplitOptions.TrimEntries);
        if (words[0] != "#!lua")
            throw new ScriptRefusedException($"ERR Unexpected engine in script shebang: {words[0]}");
        var flags = ScriptFlags.None;
        foreach (string word in words.AsSpan(1))
        {
            if (!word.StartsWith("flags=", StringComparison.Ordinal))
                throw new ScriptRefusedException($"ERR Unknown lua shebang option: {word}");
            string names = word["flags=".Length..];
            foreach (string name in names.Length == 0 ? [] : names.Split(','))
                flags |= FlagOf(name);
        }

        return flags;
    }

    private static ScriptFlags FlagOf(string name) =>
        TryFlag(name, out var flag) ? flag
            : throw new ScriptRefusedException($"ERR Unexpected flag in script shebang: {name}");

    /// <summary>The flag of a name.</summary>
    public static bool TryFlag(string name, out ScriptFlags flag)
    {
        flag = ScriptFlags.None;
        foreach (var (known, found) in FlagNames)
            if (known == name) flag = found;
        return flag != ScriptFlags.None;
    }

    /// <summary>The names of flags.</summary>
    public static List<string> NamesOf(ScriptFlags flags) =>
        [.. FlagNames.Where(row => (flags & row.Flag) != 0).Select(row => row.Name)];
}

/// <summary>A text that is no script; the message is the error that the client gets.</summary>
internal sealed class ScriptRefusedException(string message) : Exception(message);

using System.Text;
using Kv.Lua;
using Kv.Protocol;
using Kv.Server.Configuration;
using Microsoft.Extensions.Logging;

namespace Kv.Server.Scripting;

/// <summary>The table <c>redis</c> of a script's machine.</summary>
/// <param name="register">redis.register_function.</param>
internal sealed class RedisLibrary(KvServer server, ScriptCalls commands, RaisedErrors errors,
    LuaHostFunction register)
{
    private const int ReplicationMax = 3;

    /// <summary>The four levels of redis.log: debug, verbose, notice, warning.</summary>
    private static readonly LuaString Redis = LuaString.Name("redis");
    private static readonly LogLevel[] Levels =
        [LogLevel.Debug, LogLevel.Debug, LogLevel.Information, LogLevel.Warning];

    private readonly ShaInPieces _sha = new();
    private LuaTable _running = null!, _loading = null!;

    /// <summary>Gives the script the table that a library finds while it is loaded, or that a script finds.</summary>
    public void Show(LuaMachine machine, bool isLoading) => machine.Globals[Redis] = isLoading ? _loading : _running;

    /// <summary>Adds the table to a machine.</summary>
    public void AddTo(LuaMachine machine)
    {
        var table = machine.NewTable();
        Add(table, "call", Call);
        Add(table, "pcall", ProtectedCall);
        Add(table, "error_reply", ErrorReply);
        Add(table, "status_reply", StatusReply);
        Add(table, "sha1hex", Sha1Hex);
        Add(table, "log", Log);
        Add(table, "setresp", SetResp);
        Add(table, "set_repl", SetReplication);
        Add(table, "replicate_commands", (ref call) => call.Return(true));
        Add(table, "breakpoint", (ref call) => call.Return(false));
        Add(table, "debug", (ref call) => call.Return());
        Add(table, "acl_check_cmd", CheckAccess);
        AddConstants(table);
        foreach (var (name, value) in (ReadOnlySpan<(string, int)>)[("REPL_NONE", 0), ("REPL_AOF", 1),
            ("REPL_SLAVE", 2), ("REPL_REPLICA", 2), ("REPL_ALL", 3)])
            table[LuaString.Name(name)] = value;
        machine.Globals[Redis] = _running = table;
        _loading = LoadingTable(machine);
    }

    private LuaTable LoadingTable(LuaMachine machine)
    {
        var table = machine.NewTable();
        Add(table, "register_function", register);
        Add(table, "log", Log);
        AddConstants(table);
        var events = machine.NewTable();
        events[LuaString.Name("__index")] = new LuaBuiltin("__index", (ref call) => throw call.Failure(
            $"Script attempted to access nonexistent global variable '{call[1].ToText()}'"));
        table.Metatable = events;
        table.IsReadOnly = true;
        return table;
    }

    private static void AddConstants(LuaTable table)
    {
        string[] levels = ["LOG_DEBUG", "LOG_VERBOSE", "LOG_NOTICE", "LOG_WARNING"];
        for (int i = 0; i < levels.Length; i++) table[LuaString.Name(levels[i])] = i;
        table[LuaString.Name("REDIS_VERSION")] = new LuaString(ServerVersion.RedisVersion);
        table[LuaString.Name("REDIS_VERSION_NUM")] = ServerVersion.RedisVersionNumber;
    }

    private static void Add(LuaTable table, string name, LuaHostFunction body) =>
        table[LuaString.Name(name)] = new LuaBuiltin(name, body);

    private int Call(ref LuaCall call) => commands.Call(ref call, isProtected: false);

    private int ProtectedCall(ref LuaCall call) => commands.Call(ref call, isProtected: true);

    private int ErrorReply(ref LuaCall call)
    {
        if (call.Count != 1 || call[0].AsString is not { } text)
            return call.Return(errors.NewTable("ERR wrong number or type of arguments"));
        // "-CODE text", "CODE text", or a text without a code.
        var bytes = text.Span;
        int end = bytes.IndexOf((byte)0);       // C's strings end there
        bytes = (end < 0 ? bytes : bytes[..end]).TrimEnd("\r\n"u8);
        bool hasCode = bytes.Contains((byte)' ');
        if (bytes.StartsWith("-"u8)) bytes = bytes[1..];
        return call.Return(hasCode ? errors.NewTable(bytes) : errors.NewTable([.. "ERR "u8, .. bytes]));
    }

    private int StatusReply(ref LuaCall call)
    {
        if (call.Count != 1 || call[0].AsString is not { } text)
            return call.Return(errors.NewTable("ERR wrong number or type of arguments"));
        var table = call.Machine.NewTable(0, 1);
        table[ReplyFields.Ok] = text;
        return call.Return(table);
    }

    private int Sha1Hex(ref LuaCall call)
    {
        if (call.Count != 1) return errors.Raise(ref call, "ERR wrong number of arguments");
        var text = call[0].ToText();
        if (text?.Length > ShaInPieces.PieceBytes) return _sha.Begin(ref call, text);
        call.Spend((text?.Length ?? 0) >> 4);
        return call.Return(
            call.Text(Encoding.ASCII.GetBytes(ScriptSha.Of(text == null ? default : text.Span).ToString())));
    }

    private int Log(ref LuaCall call)
    {
        if (call.Count < 2) return errors.Raise(ref call, "ERR redis.log() requires two arguments or more.");
        if (!call[0].TryToNumber(out double given))
            return errors.Raise(ref call, "ERR First argument must be a number (log level).");
        long level = ResultReply.ToInteger(given);
        if (level is not (>= 0 and <= 3)) return errors.Raise(ref call, "ERR Invalid debug level.");
        var line = new StringBuilder();
        for (int i = 1; i < call.Count; i++)
        {
            if (call[i].ToText() is not { } part) continue;
            if (line.Length > 0) line.Append(' ');
            line.Append(Encoding.Latin1.GetString(ResultReply.OneLine(part.Span)));
        }

        server.Log.Log(Levels[(int)level], "{Text}", line.ToString());
        return call.Return();
    }

    private int SetResp(ref LuaCall call)
    {
        if (call.Count != 1) return errors.Raise(ref call, "ERR redis.setresp() requires one argument.");
        long version = ToInteger(call[0]);
        if (version is not (2 or 3)) return errors.Raise(ref call, "ERR RESP version must be 2 or 3.");
        commands.Version = version == 3 ? RespVersion.Resp3 : RespVersion.Resp2;
        return call.Return();
    }

    // Checked and without effect: what a script does is one effect, whoever follows it.
    private int SetReplication(ref LuaCall call)
    {
        if (call.Count != 1) return errors.Raise(ref call, "ERR redis.set_repl() requires two arguments.");
        return ToInteger(call[0]) is >= 0 and <= ReplicationMax ? call.Return()
            : errors.Raise(ref call,
                "ERR Invalid replication flags. Use REPL_AOF, REPL_REPLICA, REPL_ALL or REPL_NONE.");
    }

    // As Lua's own API has it: what is no number is 0.
    private static long ToInteger(in LuaValue value) =>
        ResultReply.ToInteger(value.TryToNumber(out double number) ? number : 0);

    private int CheckAccess(ref LuaCall call)
    {
        if (call.Count == 0) return errors.Raise(ref call, ScriptErrors.NoCommand);
        return commands.TryAskAccess(ref call, out bool isAllowed) is { } refusal ? errors.Raise(ref call, refusal)
            : call.Return(isAllowed);
    }
}

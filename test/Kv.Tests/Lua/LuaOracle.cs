using Kv.Tests.Harness;

namespace Kv.Tests.Lua;

/// <summary>Runs a program on Lua 5.1 itself.</summary>
internal static class LuaOracle
{
    // Prints what Kv's side prints: of a table, function or coroutine its type.
    private const string Prelude = """
        local write, type, tostring, select = io.write, type, tostring, select
        local function shown(v) local t = type(v) return (t == 'table' or t == 'function' or t == 'thread') and t or tostring(v) end
        function print(...) for i = 1,
            select('#', ...) do write(i == 1 and '' or '\t', shown((select(i, ...)))) end write('\n') end
        local f, message = loadfile(arg[1])
        if not f then write('error: ', message, '\n') return end
        for _, name in ipairs{'io', 'os', 'debug', 'package', 'module', 'require', 'dofile', 'loadfile', 'setfenv',
            'getfenv', 'newproxy', 'arg'} do _G[name] = nil end
        local ok, message = pcall(f)
        if not ok then write('error: ', shown(message), '\n') end
        """;

    /// <summary>What a program prints; an error is its last line.</summary>
    public static string Output(string program)
    {
        string lua = Requires.Tool("lua5.1"), folder = Directory.CreateTempSubdirectory("kv-lua").FullName;
        try
        {
            string prelude = Path.Combine(folder, "prelude"), file = Path.Combine(folder, "program");
            File.WriteAllText(prelude, Prelude);
            File.WriteAllText(file, program, System.Text.Encoding.Latin1);
            string said = ChildProcess.Run(lua, [prelude, file]).Output;
            return said.Replace(file, "program", StringComparison.Ordinal);
        }
        finally
        {
            Directory.Delete(folder, recursive: true);
        }
    }
}

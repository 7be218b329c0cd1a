using System.Diagnostics;
using System.Globalization;
using System.Text;
using System.Text.RegularExpressions;
using Kv.Lua;

namespace Kv.Tests.Lua.Fuzz;

/// <summary>Runs many programs, each on its own, and says what they print: on Lua 5.1 itself, and on Kv's
/// machine.</summary>
/// <remarks>A program is given so many instructions; what it has printed by then is shown with the word "stopped",
/// since the two count differently.</remarks>
internal static partial class LuaBatch
{
    public const string Stopped = "\u0001stopped\n";

    private const int InstructionsMax = 200_000;

    // The names that Kv's machine has. Each program gets tables of its own, so that it may change them.
    private const string Driver = """
        local names = {'assert', 'collectgarbage', 'error', 'gcinfo', 'getmetatable', 'ipairs', 'load', 'loadstring', 'next',
            'pairs', 'pcall', 'rawequal', 'rawget', 'rawset', 'select', 'setmetatable', 'tonumber', 'tostring', 'type',
            'unpack', 'xpcall', '_VERSION'}
        local libraries = {'string', 'table', 'math', 'coroutine'}
        local original = string
        local function copy(t) local c = {} for k, v in pairs(t) do c[k] = v end return c end
        local out = {}
        local function shown(v)
            local t = type(v)
            return (t == 'table' or t == 'function' or t == 'thread') and t or tostring(v)
        end
        local create = coroutine.create
        local limit = {}
        local function stop() error(limit, 0) end
        local function run(source)
            out = {}
            local env = {}
            for _, name in ipairs(names) do env[name] = _G[name] end
            for _, name in ipairs(libraries) do env[name] = copy(_G[name]) end
            env._G = env
            local stopped = false
            local function hook() stopped = true debug.sethook(stop, '', 1000) error(limit, 0) end
            -- A coroutine has a hook of its own.
            env.coroutine.create = function(f) local c = create(f) debug.sethook(c, hook, '', 200000) return c end
            env.coroutine.wrap = function(f)
                local c = create(f)
                debug.sethook(c, hook, '', 200000)
                return coroutine.wrap(f)
            end
            env.print = function(...)
                for i = 1, select('#', ...) do out[#out + 1] = (i == 1 and '' or '\t') .. shown((select(i, ...))) end
                out[#out + 1] = '\n'
            end
            getmetatable('').__index = env.string
            local f, message = loadstring(source, '=program')
            if not f then out[#out + 1] = 'error: ' .. message .. '\n' return end
            setfenv(f, env)
            setfenv(0, env)
            debug.sethook(hook, '', 200000)
            local ok, message = pcall(f)
            debug.sethook()
            if stopped then out[#out + 1] = '\1stopped\n'
            elseif not ok then out[#out + 1] = 'error: ' .. shown(message) .. '\n' end
        end
        local real = _G
        local input = io.open(arg[1], 'rb')
        while true do
            local length = input:read('*n')
            if not length then break end
            input:read(1)
            local source = input:read(length) or ''
            local ok, message = pcall(run, source)
            debug.sethook()
            setfenv(0, real)
            getmetatable('').__index = original
            local text = table.concat(out)
            if not ok then text = text .. '\1stopped\n' end
            io.write(#text, '\n', text)
        end
        """;

    /// <summary>What each program prints on Lua 5.1.</summary>
    public static List<string> OnLua(string lua, IReadOnlyList<string> programs)
    {
        string folder = Directory.CreateTempSubdirectory("kv-lua").FullName;
        try
        {
            File.WriteAllText(Path.Combine(folder, "driver"), Driver);
            var outputs = new List<string>();
            // Ends: each round runs a program at least. One that ends lua5.1 itself, when it is stopped in the middle
            // of something, says nothing.
            while (true)
            {
                outputs.AddRange(Run(lua, folder, programs.Skip(outputs.Count)));
                if (outputs.Count == programs.Count) return outputs;
                outputs.Add(Stopped);
                if (outputs.Count == programs.Count) return outputs;
            }
        }
        finally
        {
            Directory.Delete(folder, recursive: true);
        }
    }

    private static List<string> Run(string lua, string folder, IEnumerable<string> programs)
    {
        string input = Path.Combine(folder, "programs");
        using (var file = File.Create(input))
        {
            foreach (string program in programs)
                file.Write(Encoding.Latin1.GetBytes(
                    program.Length.ToString(CultureInfo.InvariantCulture) + "\n" + program));
        }

        var start = new ProcessStartInfo(lua, [Path.Combine(folder, "driver"), input])
        { RedirectStandardOutput = true, RedirectStandardError = true, StandardOutputEncoding = Encoding.Latin1 };
        using var process = Process.Start(start)!;
        string said = process.StandardOutput.ReadToEnd();
        process.WaitForExit();
        return Parts(said);
    }

    /// <summary>What a program prints on Kv's machine.</summary>
    /// <param name="budget">Turns until it is put aside, each time.</param>
    public static string OnKv(string program, long budget)
    {
        var output = new StringBuilder();
        var machine = new LuaMachine(new LuaLimits { MemoryBytes = 16 << 20 });
        machine.Globals[new LuaString("print")] = new LuaBuiltin("print", (ref LuaCall call) =>
        {
            for (int i = 0; i < call.Count; i++) output.Append(i == 0 ? "" : "\t").Append(Shown(call[i]));
            output.Append('\n');
            return call.Return();
        });
        try
        {
            machine.Begin(LuaMachine.Compile(Encoding.Latin1.GetBytes(program), "=program"));
        }
        catch (LuaException error)
        {
            return output.Append("error: ").Append(error.Value).Append('\n').ToString();
        }

        for (long turns = 0; turns < InstructionsMax; turns += budget)
        {
            LuaOutcome outcome = machine.Run(budget);
            if (outcome == LuaOutcome.Done) return output.ToString();
            if (outcome == LuaOutcome.Failed)
                return output.Append("error: ").Append(Shown(machine.Error)).Append('\n').ToString();
        }

        return output.Append(Stopped).ToString();
    }

    /// <summary>Whether the two are the same where Lua says what is to come.</summary>
    public static bool AreAlike(string theirs, string ours)
    {
        theirs = Driven().Replace(theirs, "");
        if (theirs == ours || Address().IsMatch(theirs) || Address().IsMatch(ours)) return true;
        // Limits are each machine's own: how deep, how long, how much.
        string[] limits = [Stopped, "stack overflow", "not enough memory", "string length overflow", "too complex"];
        return limits.Any(limit => theirs.Contains(limit, StringComparison.Ordinal)
            || ours.Contains(limit, StringComparison.Ordinal));
    }

    // Whatever a program has done with it: upper case, backwards.
    [GeneratedRegex("0x[0-9a-f]{8,}|[0-9a-f]{8,}x0", RegexOptions.IgnoreCase)]
    private static partial Regex Address();

    // A level beyond the program's own functions is the driver's.
    [GeneratedRegex("[^ \\t]*/driver:[0-9]+: ")]
    private static partial Regex Driven();

    private static List<string> Parts(string said)
    {
        var parts = new List<string>();
        // Ends: each round takes a line.
        for (int at = 0; at < said.Length;)
        {
            int line = said.IndexOf('\n', at),
                length = int.Parse(said.AsSpan(at, line - at), CultureInfo.InvariantCulture);
            parts.Add(said.Substring(line + 1, length));
            at = line + 1 + length;
        }

        return parts;
    }

    private static string Shown(LuaValue value) =>
        value.Type is LuaType.Table or LuaType.Function or LuaType.Thread ? value.TypeName : value.ToString();
}

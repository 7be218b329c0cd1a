using System.Text;
using Kv.Lua;
using Kv.Server.Execution;
using Kv.Server.Families;
using Kv.Server.Scripting;
using Kv.Tests.Harness;

namespace Kv.Tests.Scripting;

/// <summary>Which texts show that they use declared keys only; and that those which are said to do so do.</summary>
public sealed class DeclaredKeysTests
{
    [Theory]
    [InlineData("return 1")]
    [InlineData("return redis.call('GET', KEYS[1])")]
    [InlineData("return redis.call('get', KEYS[ARGV[1]+1])")]
    [InlineData("if redis.call('get',KEYS[1]) == ARGV[1] then return redis.call('del',KEYS[1]) else return 0 end")]
    [InlineData("local call, key = redis.call, KEYS[1]; call('INCR', key) return redis.pcall('GET',key)")]
    [InlineData("for i, k in ipairs(KEYS) do redis.call('DEL', k) end")]
    [InlineData("for i = 1, #KEYS do redis.call('SET', KEYS[i], ARGV[i]) end")]
    [InlineData("return redis.call('DEL', unpack(KEYS))")]
    [InlineData("return redis.call('MSET', KEYS[1], 'a', KEYS[2], 'b')")]
    [InlineData("return redis.call('ZADD', KEYS[1], unpack(ARGV))")]
    [InlineData("return redis.call('ZUNIONSTORE', KEYS[1], 2, KEYS[2], KEYS[3])")]
    [InlineData("local keys = KEYS local f = function(x) return redis.call('GET', keys[x]) end return f(1)")]
    [InlineData("local k = KEYS[1] local function f() return (function() return redis.call('TTL', k) end)() end")]
    [InlineData("return redis.call('RPOPLPUSH', KEYS[1], (KEYS[2]))")]
    [InlineData("redis.log(redis.LOG_NOTICE, 'x') redis.set_repl(redis.REPL_ALL) return redis.error_reply('x')")]
    [InlineData("local t = redis.call('TIME') redis.call('PUBLISH', 'anywhere', t[1]) return cjson.encode(KEYS)")]
    [InlineData("local d = redis.call('HMGET', KEYS[1], 'absexp', 'sldexp', 'data') return d")]
    [InlineData("redis.call('HSET', KEYS[1], 'a' .. ARGV[1], #ARGV) return redis.call('nosuch', 'x')")]
    [InlineData("return redis.call()")]
    [InlineData("return redis.call('XADD', KEYS[1], '*', 'f', cjson.encode({a=1}))")]
    [InlineData("while true do redis.call('INCR', KEYS[1]) end")]
    [InlineData("repeat local k = KEYS[2] redis.call('INCR', k) until true")]
    [InlineData("#!lua flags=no-cluster\nreturn redis.call('GET', KEYS[1])")]
    [InlineData("local function f(k) return redis.call('GET', k) end return f(KEYS[1])")]
    [InlineData("local function f(k) return redis.call('GET', k) end return f(KEYS[1]), f(KEYS[ARGV[1]])")]
    [InlineData("local f = function(n, k) return redis.call('SET', k, n) end return f(ARGV[1], KEYS[1])")]
    [InlineData("local function f(a, b) return redis.call('MGET', a, b) end return f(unpack(KEYS))")]
    [InlineData("local function f(keys, n) return redis.call('GET', keys[n]) end return f(KEYS, 2)")]
    [InlineData("local function f(k) redis.call('GET', k) end local function g(k) f(k) end g(KEYS[1]) g(KEYS[2])")]
    [InlineData("local function f(k, n) if n > 0 then f(k, n - 1) end redis.call('INCR', k) end f(KEYS[1], 3)")]
    [InlineData("local function f(c) return c end return f(redis.REPL_ALL) or redis.call('GET', KEYS[1])")]
    [InlineData("local function f(k) return redis.call('GET', k) end local function g() return f('x') end return 1")]
    [InlineData("local function f(k) for _, x in ipairs(k) do redis.call('DEL', x) end end f(KEYS)")]
    public void These_show_it(string text) => Assert.True(Shows(text));

    [Theory]
    [InlineData("return redis.call('GET', 'x')")]
    [InlineData("return redis.call('GET', ARGV[1])")]
    [InlineData("return redis.call('GET', KEYS[1] .. ':x')")]
    [InlineData("return redis.call('GET', KEYS[1] or 'x')")]
    [InlineData("return redis.call(ARGV[1], KEYS[1])")]
    [InlineData("local k = KEYS[1] k = k .. 'x' return redis.call('GET', k)")]
    [InlineData("local k = KEYS[1] local function f() k = 'x' end f() return redis.call('GET', k)")]
    [InlineData("local k = KEYS[redis.call('INCR', 'x')] return k")]
    [InlineData("KEYS[1] = 'x' return redis.call('GET', KEYS[1])")]
    [InlineData("KEYS = {'x'} return redis.call('GET', KEYS[1])")]
    [InlineData("local keys = KEYS keys[1] = 'x' return redis.call('GET', KEYS[1])")]
    [InlineData("table.insert(KEYS, 'x') return redis.call('GET', KEYS[2])")]
    [InlineData("rawset(KEYS, 1, 'x') return redis.call('GET', KEYS[1])")]
    [InlineData("local t = {KEYS} t[1][1] = 'x' return redis.call('GET', KEYS[1])")]
    [InlineData("local r = redis return r.call('GET', KEYS[1])")]
    [InlineData("local f = redis['ca' .. 'll'] return f('GET', KEYS[1])")]
    [InlineData("return pcall(redis.call, 'GET', KEYS[1])")]
    [InlineData("local f = {redis.call} return f[1]('GET', 'x')")]
    [InlineData("local call = redis.call local other = call return other('GET', 'x')")]
    [InlineData("local call = redis.call local f = function(g) return g('GET', 'x') end return f(call)")]
    [InlineData("return loadstring('return redis.call(\"GET\", \"x\")')()")]
    [InlineData("_G.KEYS[1] = 'x' return redis.call('GET', KEYS[1])")]
    [InlineData("local function f(k) return redis.call('GET', k) end return f('x')")]
    [InlineData("local function f(k) return redis.call('GET', k) end return f(KEYS[1]), f('x')")]
    [InlineData("local function f(k) return redis.call('GET', k) end f(KEYS[1]) return pcall(f, 'x')")]
    [InlineData("local function f(k) return redis.call('GET', k) end local g = f return f(KEYS[1]), g('x')")]
    [InlineData("local function f(k) return redis.call('GET', k) end f(KEYS[1]) return ({f})[1]('x')")]
    [InlineData("local function f(k) k = 'x' return redis.call('GET', k) end return f(KEYS[1])")]
    [InlineData("local function f(k) return redis.call('GET', k) end f = function() end return f(KEYS[1])")]
    [InlineData("local function f(k) k[1] = 'x' end f(KEYS) return redis.call('GET', KEYS[1])")]
    [InlineData("local function f(k) k = k or 1 k[1] = 'x' end f(KEYS) return redis.call('GET', KEYS[1])")]
    [InlineData("local function f(k) k[1] = 'x' end f({}) f(KEYS) return redis.call('GET', KEYS[1])")]
    [InlineData("local function f(...) local k = ... k[1] = 'x' end f(KEYS) return redis.call('GET', KEYS[1])")]
    [InlineData("local function f(a) arg[1][1] = 'x' end f(1, KEYS) return redis.call('GET', KEYS[1])")]
    [InlineData("local function f(a, k) return redis.call('GET', k) end return f(KEYS[1], unpack(ARGV))")]
    [InlineData("local function f(k, n) if n then f('x') end redis.call('INCR', k) end f(KEYS[1], 3)")]
    [InlineData("local function f(c) return c('GET', 'x') end return f(redis.call)")]
    [InlineData("local function f(k) redis.call('GET', k) end local function g(k) f(k) end g(KEYS[1]) g('x')")]
    [InlineData("for i, k in ipairs(KEYS) do k = 'x' redis.call('DEL', k) end")]
    [InlineData("for i, k in ipairs(ARGV) do redis.call('DEL', k) end")]
    [InlineData("for i, k in pairs(KEYS, 1) do redis.call('DEL', i) end")]
    [InlineData("return redis.call('DEL', KEYS[1], unpack(ARGV))")]
    [InlineData("return redis.call('MSET', unpack(KEYS))")]
    [InlineData("return redis.call(unpack(KEYS))")]
    [InlineData("return redis.call('MSET', KEYS[1], 'a', 'k', 'b')")]
    [InlineData("return redis.call('ZUNIONSTORE', KEYS[1], ARGV[1], KEYS[2])")]
    [InlineData("return redis.call('ZUNIONSTORE', KEYS[1], 2, KEYS[2], 'x')")]
    [InlineData("return redis.call('XREAD', 'STREAMS', KEYS[1], '0')")]
    [InlineData("return redis.call('SORT', KEYS[1], 'BY', 'w_*')")]
    [InlineData("redis.call('SELECT', 1) return redis.call('GET', KEYS[1])")]
    [InlineData("return redis.call('FLUSHALL')")]
    [InlineData("return redis.call('KEYS', '*')")]
    [InlineData("return redis.call('COPY', KEYS[1], KEYS[2], 'DB', 1)")]
    [InlineData("local ipairs = function() return next, {'x'} end for i, k in ipairs({}) do redis.call('GET', k) end")]
    [InlineData("return redis:call('GET', KEYS[1])")]
    [InlineData("local redis = {} setmetatable(KEYS, {__index = function() return 'x' end}) return redis")]
    public void These_do_not(string text) => Assert.False(Shows(text));

    [Theory]
    [InlineData("redis.register_function('f', function(keys, args) return redis.call('SET', keys[1], args[1]) end)")]
    [InlineData("local function f(k, a) return redis.call('SET', k[1], a[1]) end redis.register_function('f', f)")]
    [InlineData("redis.register_function{function_name='f', callback=function(k) return redis.call('GET', k[1]) end}")]
    [InlineData("local function f(k) return redis.call('DEL', unpack(k)) end "
        + "redis.register_function{function_name='f', callback=f, flags={'no-writes'}, description='x'}")]
    [InlineData("local register = redis.register_function register('f', function(k) redis.call('DEL', k[1]) end)")]
    [InlineData("local function one(k, n) return redis.call('INCRBY', k, n) end "
        + "redis.register_function('f', function(keys, a) for i, k in ipairs(keys) do one(k, a[1]) end end)")]
    [InlineData("redis.register_function('f', function(k) redis.call('DEL', k[1]) end) "
        + "redis.register_function('g', function(k) redis.call('DEL', 'x') loadstring('x') k[1] = 1 end)")]
    [InlineData("local function bad() redis.call('DEL', 'x') end redis.register_function('g', bad) "
        + "redis.register_function('f', function(k) redis.call('DEL', k[1]) end)")]
    [InlineData("redis.register_function('f', function() return 1 end)")]
    [InlineData("local function f(k) redis.call('DEL', k[1]) end redis.register_function('f', f) "
        + "redis.register_function('g', function(k) return f(k) end)")]
    public void This_function_shows_it(string library) => Assert.Contains("f", Shown(library));

    [Theory]
    [InlineData("redis.register_function('f', function(keys, args) return redis.call('SET', args[1], 1) end)")]
    [InlineData("redis.register_function('f', function() return redis.call('SET', 'x', 1) end)")]
    [InlineData("redis.register_function('f', function(k) k[1] = 'x' return redis.call('GET', k[1]) end)")]
    [InlineData("redis.register_function('f', function(k) k = {'x'} return redis.call('GET', k[1]) end)")]
    [InlineData("redis.register_function('f', function(...) local k = ... return redis.call('GET', k[1]) end)")]
    [InlineData("redis.register_function('f', function() return redis.call('GET', KEYS[1]) end)")]
    [InlineData("redis.register_function('f', function(k) return loadstring('x')(k) end)")]
    [InlineData("redis.register_function('f' .. 1, function(k) return redis.call('GET', k[1]) end)")]
    [InlineData("pcall(redis.register_function, 'f', function(k) return redis.call('GET', k[1]) end)")]
    [InlineData("redis.register_function{['function_' .. 'name']='f', callback=function(k) end}")]
    [InlineData("redis.register_function{function_name='f', callback=function(k) end, "
        + "callback=function(k) redis.call('DEL', 'x') end}")]
    [InlineData("local function f(k) redis.call('DEL', k[1]) end redis.register_function('f', f) "
        + "redis.register_function('g', function(k) return f({'x'}) end)")]
    [InlineData("local function bad() redis.call('DEL', 'x') end "
        + "redis.register_function('f', function(k) bad() redis.call('DEL', k[1]) end)")]
    [InlineData("redis.register_function('f', function(k) redis.call('DEL', k[1]) end) "
        + "redis.register_function('f', function(k) redis.call('DEL', 'x') end)")]
    [InlineData("local all = {function() redis.call('DEL', 'x') end} "
        + "redis.register_function('f', function(k) all[1]() end)")]
    [InlineData("local r = redis redis.register_function('f', function(k) r.call('DEL', 'x') end)")]
    [InlineData("redis.register_function('g', function(k) redis.call('DEL', k[1]) end)")]
    public void This_function_does_not(string library) => Assert.DoesNotContain("f", Shown(library));

    // What is said to be safe never throws: run in all ways with few, many, and wrong arguments.
    [Fact]
    public void What_shows_it_needs_nothing_else()
    {
        string[] heads = ["redis.call(", "redis.pcall(", "local c = redis.pcall c("];
        string[] arguments = ["KEYS[1]", "KEYS[2]", "KEYS[3]", "unpack(KEYS)", "'1'", "2", "'x'", "ARGV[1]", "3"];
        using var kv = KvInstance.Start();
        using var client = kv.Connect();
        var random = Seed.NewRandom();
        var commands = AllCommands.Table.All.Where(command => command.Keys.Length > 0).ToArray();
        int shown = 0;
        for (int i = 0; i < 3000; i++)
        {
            var command = commands[random.Next(commands.Length)];
            string name = command.Name;
            var parts = new List<string> { $"'{name}'" };
            for (int n = random.Next(6); n > 0; n--) parts.Add(arguments[random.Next(arguments.Length)]);
            string text = "redis.pcall('INCR', KEYS[2]) " + heads[random.Next(heads.Length)]
                + string.Join(", ", parts) + ")";
            if (i % 2 == 1) text = $"local function f(KEYS, ARGV) {text} end f(KEYS, ARGV)";
            if (!Shows(text)) continue;
            shown++;
            int before = int.Parse(client.Info("kv_scripts_alone"), System.Globalization.CultureInfo.InvariantCulture);
            byte[][] words = [.. new[] { "EVAL", text, "2", "{k}1", "{k}2", "a" }.Select(Encoding.Latin1.GetBytes)];
            string answer = client.Command(words).ToString();
            Assert.False(answer.Contains("internal", StringComparison.Ordinal), $"{text}: {answer}");
            Assert.Equal($"{before}", client.Info("kv_scripts_alone"));
        }

        Assert.InRange(shown, 100, 3000);
    }

    private static IEnumerable<string> Shown(string library) => DeclaredKeys.OfFunctions(
        LuaText.Read(Encoding.Latin1.GetBytes(library), ""), AllCommands.Table).Select(name => name.ToString());

    private static bool Shows(string text) => Script.Compile(default, Encoding.Latin1.GetBytes(text),
        AllCommands.Table).UsesDeclaredKeys;
}

using System.Text;
using Kv.Tests.Harness;

namespace Kv.Tests.Scripting;

/// <summary>Functions whose library's text is not run anew for each call: every call finds what the text has made, as
/// if it was.</summary>
public sealed class KeptLibraryTests
{
    // Each function answers the same whenever it is called, whatever the calls before did.
    public static TheoryData<string> Stateful =>
    [
        "local n = 0 F(function() n = n + 1 return n end)",
        "local n = 0 local function more() n = n + 1 end F(function() more() return n end)",
        "local n = 0 F(function() local f = function() n = n + 1 end f() return n end)",
        "local function new() local n = 0 return function() n = n + 1 return n end end local f = new() "
            + "F(function() return f() end)",
        "local t = {} F(function() t.n = (t.n or 0) + 1 return t.n end)",
        "local t = {1, 2, {3}} F(function() t[3][1] = t[3][1] + 1 return t[3][1] end)",
        "local t = {} F(function() table.insert(t, 1) return #t end)",
        "local t = {1, 2, 3} F(function() return {table.remove(t), #t} end)",
        "local t = {3, 1, 2} F(function() local first = t[1] table.sort(t) return first end)",
        "local t = {'c', 'a', 'b'} F(function() local f = t[1] table.sort(t, function(a, b) return a < b end) return f "
            + "end)",
        "local t = {} F(function() rawset(t, 'n', (t.n or 0) + 1) return t.n end)",
        "local t = {} F(function() local old = getmetatable(t) setmetatable(t, {}) return old == nil end)",
        "local m = {__index = {n = 0}} local t = setmetatable({}, m) "
            + "F(function() m.__index.n = t.n + 1 return t.n end)",
        "local m = {n = 0} local t = setmetatable({}, {__newindex = function(_, _, v) m.n = m.n + v end}) "
            + "F(function() t.x = 1 return m.n end)",
        "local keys = {[{}] = 1} F(function() for k in pairs(keys) do k.n = (k.n or 0) + 1 return k.n end end)",
        "local co = coroutine.create(function() for i = 1, 100 do coroutine.yield(i) end end) "
            + "F(function() return {coroutine.resume(co)} end)",
        "local next = coroutine.wrap(function() for i = 1, 100 do coroutine.yield(i) end end) "
            + "F(function() return next() end)",
        "local words = ('a b c d e f'):gmatch('%a') F(function() return words() end)",
        "local json = cjson.new() F(function() local was = json.encode_max_depth() json.encode_max_depth(was + 1) "
            + "return was end)",
        "local t = {} F(function(k) t.k = k t.v = redis.call('GET', 'kept') local n = 0 for _ in pairs(t) do n = n + 1 "
            + "end return n end)",
        "local last = {} F(function(k, a) local was = last[1] last[1] = a[1] return was end)",
        "local ok, e = pcall(redis.register_function, 1) F(function() return e end)",
        "local s = ('x'):rep(10) .. tostring(1.5) F(function(k, a) return {s, a[1], redis.call('GET', 'kept')} end)",
        "local t = {('y'):rep(3), n = {1, {2}}} F(function(k, a) t.z = nil return {t[1], t.n[2][1], a[1]} end)",
        "local t = {n = 1} F(function() t.n = t.n + 1 error('x') end)",
    ];

    [Theory, MemberData(nameof(Stateful))]
    public void Every_call_finds_the_variables_of_a_library_as_they_were_loaded(string text)
    {
        using var kv = KvInstance.Start("--worker-threads", "1");
        using var client = kv.Connect();
        client.Ok("SET kept text");
        Load(client, "a", text, "f");
        Load(client, "b", "local t = {1} F(function() return t[1] end)", "g");
        string first = Call(client, "f", "0", "one");
        for (int i = 0; i < 4; i++)
        {
            Assert.Equal(":1", Call(client, "g", "0"));
            Assert.Equal("\"text\"", Call(client, "get", "0"));
            string answer = Call(client, "f", "0", "one");
            Assert.Equal(first, answer);
        }

        Assert.Equal(":1", Call(client, "g", "0"));
    }

    [Fact]
    public void A_function_that_is_begun_anew_alone_finds_them_as_well()
    {
        using var kv = KvInstance.Start("--worker-threads", "2");
        using var client = kv.Connect();
        for (int i = 0; i < 3; i++)
        {
            // It has changed its table before it turns out to need another key.
            Load(client, $"l{i}", "local t = {n = 0} F(function(k) t.n = t.n + 1 redis.call('GET', k[1]) "
                + "redis.call('SET', 'o' .. 'ther', t.n) return t.n end)", $"f{i}");
            for (int call = 0; call < 3; call++) Assert.Equal(":1", Call(client, $"f{i}", "1", "k"));
        }
    }

    [Fact]
    public void A_library_that_is_replaced_or_deleted_is_not_called_any_more()
    {
        using var kv = KvInstance.Start("--worker-threads", "1");
        using var client = kv.Connect();
        for (int i = 1; i < 20; i++)
        {
            Load(client, "a", $"local t = {{{i}}} F(function() return t[1] end)", "f");
            for (int call = 0; call < 3; call++) Assert.Equal($":{i}", Call(client, "f", "0"));
        }

        client.Command("FUNCTION FLUSH");
        Assert.Equal("-ERR Function not found", Call(client, "f", "0"));
    }

    [Fact]
    public void Much_that_libraries_keep_is_made_anew_instead()
    {
        using var kv = KvInstance.Start("--worker-threads", "1");
        using var client = kv.Connect();
        for (int i = 0; i < 12; i++)
        {
            Load(client, $"l{i}", $"local s = ('x'):rep({(i + 1) * 60_000}) F(function() return #s end)", $"f{i}");
        }

        for (int round = 0; round < 3; round++)
            for (int i = 0; i < 12; i++) Assert.Equal($":{(i + 1) * 60_000}", Call(client, $"f{i}", "0"));
        client.Command(Words("EVAL", "return 1", "0"));
        Assert.InRange(long.Parse(client.Info("used_memory_lua"), System.Globalization.CultureInfo.InvariantCulture),
            0, 2 << 20);
    }

    private static void Load(RespClient client, string library, string text, string name)
    {
        string code = $"#!lua name={library}\nlocal function F(f) redis.register_function('{name}', f) end {text}";
        if (name == "f") code += " redis.register_function('get', function() return redis.call('GET', 'kept') end)";
        Assert.Equal($"\"{library}\"", client.Command(Words("FUNCTION", "LOAD", "REPLACE", code)).ToString());
    }

    private static string Call(RespClient client, params string[] words) =>
        client.Command(Words(["FCALL", .. words])).ToString();

    private static byte[][] Words(params string[] words) => Array.ConvertAll(words, Encoding.Latin1.GetBytes);
}

using System.Text;
using Kv.Lua;
using Kv.Tests.Harness;
using Kv.Tests.Lua.Fuzz;

namespace Kv.Tests.Lua;

/// <summary>cjson, cmsgpack, struct, bit and the protection of globals give what redis-server 7.0.15 gives by EVAL:
/// results, bytes and errors.</summary>
public sealed class LuaReferenceTests
{
    private const int CallsInOne = 100;

    private static readonly long[] Budgets = [1, 3, 1000];

    [Fact]
    public void Random_calls_of_the_libraries_give_what_the_reference_gives()
    {
        using RedisServer redis = RedisServer.Start();
        using RespClient client = redis.Connect();
        for (int i = 0; i < TimeBudget.Count(30); i++)
        {
            var cases = new LibraryCases(Seed.NewRandom(i));
            string[] calls = [.. Enumerable.Range(0, CallsInOne).Select(_ => cases.Next())];
            AssertAlike(client, calls, Budgets[i % Budgets.Length]);
        }
    }

    [Fact]
    public void Calls_at_the_limits_give_what_the_reference_gives()
    {
        using RedisServer redis = RedisServer.Start();
        using RespClient client = redis.Connect();
        string[] expressions =
        [
            "cjson.encode()", "cjson.encode(1, 2)", "cjson.decode()", "cjson.decode({})", "cjson.decode(1)",
            "cjson.decode('')",
            "cjson.encode(cjson.decode('[]'))", "cjson.encode({[1e300]=1})", "cjson.encode({[2^31]=1})",
            "cjson.encode({[2^33+5]=1,2})", "cjson.encode({[11]=1})", "cjson.encode({[10]=1})",
            "cjson.encode({[true]=1})",
            "cjson.encode({[{}]=1})", "cjson.encode(coroutine.create(type))", "cjson._NAME .. cjson._VERSION",
            "tostring(cjson.null)", "type(cjson.null)", "cjson.null == cjson.decode('null')", "cjson.decode('nan(1')",
            "(function() local t = {} for i = 1, 1000 do t = {t} end return cjson.encode(t) end)()",
            "(function() local t = {} for i = 1, 999 do t = {t} end return cjson.encode(t) end)()",
            "cjson.decode(('['):rep(1000) .. (']'):rep(1000))", "cjson.decode(('['):rep(1001) .. (']'):rep(1001))",
            "cjson.decode('{\"a\":1,\"a\":2}')", "cjson.decode('1\\0002')", "cjson.decode('12\\0003')",
            "cjson.decode('\\0001')",
            "cjson.encode_max_depth(0)", "cjson.new().encode_max_depth(2^31 - 1)", "cjson.new().decode_max_depth('5')",
            "cjson.encode_number_precision(15)", "cjson.new().encode_number_precision(14)",
            "cjson.encode_sparse_array(1,2,3,4)",
            "(function() local m = cjson.new() m.encode_sparse_array(false, 0) return m.encode({[20]=1}) end)()",
            "cmsgpack.pack()", "cmsgpack.unpack()", "cmsgpack.unpack('')", "cmsgpack.unpack_one('', 0)",
            "cmsgpack._NAME .. cmsgpack._VERSION .. cmsgpack._COPYRIGHT .. cmsgpack._DESCRIPTION",
            "(function() local t = {} for i = 1, 15 do t = {t} end return cmsgpack.pack(t) end)()",
            "(function() local t = {} for i = 1, 16 do t = {a = t} end return cmsgpack.pack(t) end)()",
            "#cmsgpack.pack(('x'):rep(31)) + #cmsgpack.pack(('x'):rep(32)) * 1000", "#cmsgpack.pack(('x'):rep(255))",
            "cmsgpack.pack(('x'):rep(256)):sub(1, 4)", "cmsgpack.pack(('x'):rep(65535)):sub(1, 6)",
            "cmsgpack.pack(('x'):rep(65536)):sub(1, 6)", "cmsgpack.unpack('\\129\\192\\1')",
            "cmsgpack.unpack('\\129\\202\\127\\192\\0\\0\\1')", "cmsgpack.unpack('\\221\\255\\255\\255\\255\\1')",
            "cmsgpack.unpack('\\219\\255\\255\\255\\255a')", "cmsgpack.unpack('\\223\\255\\255\\255\\255\\1')",
            "select('#', cmsgpack.unpack(('\\1'):rep(7999)))", "select('#', cmsgpack.unpack(('\\1'):rep(8000)))",
            "cmsgpack.unpack(('\\145'):rep(10000))", "type(cmsgpack.unpack(('\\145'):rep(3990) .. '\\1'))",
            "type(cmsgpack.unpack(('\\145'):rep(3999) .. '\\1'))",
            "type(cmsgpack.unpack(('\\145'):rep(4000) .. '\\1'))",
            "cmsgpack.unpack_limit('\\1\\2\\3', 2)", "cmsgpack.unpack_limit('\\1', 1)", "cmsgpack.unpack_one('\\1', 2)",
            "struct.pack('i')", "struct.pack('ii', 1)", "struct.pack('c1')", "struct.pack()", "struct.unpack('i')",
            "struct.size('s')", "struct.size('c0')", "struct.size('!64i')", "struct.size('c2147483647c2147483647')",
            "struct.pack('I32', 1)", "struct.pack('I33', 1)", "struct.unpack('b', 'a', 2^31)",
            "struct.unpack('b', 'abc', 0)",
            "struct.unpack('b', 'abc', -1)", "struct.unpack('b', 'abc', 4)", "struct.unpack('', '')",
            "struct.pack('c4', 'abc')",
            "select('#', struct.unpack(('b'):rep(7996), ('a'):rep(9000)))",
            "select('#', struct.unpack(('b'):rep(7997), ('a'):rep(9000)))",
            "select('#', struct.unpack(('b'):rep(7998), ('a'):rep(9000)))",
            "bit.tohex(1, -2^31)", "bit.tohex(255, 3)", "bit.tohex(255, -3)", "bit.tohex(255, 0)", "bit.lshift(1, 32)",
            "bit.arshift(-8, 33)", "bit.band()", "bit.bxor(1, {}, nil)", "bit.tobit(2^40 + 5)", "bit.tobit(-1.5)",
        ];
        AssertAlike(client, [.. expressions.Select(call => $"try(function() return {call} end)\n")], 1000);
    }

    // What C makes of numbers that its types do not hold, of zero bytes, and in which order it looks at arguments.
    [Fact]
    public void Odd_arguments_of_the_standard_libraries_give_what_the_reference_gives()
    {
        using RedisServer redis = RedisServer.Start();
        using RespClient client = redis.Connect();
        string[] places = ["2^31", "-2^31", "2^32 + 2", "2^53", "-2^53", "2^63", "1/0", "-1/0", "0/0"];
        int[] lengths = [42, 43, 44, 51, 52, 53, 58, 59, 60, 62, 63, 64, 71, 72, 73, 78, 79, 80];
        string[] calls =
        [
            .. places.SelectMany(place => (string[])
            [
                $"('abc'):byte({place}, -1)", $"('abc'):byte(1, {place})", $"('abc'):sub({place})",
                $"('abc'):sub(2, {place})", $"('abc'):find('b', {place})", $"('abc'):match('.', {place})",
                $"('abc'):find('b', {place}, true)", $"struct.unpack('', 'abc', {place})",
                $"struct.unpack('b', 'abc', {place})", $"('%c|'):format({place} + 65)",
                $"('abc'):rep({place} + 2 - 2^32)",
            ]),
            "struct.unpack('', 'abc', -1)", "struct.unpack('>!4i', 'abcdefgh', -1)", "struct.unpack('>!4i', 'abc', -1)",
            "('a\\0b'):find('\\0')", "('a\\0b'):find('\\0b')", "('a\\0b'):find('a\\0c')", "('a\\0b'):find('.\\0c')",
            "('a\\0b'):match('[\\0-\\31]')", "('a\\0b'):match('\\0b')", "('a\\0b'):match('%\\0')",
            "('a\\0b'):gsub('\\0', '-')", "('a\\0b'):gsub('b\\0', '-')", "('a\\0b'):gmatch('\\0')()",
            "('a\\0b'):gmatch('.\\0x')()",
            "('%#.0f|%#.0e|%#.0g|%#g|%#.3f|%#5.0f|%#.0E'):format(2, 2, 2, 2, 2, 1/0, -1e9)",
            "math.fmod({}, {})", "math.mod('x')", "math.pow(nil, nil)", "math.atan2(true)", "math.ldexp({}, 'x')",
            "load(1, {})", "load(1)", "table.concat(1, {})", "table.concat(1)",
            "xpcall(error, setmetatable({}, {__call = function() return 7 end}))", "xpcall(error, 1)",
            .. lengths.SelectMany(length => (string[])
            [
                $"loadstring('error(1)', ('c'):rep({length}))()", $"loadstring('x', ('c'):rep({length}))",
                $"loadstring('error(1)', '@' .. ('c'):rep({length}))()", $"loadstring('x', '@' .. ('c'):rep({length}))",
                $"loadstring('error(1)', '=' .. ('c'):rep({length}))()", $"loadstring('x', '=' .. ('c'):rep({length}))",
                $"loadstring('error(1) --' .. ('c'):rep({length} - 10))()",
            ]),
            "('%c|%5c|%-5c|'):format(2^31 - 1, 2^31 - 1, -2^31 + 1)",
            "('a'):gsub('a', nil, {})", "('a'):gsub('a', true)", "load(tostring)",
            "load(function() error({a = 1}) end)",
            "load(function() error('x') end)", "load(function() return {} end)", "load(function() return nil end)",
            "(function() local n = 0 return load(function() n = n + 1 return n < 3 and n or nil end) end)()",
            "(function() local n = 4 return load(function() n = n + 1"
                + " return n == 5 and 'return ' or n < 7 and n or nil end)() end)()",
            "loadstring('\\27Lua')", "loadstring('\\27')", "loadstring('\\27Lua', '=x')",
        ];
        AssertAlike(client, [.. calls.Select(call => $"try(function() return {call} end)\n")], 1000);
    }

    [Theory]
    [InlineData("x = 1")]
    [InlineData("return _G.x")]
    [InlineData("return _G[1.5]")]
    [InlineData("return _G[{}]")]
    [InlineData("return undefined.field")]
    [InlineData("function f() end")]
    [InlineData("rawset(_G, 'x', 1)")]
    [InlineData("setmetatable(_G, {})")]
    [InlineData("getmetatable(_G).__index = nil")]
    [InlineData("getmetatable('').__index = nil")]
    [InlineData("string.x = 1")]
    [InlineData("cjson.null = 1")]
    [InlineData("table.insert(math, 1)")]
    [InlineData("table.sort(math) return 1")]
    [InlineData("_G.string = nil")]
    [InlineData("return tostring(rawget(_G, 'x')) .. type(getmetatable(_G)) .. type(getmetatable(_G).__index)")]
    public void What_scripts_share_is_protected_as_in_the_reference(string script)
    {
        using var redis = SharedServers.Redis();
        using RespClient client = redis.Server.Connect();
        var machine = new LuaMachine();
        machine.ProtectGlobals();
        string ours = Run(machine, script, 1000);
        Reply theirs = client.Command("EVAL"u8.ToArray(), Encoding.Latin1.GetBytes(script), "0"u8.ToArray());
        // The server adds which script it was.
        string said = theirs.String;
        int tail = said.IndexOf(" script: ", StringComparison.Ordinal);
        Assert.Equal(said[..(tail < 0 ? said.Length : tail)], theirs.IsError ? "ERR " + ours : ours);
    }

    private static void AssertAlike(RespClient client, string[] calls, long budget)
    {
        string script = LibraryCases.Prelude + string.Concat(calls) + LibraryCases.End;
        Reply reply = client.Command("EVAL"u8.ToArray(), Encoding.Latin1.GetBytes(script), "0"u8.ToArray());
        Assert.False(reply.IsError, reply.ToString());
        string[] theirs = reply.String.Split('\n'), ours = Run(new LuaMachine(), script, budget).Split('\n');
        for (int i = 0; i < calls.Length; i++)
        {
            string found = i < ours.Length ? ours[i] : "nothing";
            if (theirs[i] != found)
                Assert.Fail($"{Seed.Hint}\n{calls[i]}the reference: {theirs[i]}\nKv:            {found}");
        }
    }

    private static string Run(LuaMachine machine, string script, long budget)
    {
        machine.Begin(LuaMachine.Compile(Encoding.Latin1.GetBytes(script), "@user_script"));
        return LuaRun.ToItsEnd(machine, budget) == LuaOutcome.Failed ? machine.Error.ToString()
            : machine.Results.IsEmpty ? "" : machine.Results[0].ToString();
    }
}

using System.Text;
using Kv.Lua;
using Kv.Tests.Harness;

namespace Kv.Tests.Lua;

/// <summary>One call of a library function that has much to do is put aside in the middle of it, and gives what it
/// gives when it is not.</summary>
public sealed class LuaPauseTests
{
    private const long Budget = 2000, NoEnd = long.MaxValue / 2;

    private const string Text = "local s = ('0123456789abcdef'):rep(65536) ";

    // Without it each of them is done in one or two turns. 1 MB are 8 pieces of 128 KB.
    [Theory]
    [InlineData(Text + "print(#s, s:sub(-20), s:byte(524289, 524291))", 6)]
    [InlineData("print(#('x'):rep(4e6))", 25)]
    [InlineData("print(#(('0123456789'):rep(1e5)):rep(4))", 25)]
    [InlineData(Text + "local t = s .. s print(#t, t == s:rep(2), t:sub(#s - 3, #s + 3))", 25)]
    [InlineData(Text + "local t = 1 .. s .. 2.5 .. s .. 'z' print(#t, t:sub(1, 5), t:sub(#s, #s + 9), t:sub(-3))", 20)]
    [InlineData(Text + "local u = s:upper() print(#u, u:sub(-8), u:lower() == s, u:sub(131065, 131080))", 20)]
    [InlineData(Text + "local r = s:reverse() print(#r, r:sub(1, 8), r:reverse() == s)", 20)]
    [InlineData(Text + "print(#s:sub(2), s:sub(2):sub(1, 4), s:sub(2, -2):sub(-4))", 20)]
    [InlineData(Text + "local t, n = s:gsub('[05]', 'five%0') print(#t, n, t:sub(-40))", 100)]
    [InlineData(Text + "local t, n = s:gsub('f', '') print(#t, n, t:sub(-16))", 25)]
    [InlineData(Text + "local t, n = s:gsub('(%d+)(%a+)', '%2%1') print(#t, n, t:sub(1, 32))", 100)]
    [InlineData(Text + "local t, n = s:gsub('z', 'y') print(t == s, n)", 6)]
    [InlineData(Text + "local t, n = ('abc'):gsub('b', s) print(#t, n, t:sub(1, 4), t:sub(-3))", 12)]
    [InlineData(Text + "local t, n = ('abc'):gsub('b', function() return s end) print(#t, n, t:sub(-3))", 12)]
    [InlineData(Text + "local t, n = ('abc'):gsub('b', {b = s}) print(#t, n, t:sub(-3))", 12)]
    [InlineData(Text + "print(s:find('[^%w]'), s:find('(f)(e)'), s:match('.*(9a)()'))", 100)]
    [InlineData(Text + "print(s:find('^0%b19Z'), #s:match('^%w+$'), #s:match('%w-$'))", 25)]
    [InlineData(Text + "local n = 0 for a in s:gmatch('c(d)z?') do n = n + 1 end print(n, s:gmatch('x')())", 100)]
    [InlineData("print(pcall(string.find, ('a'):rep(60) .. 'b', ('a-'):rep(30) .. 'c'))", 5000)]
    [InlineData(Text + "print(#string.format('%s-%d-%s', s, 7, s), #string.format('%q', s))", 22)]
    [InlineData(Text + "s = s:gsub('f', '\\n'):gsub('e', '\\0'):gsub('d', '\\r\"') "
        + "local q, r = string.format('%q', s), string.format('<%d %q %s %q>', 5, s, 'x', s) "
        + "print(#q, q:sub(-40), #r, r:sub(1, 40), r:sub(-40), loadstring('return ' .. q)() == s)", 60)]
    [InlineData("for n = 65533, 65540 do local s = ('a'):rep(n) print(#string.format('%q%q', s, s .. '\\n')) end", 1)]
    [InlineData("local t = {} for i = 1, 200000 do t[i] = i % 7 end local s = table.concat(t, ', ') "
        + "print(#s, s:sub(1, 9), s:sub(-9), table.concat(t, '', 5, 9), table.concat(t, '-', 199998))", 150)]
    [InlineData("local t = {('x'):rep(1e6), 5, ('y'):rep(1e6)} local s = table.concat(t, ('z'):rep(3e5)) "
        + "print(#s, s:sub(1000001, 1000002), s:sub(1300000, 1300003), s:sub(-1))", 25)]
    [InlineData("local t = {} for i = 1, 300000 do t[i] = i end table.insert(t, 1, 'a') table.insert(t, 5, 'b') "
        + "print(#t, t[1], t[5], t[300002], table.remove(t, 1), table.remove(t, 4), #t, t[1], t[4], t[300000])", 280)]
    [InlineData("local i = 0 print(load(function() i = i + 1 return i < 100000 and ' ' or i == 100000 and 'return 7' "
        + "or nil end)())", 100)]
    [InlineData("local t, n = {}, 0 for i = 1, 100000 do t[i] = i end table.foreach(t, function() n = n + 1 end) "
        + "table.foreachi(t, function() n = n + 1 end) print(n)", 150)]
    [InlineData("local t, x = {}, 1 for i = 1, 100000 do x = x * 16807 % 2147483647 t[i] = x end table.sort(t) "
        + "for i = 2, #t do assert(t[i - 1] <= t[i]) end print(t[1], t[#t])", 200)]
    [InlineData(Text + "local a, b, n = s .. '1', s .. '2', 0 for i = 1, 100 do if a < b then n = n + 1 end end "
        + "print(n)",
        40)]
    [InlineData(Text + "local a, b, n = s .. '1', s .. '1', 0 for i = 1, 100 do if a == b then n = n + 1 end end "
        + "print(n)",
        40)]
    [InlineData(Text + "local t, n = {[s .. '1'] = 1}, 0 local b = s .. '1' for i = 1, 100 do n = n + t[b] end "
        + "print(n)",
        40)]
    [InlineData("local z, n = ('0'):rep(5000), ('9'):rep(5000) local function p(...) "
        + "print(#(...), tonumber('-' .. (...)), tonumber(...), "
        + "tonumber((...) .. 'e-4990'), tonumber((...) .. 'x'), tonumber(..., 16)) end "
        + "for _, s in ipairs{z, z .. '7', n, '1' .. z, z .. ('7'):rep(308), z .. ('7'):rep(309), z .. ('7'):rep(310), "
        + "z .. ('7'):rep(401), '0.' .. n, '0.' .. z, '0.' .. z .. '1e5001', '0.' .. ('0'):rep(999) .. n .. 'e1000', "
        + "'9007199254740993.' .. z, '9007199254740993.' .. z .. '1', '9007199254740993.' .. z .. '1' .. z, n .. '.5', "
        + "'.' .. n, z .. '.' .. z, '1.' .. z .. 'e', '1.' .. n .. 'e+3', '0x' .. n} do p(s) end", 1)]
    [InlineData("local s, n = (' '):rep(1e6), 0 for i = 1, 100 do n = n + (tonumber(s) or 1) end print(n)", 100)]
    [InlineData("local s, z, p = ('1'):rep(3e5), ('0'):rep(3e5), (' '):rep(3e5) for _, n in ipairs{s, z, '-' .. s, "
        + "p .. s .. p, p .. '-' .. z .. '12' .. p, p, p .. 'x', s .. 'x', z .. '1.5', z .. '1e2', s .. '\\0x', "
        + "'0x' .. z .. 'ff', '-0x' .. s, '0x' .. s .. 'g', '0x' .. z .. '.8p1', '\\0' .. s, '+' .. p .. '1', "
        + "p .. '-', z .. s:sub(1, 300), s .. '\\n', z .. '7\\0'} do "
        + "print(tonumber(n), tonumber(n, 16), tonumber(n, 7), tonumber(n, 2)) end", 60)]
    [InlineData("local s, z = ('1'):rep(2e6), ('0'):rep(2e6) for _, n in ipairs{'0.' .. s, s .. '.5', "
        + "s .. 'e-1999999', "
        + "z .. '12e5', '0.' .. z .. '12e2000001', '-.' .. s .. 'e' .. z .. '5', '1e' .. z, '2.' .. z .. '1', "
        + "'1.' .. z .. 'e', '1e' .. z .. '.', '.' .. s .. 'x', '1e-' .. s} do print(tonumber(n)) end", 310)]
    [InlineData("local s, z = ('1'):rep(2e6), ('0'):rep(2e6) for _, n in ipairs{'0x' .. s .. 'p-8000000', '0x.' .. z "
        + ".. '1fp8000004', '0x1p' .. z .. '7', '0x8.' .. s .. 'p-1075', '0x' .. z .. 'fg'} do print(tonumber(n)) end",
        140)]
    [InlineData("local t, s = {}, ('x'):rep(5000) for i = 1, 5000 do t[i] = i % 256 end local function f(...) "
        + "local n = 0 for i = 1, 50 do n = n + math.max(...) + #string.char(...) + select('#', select(2, ...)) "
        + "+ #{...} + select('#', s:byte(1, -1)) end return n end print(f(unpack(t)))", 300)]
    [InlineData("for i = 1, 300 do for _, n in ipairs{'0x1' .. ('0'):rep(i) .. '8000000000000p-1080', "
        + "'0x1fffffffffffff' .. ('8'):rep(i), '0x' .. ('f'):rep(i) .. 'p-4', '0x0.' .. ('0'):rep(i) .. 'fp7', "
        + "'0x10000000000000' .. ('0'):rep(i) .. '8' .. ('0'):rep(i) .. '1', '0x' .. i .. '.8p-' .. i * 4} do "
        + "print(string.format('%.17g', tonumber(n) or -1)) end end", 1)]
    [InlineData("local t = {} for i = 1, 200000 do t[i + 0.5] = i end local n = 0 for k, v in next, t do n = n + k - v "
        + "end print(n, t[1.5], t[200000.5], t[200001.5])", 350)]
    [InlineData("local t = {} for i = 60000, 1, -1 do t[i] = i t[-i] = i end for i = 60001, 90000 do t[i] = i end "
        + "print(#t) local n, c = 0, 0 for k, v in pairs(t) do n, c = n + k, c + 1 end print(n, c)", 200)]
    [InlineData("local t = {} for i = 1, 100000 do t[i] = {i} end print(collectgarbage(), #t, t[100000][1])", 180)]
    [InlineData("print(#loadstring('return {' .. ('{},'):rep(100000) .. '}')())", 50)]
    [InlineData("print(#loadstring('return {' .. ('function() end,'):rep(100000) .. '}')())", 50)]
    [InlineData("local z = ('0'):rep(5000) for base = 2, 36 do for n = 11, 65 do local s = ('1'):rep(n) "
        + "print(tonumber(s, base), tonumber(z .. s, base), tonumber('-' .. s, base), tonumber(s .. z, base), "
        + "tonumber(s .. 'z', base), tonumber(s .. 'A', base), tonumber(s .. '@', base), tonumber('0x' .. s, base)) "
        + "end print(tonumber(z, base), tonumber(z .. '-', base), tonumber(' -' .. z .. 'z ', base)) end", 1)]
    public void It_takes_many_turns_and_gives_the_same(string program, int turnsLeast)
    {
        var output = new StringBuilder();
        int turns = Turns(program, output);
        Assert.True(turns >= turnsLeast, $"{turns} turns");
        Assert.Equal(LuaRun.Output(program, NoEnd), output.ToString());
        if (!program.Contains("pcall", StringComparison.Ordinal))
            Assert.Equal(LuaOracle.Output(program), output.ToString());
    }

    // Of libraries that lua5.1 has not.
    [Theory]
    [InlineData(Text + "for i = 1, 5 do local j = cjson.encode(s) print(#j, j:sub(2, -2) == s) end", 80)]
    [InlineData(Text + "s = s:gsub('f', string.char(10, 0)):gsub('e', string.char(47, 34, 92)) "
        + "local j = cjson.encode({s, 'x', s}) for i = 1, 4 do local t = cjson.decode(j) "
        + "print(t[1] == s, t[3] == s) end print(#j, j:sub(1, 99))", 400)]
    [InlineData(Text + "local j = cjson.encode({[s] = 1, [s .. 'z'] = s, x = {s}}) local t = cjson.decode(j) "
        + "print(#j, t[s], t[s .. 'z'] == s, t.x[1] == s, next(t) == s)", 80)]
    [InlineData(Text + "local b, q = string.char(92), string.char(34) local t = q .. s for _, j in ipairs{t, t .. b, "
        + "t .. b .. 'u12', t .. b .. 'q' .. q, t .. string.char(0) .. q, t .. q .. ' 5', '{' .. t .. q .. '  ' .. q, "
        + "t .. b .. 'u0041' .. b .. 'ud83d' .. b .. 'ude00', '[' .. t .. q .. ',', b .. t} do "
        + "print(pcall(cjson.decode, j)) end print(cjson.decode(t .. b .. 'u0041' .. q):sub(-3))", 1)]
    [InlineData("local p = (' '):rep(5e6) print(cjson.decode(p .. '5' .. p), cjson.decode(p .. '[' .. p .. '{}]')[1], "
        + "pcall(cjson.decode, p), pcall(cjson.decode, '{' .. p))", 260)]
    [InlineData("local s, z = ('1'):rep(2e6), ('0'):rep(2e6) for _, n in ipairs{'0.' .. s, s .. '.5', "
        + "s .. 'e-1999999', "
        + "'12' .. z .. 'e-2000000', '-0.' .. s .. 'E+' .. z .. '5', '1e' .. z, '0x' .. s .. 'p-8000000', s .. 'e', "
        + "s .. 'e+', s .. '.', s .. '.5.5', s .. 'x', '0x' .. z .. 'g', '-' .. s .. 'e+x', '-' .. z, "
        + "'0x' .. z .. 'p'} "
        + "do print(pcall(cjson.decode, n)) print(pcall(cjson.decode, '[' .. n .. ' ,2]')) end", 600)]
    [InlineData("local a, b, c = {}, {}, {} for i = 1, 300000 do a[i] = 1 b[i] = 1 c[i + .5] = 1 end b.x = 1 "
        + "print(#cjson.encode(a), #cjson.encode(b), #cjson.encode(c), #cmsgpack.pack({a, b, c})) a[1e9] = 1 "
        + "for i = 1, 20 do print(pcall(cjson.encode, a)) end", 1)]
    [InlineData("local t, u = {}, {} for i = 1, 300000 do t[i + .5] = 1 end for i = 1, 300000 do t[i + .5] = nil end "
        + "for i = 1, 50 do u[i] = t end print(#cjson.encode(u), #cmsgpack.pack(u), #cjson.encode({x = t, y = t}))",
        2000)]
    [InlineData(Text + "s = s:rep(4) for i = 1, 20 do local p = cmsgpack.pack(s, {s, [s] = 1}) "
        + "local a, b = cmsgpack.unpack(p) print(#p, a == s, b[1] == s, b[s]) end", 1000)]
    [InlineData(Text + "s = s:rep(4) for i = 1, 20 do local p = struct.pack('>sc0i4', s, s, 7) "
        + "local a, b = struct.unpack('>sc7', p .. '0123456') print(#p, p:sub(-6):byte(1, 6), a == s, b) end", 500)]
    public void Json_and_the_like_take_many_turns_and_give_the_same(string program, int turnsLeast)
    {
        var output = new StringBuilder();
        int turns = Turns(program, output);
        Assert.True(turns >= turnsLeast, $"{turns} turns");
        Assert.Equal(LuaRun.Output(program, NoEnd), output.ToString());
    }

    // Patterns with all kinds of items, put aside after each few steps.
    [Fact]
    public void Random_patterns_find_the_same_however_often_they_are_put_aside()
    {
        var random = Seed.NewRandom();
        string[] items = ["a", "b", ".", "%a", "[ab]", "[^a]", "(a)", "(b*)", "()", "%1", "%bab", "%f[b]", "$", "(.-)"];
        string[] suffixes = ["", "", "", "*", "+", "-", "?"];
        for (int round = 0; round < 400; round++)
        {
            string pattern = string.Concat(Enumerable.Range(0, 1 + random.Next(6)).Select(_ =>
                items[random.Next(items.Length)] + suffixes[random.Next(suffixes.Length)]));
            string text = string.Concat(Enumerable.Range(0, random.Next(24)).Select(_ => "abab c"[random.Next(6)]));
            string program = $"local s, p = '{text}', '{pattern}' print(pcall(string.find, s, p)) "
                + "print(pcall(string.gsub, s, p, '<%0>')) print(pcall(string.match, s, p, 3)) "
                + "print(pcall(function() local t = {} for a, b in s:gmatch(p) do "
                + "t[#t + 1] = tostring(a) .. tostring(b) end return table.concat(t, ',') end))";
            string whole = LuaRun.Output(program, NoEnd);
            Assert.True(whole == LuaRun.Output(program, budget: 1), $"{text} {pattern}");
        }
    }

    // The same sum as for a string that is made at once: neither numbers nor pieces are charged twice.
    [Theory]
    [InlineData("a .. b", 3, 4, 7)]
    [InlineData("a .. 1 .. b", 3, 4, 8)]
    [InlineData("a .. 1 .. 2 .. 3 .. 4 .. b", 3, 4, 11)]
    [InlineData("a .. b", 300_000, 4, 300_004)]
    [InlineData("a .. b .. a", 300_000, 300_000, 900_000)]
    public void Joined_strings_are_charged_once(string expression, int first, int second, int length)
    {
        var machine = new LuaMachine();
        machine.Begin(LuaMachine.Compile(Encoding.ASCII.GetBytes(
            $"local a, b = ... local c, before = nil, collectgarbage('count') c = {expression} "
            + "return #c, (collectgarbage('count') - before) * 1024"), "@program"),
            machine.NewString(new byte[first]), machine.NewString(new byte[second]));
        Assert.Equal(LuaOutcome.Done, LuaRun.ToItsEnd(machine));
        Assert.Equal(length, machine.Results[0].AsNumber);
        Assert.Equal(length + LuaString.OverheadBytes, machine.Results[1].AsNumber);
    }

    private static int Turns(string program, StringBuilder output)
    {
        var machine = LuaRun.Machine(output);
        machine.Begin(LuaMachine.Compile(Encoding.Latin1.GetBytes(program), "@program"));
        int turns = 1;
        // Ends: each turn gets on.
        for (; machine.Run(Budget) == LuaOutcome.Suspended; turns++)
        {
        }

        Assert.True(machine.Error.IsNil, machine.Error.ToString());
        return turns;
    }
}

using System.Text;
using Kv.Lua;

namespace Kv.Tests.Lua;

/// <summary>What a host does with a machine: functions of its own that wait, scripts that are given up, limits of the
/// libraries.</summary>
public sealed class LuaHostTests
{
    private static readonly LuaRest Second = new(Answer), Again = new(WaitAgain);
    private static readonly LuaLimits Small = new() { MemoryBytes = 8 << 20 };

    [Theory]
    [InlineData("return ask(20)", "40")]
    [InlineData("local t = {} for i = 1, 3 do t[i] = ask(i) end return table.concat(t, ' ')", "2 4 6")]
    [InlineData("return select(2, pcall(ask, 'x'))", "bad argument #1 to '?' (number expected, got string)")]
    [InlineData("return setmetatable({}, {__index = function(t, k) return ask(k) end})[4]", "8")]
    [InlineData("return setmetatable({}, {__add = ask2}) + 5", "done 2")]
    [InlineData("return (string.gsub('1 2', '%d', ask))", "2 4")]
    [InlineData("local c = coroutine.wrap(function() coroutine.yield(ask(1)) return ask(2) end) return c() .. c()",
        "24")]
    [InlineData("local t = {3, 1, 2} table.sort(t, function(a, b) return ask(a) < ask(b) end) return table.concat(t)",
        "123")]
    [InlineData("for v in function(_, v) return (v or 0) < 3 and ask(0.5) + (v or 0) or nil end do x = v end return x",
        "3")]
    public void A_function_of_the_host_may_wait_wherever_it_is_called(string script, string expected)
    {
        var machine = new LuaMachine();
        machine.Globals[new LuaString("ask")] = new LuaBuiltin("ask", (ref LuaCall call) => call.Wait(Second));
        machine.Globals[new LuaString("ask2")] = new LuaBuiltin("ask2", (ref LuaCall call) => call.Wait(Again));
        foreach (long budget in (long[])[1, 1000])
        {
            int waits = 0;
            machine.Begin(Compiled(script));
            LuaOutcome outcome;
            // Ends: the scripts do.
            while ((outcome = machine.Run(budget)) is LuaOutcome.Suspended or LuaOutcome.Waiting)
                if (outcome == LuaOutcome.Waiting) waits++;
            Assert.Equal(LuaOutcome.Done, outcome);
            Assert.Equal(expected, machine.Results[0].ToString());
            Assert.True(waits > 0, "nobody waited");
        }
    }

    [Fact]
    public void A_script_that_is_given_up_while_it_waits_leaves_nothing_to_the_next()
    {
        var machine = new LuaMachine();
        machine.Globals[new LuaString("ask")] = new LuaBuiltin("ask", (ref LuaCall call) => call.Wait(Second));
        string big = "return cjson.decode('[' .. ('1,'):rep(10000) .. '1]')";
        foreach (string first in (string[])["return ask(1)", "return pcall(ask, 1)",
            "return pcall(pcall, pcall, pcall)", big])
        {
            machine.Begin(Compiled(first));
            Assert.NotEqual(LuaOutcome.Done, machine.Run(1));
            machine.Begin(Compiled("return cjson.encode({1, cjson.decode('[2]')})"));
            Assert.Equal(LuaOutcome.Done, LuaRun.ToItsEnd(machine));
            Assert.Equal("[1,[2]]", machine.Results[0].ToString());
        }
    }

    // The stack of a script is the next one's: of 1.5 KB a script one object is left.
    [Fact]
    public void A_script_on_a_machine_that_is_there_takes_little_memory()
    {
        const int scripts = 1000, bytesMax = 100;
        var machine = new LuaMachine();
        var chunk = Compiled("local a, b = 1, {} return a");
        long least = long.MaxValue;
        for (int round = 0; round < 3; round++)
        {
            long before = GC.GetAllocatedBytesForCurrentThread();
            for (int i = 0; i < scripts; i++)
            {
                machine.Begin(chunk);
                machine.Run(1000);
            }

            least = Math.Min(least, GC.GetAllocatedBytesForCurrentThread() - before);
        }

        Assert.Equal("1", machine.Results[0].ToString());
        Assert.InRange(least / scripts, 0, bytesMax + LuaTable.OverheadBytes);
    }

    [Theory]
    [InlineData("local function f(n) if n == 0 then error('deep') end f(n - 1) end f(20)", LuaOutcome.Failed)]
    [InlineData("coroutine.wrap(function() while true do end end)()", LuaOutcome.Suspended)]
    [InlineData("local t = setmetatable({}, {__index = function() while true do end end}) return t.x",
        LuaOutcome.Suspended)]
    [InlineData("local function f(...) return select('#', ...) end return f(unpack({}, 1, 200))", LuaOutcome.Done)]
    public void However_a_script_ends_the_next_finds_a_stack_as_new(string script, LuaOutcome outcome)
    {
        var machine = new LuaMachine();
        for (int round = 0; round < 3; round++)
        {
            machine.Begin(Compiled(script));
            Assert.Equal(outcome, machine.Run(5000));
            machine.Begin(Compiled("local a, b, c local function f(x, y, ...) return x, y, select('#', ...) end "
                + "return a, b, c, coroutine.running(), f(1)"));
            Assert.Equal(LuaOutcome.Done, machine.Run(5000));
            Assert.Equal("nil nil nil nil 1 nil 0", string.Join(' ', machine.Results.ToArray()));
        }
    }

    [Fact]
    public void A_script_that_waits_can_be_stopped_for_good()
    {
        var machine = new LuaMachine();
        machine.Globals[new LuaString("ask")] = new LuaBuiltin("ask", (ref LuaCall call) => call.Wait(Second));
        machine.Begin(Compiled("pcall(ask, 1) return 1"));
        Assert.Equal(LuaOutcome.Waiting, machine.Run(1000));
        machine.Stop("killed");
        Assert.Equal(LuaOutcome.Failed, machine.Run(1000));
        Assert.Contains("killed", machine.Error.ToString(), StringComparison.Ordinal);
    }

    [Fact]
    public void What_a_script_sets_in_cjson_is_not_there_for_the_next()
    {
        var machine = new LuaMachine();
        machine.ProtectGlobals();
        machine.Begin(
            Compiled("cjson.encode_invalid_numbers('null') cjson.encode_max_depth(1) return cjson.encode(1/0)"));
        Assert.Equal(LuaOutcome.Done, LuaRun.ToItsEnd(machine));
        Assert.Equal("null", machine.Results[0].ToString());
        machine.Begin(Compiled("return cjson.encode({{1}}) .. tostring(pcall(cjson.encode, 1/0))"));
        Assert.Equal(LuaOutcome.Done, LuaRun.ToItsEnd(machine));
        Assert.Equal("[[1]]false", machine.Results[0].ToString());
    }

    // Each would keep its worker for long if it could not be put aside.
    [Theory]
    [InlineData("local t = {} for i = 1, 20000 do t[i] = {i} end", "cjson.encode(t)")]
    [InlineData("local t = '[' .. ('[1],'):rep(20000) .. '1]'", "cjson.decode(t)")]
    [InlineData("local t = {} for i = 1, 20000 do t[i] = {i} end", "cmsgpack.pack(t)")]
    [InlineData("local t = '\\221\\0\\0\\78\\32' .. ('\\145\\1'):rep(20000)", "cmsgpack.unpack(t)")]
    [InlineData("local t = ('x'):rep(100000)", "struct.pack(t)")]
    [InlineData("local t = ('x'):rep(100000)", "struct.unpack(t, t)")]
    public void A_long_call_of_a_library_is_put_aside(string before, string call)
    {
        var machine = new LuaMachine();
        machine.Globals[new LuaString("here")] = new LuaBuiltin("here", (ref LuaCall made) => made.Wait(Second));
        machine.Begin(Compiled($"{before} here(1) local r = {call} here(1) return type(r)"));
        while (machine.Run(1000) != LuaOutcome.Waiting) Assert.True(machine.IsRunning);
        int suspended = 0;
        while (machine.Run(1000) == LuaOutcome.Suspended) suspended++;
        Assert.True(suspended >= 5, $"it was put aside {suspended} times");
        Assert.Equal(LuaOutcome.Done, LuaRun.ToItsEnd(machine));
    }

    [Theory]
    [InlineData("local s = ('\\1'):rep(4e6) return cjson.encode({s, s, s, s})")]
    [InlineData("return cjson.decode('[' .. ('[],'):rep(1e6) .. '1]')")]
    [InlineData("return cjson.decode('[' .. ('{\"a\":1},'):rep(5e5) .. '1]')")]
    [InlineData("cjson.decode_max_depth(1e9) return cjson.decode(('['):rep(1e6))")]
    [InlineData("local t = {} t[1] = t cjson.encode_max_depth(1e9) return cjson.encode(t)")]
    [InlineData("cjson.encode_sparse_array(false, 0) return cjson.encode({[1e9] = 1})")]
    [InlineData("return cmsgpack.unpack('\\221\\0\\255\\255\\255' .. ('\\144'):rep(1e6))")]
    [InlineData("local s = ('x'):rep(1e6) return cmsgpack.pack(s, s, s, s, s, s, s, s, s)")]
    [InlineData("local t = {} for i = 1, 15 do t = {t, t, t, t, t, t} end return cmsgpack.pack(t)")]
    [InlineData("local s = ('x'):rep(1e6) return struct.pack(('s'):rep(9), s, s, s, s, s, s, s, s, s)")]
    [InlineData("return struct.pack('!1073741824' .. ('bI32'):rep(1e6), unpack({}))")]
    public void A_library_that_wants_too_much_ends_in_an_error_and_gives_it_back(string program)
    {
        var machine = new LuaMachine(Small);
        machine.Begin(Compiled(program));
        Assert.Equal(LuaOutcome.Failed, LuaRun.ToItsEnd(machine));
        Assert.Matches("not enough memory|number expected", machine.Error.ToString());
        machine.Begin(Compiled("collectgarbage() return 1"));
        Assert.Equal(LuaOutcome.Done, LuaRun.ToItsEnd(machine));
        Assert.InRange(machine.MemoryBytes, 0, Small.MemoryBytes / 8);
    }

    [Fact]
    public void An_error_that_a_function_of_the_host_raises_in_a_metamethod_ends_its_caller_only()
    {
        var machine = new LuaMachine();
        machine.Begin(Compiled("""
            local t = setmetatable({}, {__concat = error, __index = error, __lt = error, __call = error})
            local out = {}
            local function note(...) out[#out + 1] = tostring(select('#', ...)) .. tostring((...)) end
            for i = 1, 3 do
                note(pcall(function() return 'a' .. t .. 'b' end))
                note(xpcall(function() return t .. 'b' end, function(m) return 'x' .. 'y' .. type(m) end))
                note(pcall(function() return t.x end))
                note(pcall(function() return t < setmetatable({}, getmetatable(t)) end))
                note(pcall(t, 1))
                note(xpcall(function() error('deep') end, error))
            end
            return table.concat(out, ' ')
            """));
        Assert.Equal(LuaOutcome.Done, LuaRun.ToItsEnd(machine, 3));
        string once = "2false 2false 2false 2false 2false 2false";
        Assert.Equal($"{once} {once} {once}", machine.Results[0].ToString());
    }

    private static LuaChunk Compiled(string script) =>
        LuaMachine.Compile(Encoding.Latin1.GetBytes(script), "@user_script");

    private static int Answer(ref LuaCall call) => call.Return(2 * call.NumberAt(0));

    private static int WaitAgain(ref LuaCall call) => call.Wait(Count);

    private static readonly LuaRest Count = new((ref LuaCall call) =>
        call.Return(new LuaString($"done {call.Count}")));
}

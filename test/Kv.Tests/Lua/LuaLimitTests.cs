using System.Text;
using Kv.Lua;
using Kv.Tests.Harness;

namespace Kv.Tests.Lua;

/// <summary>Scripts that want too much end in an error that says what, and the machine goes on.</summary>
public sealed class LuaLimitTests
{
    private static readonly string[] Words = [" end ", "(", "\"", "..", " nil ", "=", " function ", "{", "1e", "[[",
        ":", ",", " local ", "..."];

    private static readonly LuaLimits Small = new() { MemoryBytes = 8 << 20 };

    [Theory]
    [InlineData("local s = 'x' while true do s = s .. s end", "not enough memory")]
    [InlineData("local t = {} for i = 1, 1e9 do t[i] = i end", "not enough memory")]
    [InlineData("local t = {} for i = 1, 1e9 do t['k' .. i] = i end", "not enough memory")]
    [InlineData("local t = {} while true do t = {t} end", "not enough memory")]
    [InlineData("local f = function() end while true do local g = f f = function() return g end end",
        "not enough memory")]
    [InlineData("return string.rep('x', 2^31 - 1)", "not enough memory")]
    [InlineData("return ('x'):rep(1e6):gsub('x', ('y'):rep(1e6))", "not enough memory")]
    [InlineData("local t = {} for i = 1, 1e5 do t[i] = ('x'):rep(100) end return table.concat(t, ('y'):rep(1000))",
        "not enough memory")]
    [InlineData("local t = {} while true do t[#t + 1] = coroutine.create(function() end) end", "not enough memory")]
    [InlineData("local t = {} while true do t[#t + 1] = loadstring('return \"' .. ('x'):rep(1e5) .. #t .. '\"') end",
        "not enough memory")]
    [InlineData("local t = {} while true do local f = loadstring('return function() return \"' .. ('x'):rep(1e5) .. #t "
        + ".. '\" end') t[#t + 1] = f() end", "not enough memory")]
    [InlineData("error((select(2, load(function() return ('x'):rep(64) end))))", "not enough memory")]
    [InlineData("return unpack({1}, -2, 2147483647)", "program:1: too many results to unpack")]
    [InlineData("return ('x'):rep(1e5):byte(1, -1)", "program:1: stack overflow (string slice too long)")]
    [InlineData("local function f() return 1 + f() end f()", "program:1: stack overflow")]
    [InlineData("local t = setmetatable({}, {}) getmetatable(t).__index = function(t, k) return t[k] end return t.x",
        "program:1: stack overflow")]
    [InlineData("local t = setmetatable({}, {}) getmetatable(t).__index = t return t.x", "program:1: loop in gettable")]
    [InlineData("local f = string.len for i = 1, 1000 do f = coroutine.wrap(function(...) return f(...) end) end",
        null)]
    [InlineData(
        "local function deep(n) if n == 0 then return 1 end return coroutine.wrap(deep)(n - 1) end return deep(1000)",
        "C stack overflow")]
    [InlineData("return (('a'):rep(40) .. 'b'):find(('a-'):rep(30) .. 'c')",
        "program:1: pattern matching takes too long")]
    [InlineData("return ('a'):rep(40):find(('(a)'):rep(33))", "program:1: too many captures")]
    [InlineData("return ('a'):rep(400):find(('a?'):rep(300))", "program:1: pattern too complex")]
    public void It_ends_in_an_error_that_names_the_limit(string program, string? error)
    {
        string output = LuaRun.Output(program, limits: Small);
        if (error is null) Assert.Equal("", output);
        else Assert.Contains(error, output, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData('(', ')')]
    [InlineData('{', '}')]
    public void Nesting_without_end_is_refused(char open, char close) =>
        Assert.Contains("chunk has too many syntax levels",
            LuaRun.Output("return " + new string(open, 100_000) + "1" + new string(close, 100_000)),
                StringComparison.Ordinal);

    [Theory]
    [InlineData("return 1", "+1")]
    [InlineData("return a", ".a")]
    [InlineData("return f", "()")]
    [InlineData("return true", " and true")]
    [InlineData("return ''", "..''")]
    public void Chains_without_end_are_refused_or_done_but_end_nothing(string begin, string link) =>
        Assert.DoesNotContain("Exception", LuaRun.Output(begin + string.Concat(Enumerable.Repeat(link, 200_000))),
            StringComparison.Ordinal);

    [Fact]
    public void Memory_that_a_script_has_let_go_of_is_free_for_the_next()
    {
        var machine = LuaRun.Machine(new StringBuilder(), Small);
        var hungry = LuaMachine.Compile("local t = {} for i = 1, 1e9 do t[i] = {} end"u8, "@hungry");
        var modest = LuaMachine.Compile("local t = {} for i = 1, 1000 do t[i] = {} end return #t"u8, "@modest");
        for (int i = 0; i < 5; i++)
        {
            machine.Begin(hungry);
            Assert.Equal(LuaOutcome.Failed, LuaRun.ToItsEnd(machine));
            machine.Begin(modest);
            Assert.Equal(LuaOutcome.Done, LuaRun.ToItsEnd(machine));
            Assert.Equal(1000, machine.Results[0].AsNumber);
        }
    }

    [Fact]
    public void Garbage_does_not_count()
    {
        string output = LuaRun.Output("for i = 1, 1e6 do local t = {i, i, i} local s = 'x' .. i end print('done')",
            limits: Small);
        Assert.Equal("done\n", output);
    }

    [Theory]
    [InlineData("while true do end")]
    [InlineData("while true do pcall(function() while true do end end) end")]
    [InlineData("for i = 1, math.huge do pcall(error) end")]
    [InlineData("repeat local t = setmetatable({}, {__index = function() return 1 end}) until t.x == 2")]
    [InlineData("local function f() return f() end f()")]
    [InlineData(
        "string.gsub(('x'):rep(1e6), '.', function() return string.gsub(('x'):rep(1e6), '.', string.upper) end)")]
    [InlineData("table.sort({3, 2, 1}, function() while true do end end)")]
    public void A_script_that_never_ends_is_put_aside_and_stopped_for_good(string program)
    {
        var machine = LuaRun.Machine(new StringBuilder());
        machine.Begin(LuaMachine.Compile(Encoding.Latin1.GetBytes(program), "@program"));
        for (int i = 0; i < 10; i++) Assert.Equal(LuaOutcome.Suspended, machine.Run(1000));
        machine.Stop("Script killed by user with SCRIPT KILL.");
        Assert.Equal(LuaOutcome.Failed, machine.Run(1000));
        Assert.EndsWith("Script killed by user with SCRIPT KILL.", machine.Error.ToString(), StringComparison.Ordinal);
        Assert.False(machine.IsRunning);
    }

    [Fact]
    public void Precompiled_chunks_are_neither_made_nor_taken()
    {
        Assert.Equal("false\tprogram:1: unable to dump given function\n",
            LuaRun.Output("print(pcall(function() string.dump(print) end))"));
        Assert.StartsWith("nil\t", LuaRun.Output("print(loadstring('\\27Lua'))"), StringComparison.Ordinal);
    }

    [Fact]
    public void A_readonly_table_is_left_as_it_is_by_every_way_of_writing()
    {
        var output = new StringBuilder();
        var machine = LuaRun.Machine(output);
        machine.Globals[new LuaString("fixed")] = machine.NewTable();
        machine.Globals[new LuaString("fixed")].AsTable![1] = 7;
        machine.Globals[new LuaString("fixed")].AsTable![2] = 6;
        machine.Globals[new LuaString("fixed")].AsTable!.IsReadOnly = true;
        machine.Begin(LuaMachine.Compile("""
            local writes = {
                function() fixed.x = 1 end, function() fixed[1] = 1 end, function() local k = 2 fixed[k] = 1 end,
                    function() rawset(fixed, 'x', 1) end,
                function() table.insert(fixed, 1) end, function() table.remove(fixed) end,
                    function() table.sort(fixed) end, function() setmetatable(fixed, {}) end,
            }
            for _, write in ipairs(writes) do print((select(2, pcall(write)):gsub('^program:%d+: ', ''))) end
            print(fixed[1], next(fixed, 2), getmetatable(fixed))
            """u8, "@program"));
        Assert.Equal(LuaOutcome.Done, LuaRun.ToItsEnd(machine));
        Assert.Equal(string.Concat(Enumerable.Repeat("Attempt to modify a readonly table\n", 8)) + "7\tnil\tnil\n",
            output.ToString());
    }

    // What a damaged text does: an error of the compiler or of the run, never another exception.
    [Fact]
    public void Damaged_programs_end_in_errors_of_Lua()
    {
        var random = Seed.NewRandom();
        string[] sources = [.. LuaProgramTests.Programs().Select(row => File.ReadAllText(
            Path.Combine(AppContext.BaseDirectory, "Lua", "Programs", row.Data + ".lua"), Encoding.Latin1))];
        for (int i = 0; i < 2000; i++)
        {
            var text = new StringBuilder(sources[random.Next(sources.Length)]);
            int from = random.Next(text.Length);
            text.Remove(0, from);
            for (int damage = random.Next(1, 6); damage > 0 && text.Length > 8; damage--)
            {
                int at = random.Next(text.Length - 4);
                if (random.Next(2) == 0) text.Remove(at, random.Next(1, 4));
                else text.Insert(at, Words[random.Next(Words.Length)]);
            }

            var machine = LuaRun.Machine(new StringBuilder(), Small);
            try
            {
                machine.Begin(LuaMachine.Compile(Encoding.Latin1.GetBytes(text.ToString()), "@program"));
                for (int turns = 0; turns < 20 && machine.Run(1000) == LuaOutcome.Suspended; turns++)
                {
                }
            }
            catch (LuaException)
            {
                // What most of them are.
            }
            catch (Exception error)
            {
                Assert.Fail($"{error}\n{Seed.Hint}, program {i}:\n{text}");
            }
        }
    }
}

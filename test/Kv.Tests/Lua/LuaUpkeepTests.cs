using System.Text;
using Kv.Lua;
using Kv.Tests.Harness;

namespace Kv.Tests.Lua;

/// <summary>What a machine does between two turns of a script may end with the script, anywhere.</summary>
public sealed class LuaUpkeepTests
{
    private const string Grow = "t = {} for i = 1, 60000 do local k = #last + i if i % 3 == 0 then k = -k "
        + "elseif i % 3 == 1 then k = k .. 'x' end t[k] = i last.key = k if i % 5 == 0 then t[k] = nil end end";

    private const string Check = "local n = 0 for k, v in next, t do n = n + 1 assert(t[k] == v and v % 5 ~= 0) end "
        + "for i = 1, 60000 do local k = #last + i if i % 3 == 0 then k = -k elseif i % 3 == 1 then k = k .. 'x' end "
        + "if t[k] ~= nil then assert(t[k] == i) n = n - 1 end end assert(n == 0) t.more = 1 assert(t.more == 1)";

    // Globals are not protected, so the next script finds the table.
    [Fact]
    public void A_table_is_whole_when_its_script_is_stopped_while_its_keys_are_divided_anew()
    {
        var random = Seed.NewRandom();
        for (int round = 0; round < 60; round++)
        {
            var machine = new LuaMachine();
            Run(machine, "last = {}", 1000);
            machine.Begin(LuaMachine.Compile(Encoding.ASCII.GetBytes(Grow), "@grow"));
            int turns = 0, due = 0, stopAt = random.Next(1, 250);
            // Ends: with the script, or in one of the turns in which keys are divided.
            while (due < stopAt && machine.Run(100) == LuaOutcome.Suspended)
            {
                turns++;
                if (machine.Upkeep.IsDue) due++;
            }

            Assert.True(turns > due, Seed.Hint);
            machine.Stop("stopped");
            machine.Run(100);
            Run(machine, Check, random.Next(1, 2000));
        }
    }

    [Fact]
    public void A_script_that_catches_its_lack_of_memory_goes_on()
    {
        var machine = new LuaMachine(new LuaLimits { MemoryBytes = 4 << 20 });
        Run(machine, "for i = 1, 20 do local ok, message = pcall(function() local t = {} while true do t = {t} end "
            + "end) assert(not ok and message:find('not enough memory')) end "
            + "for i = 1, 20 do local t, n = {}, 0 local ok, message = pcall(function() while true do n = n + 1 "
            + "t[n + 0.5] = n end end) assert(not ok and message:find('not enough memory') and n > 10000) "
            + "assert(t[n - 0.5] == n - 1) end", 500);
        Assert.True(machine.MemoryBytes < 6 << 20);
    }

    // The array part has grown, and there is no memory for one of the values that are to move there.
    [Fact]
    public void A_table_for_which_there_is_no_memory_loses_no_key()
    {
        var machine = new LuaMachine(new LuaLimits { MemoryBytes = 4 << 20 });
        Run(machine, "for k = 1, 45 do local f, t, n = nil, {}, 0 "
            + "local ok = pcall(function() f = ('x'):rep(k * 50000) for i = 60000, 1, -1 do t[i] = i n = n + 1 end "
            + "end) if not ok then for i = 60001 - n, 60000 do assert(t[i] == i) end end end", 500);
    }

    // They lie above all that its frames know of, and the measuring makes what is there nil.
    [Fact]
    public void Results_of_a_function_that_is_put_aside_are_kept()
    {
        var machine = new LuaMachine(new LuaLimits { MemoryBytes = 4 << 20 });
        Run(machine, "local t = {} for i = 1, 500 do t[i] = 'v' .. i end for i = 1, 200 do "
            + "local s = ('x'):rep(100000) .. i "
            + "local r = {select(2, pcall(unpack, t))} assert(#r == 500 and r[500] == 'v500' and r[1] == 'v1') end", 1);
    }

    private static void Run(LuaMachine machine, string program, long budget)
    {
        machine.Begin(LuaMachine.Compile(Encoding.ASCII.GetBytes(program), "@program"));
        Assert.True(LuaRun.ToItsEnd(machine, budget) == LuaOutcome.Done, $"{machine.Error} {Seed.Hint}");
    }
}

using System.Text;
using Kv.Lua;

namespace Kv.Tests.Lua;

/// <summary>Runs a program on Kv's machine, and says all that it printed and how it ended.</summary>
internal static class LuaRun
{
    private const long TurnsMax = 200_000_000;

    /// <summary>What a program prints; an error is its last line.</summary>
    /// <param name="budget">Turns until it is put aside, each time.</param>
    public static string Output(string program, long budget = 100_000, LuaLimits? limits = null)
    {
        var output = new StringBuilder();
        var machine = Machine(output, limits);
        try
        {
            machine.Begin(LuaMachine.Compile(Encoding.Latin1.GetBytes(program), "@program"));
        }
        catch (LuaException error)
        {
            return output.Append("error: ").Append(error.Value).Append('\n').ToString();
        }

        if (ToItsEnd(machine, budget) == LuaOutcome.Failed)
            output.Append("error: ").Append(Shown(machine.Error)).Append('\n');
        return output.ToString();
    }

    /// <summary>Runs a script that has begun to its end; one that goes on for ever fails the test.</summary>
    public static LuaOutcome ToItsEnd(LuaMachine machine, long budget = 100_000)
    {
        for (long turns = 0; turns < TurnsMax; turns += Math.Max(1, budget))
        {
            LuaOutcome outcome = machine.Run(budget);
            if (outcome != LuaOutcome.Suspended) return outcome;
        }

        Assert.Fail("the program does not end");
        return LuaOutcome.Failed;
    }

    public static LuaMachine Machine(StringBuilder output, LuaLimits? limits = null)
    {
        var machine = new LuaMachine(limits);
        machine.Globals[new LuaString("print")] = new LuaBuiltin("print", (ref LuaCall call) =>
        {
            for (int i = 0; i < call.Count; i++) output.Append(i == 0 ? "" : "\t").Append(Shown(call[i]));
            output.Append('\n');
            return call.Return();
        });
        return machine;
    }

    // Addresses are nobody's business: of what has one, the type.
    private static string Shown(LuaValue value) =>
        value.Type is LuaType.Table or LuaType.Function or LuaType.Thread ? value.TypeName : value.ToString();
}

using System.Globalization;
using System.Text.RegularExpressions;
using Kv.Tests.Harness;
using Kv.Tests.Lua.Fuzz;

namespace Kv.Tests.Lua;

/// <summary>Random programs print on Kv's machine what they print on Lua 5.1, errors included.</summary>
/// <remarks>KV_FUZZ_PROGRAMS=1000000 runs a million of them; a failure prints the seed and the program.</remarks>
public sealed partial class LuaFuzzTests
{
    private const int ProgramsInOne = 500, DamagedEvery = 5, FailuresShown = 5;

    [Fact]
    public void Random_programs_print_what_Lua_prints()
    {
        string lua = Requires.Tool("lua5.1");
        int batches = Programs / ProgramsInOne, limited = 0;
        var failures = new List<string>();
        for (int batch = 0; batch < batches && failures.Count < FailuresShown; batch++)
        {
            Random random = Seed.NewRandom(batch);
            var grammar = new ProgramGrammar(random);
            string[] programs = [.. Enumerable.Range(0, ProgramsInOne).Select(i =>
                i % DamagedEvery == 0 ? grammar.NextDamaged() : grammar.Next(random.Next(1, 14)))];
            List<string> theirs = LuaBatch.OnLua(lua, programs);
            for (int i = 0; i < programs.Length; i++)
            {
                if (AddressDigits().IsMatch(programs[i])) continue;
                string ours = LuaBatch.OnKv(programs[i], budget: i % 3 == 0 ? 1 : 1000);
                if (!LuaBatch.AreAlike(theirs[i], ours)) failures.Add($"{programs[i]}\nLua:\n{theirs[i]}\nKv:\n{ours}");
                else if (theirs[i] != ours) limited++;
            }
        }

        Assert.True(failures.Count == 0, $"{Seed.Hint}\n{string.Join("\n----\n", failures)}");
        // Programs that ran into a limit of either say nothing: they may not be many.
        Assert.InRange(limited, 0, batches * ProgramsInOne / 20);
    }

    // Of a table's address: each process has its own, and some are numbers.
    [GeneratedRegex(@"(sub|byte|match)\(tostring\(")]
    private static partial Regex AddressDigits();

    private static int Programs =>
        int.TryParse(Environment.GetEnvironmentVariable("KV_FUZZ_PROGRAMS"), CultureInfo.InvariantCulture,
            out int count)
            ? count : 3000;
}

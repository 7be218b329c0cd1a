using System.Text;
using Kv.Lua;

namespace Kv.Tests.Lua;

/// <summary>A text for load or loadstring that takes long to compile is compiled by another thread, where the host has
/// some; the script is put aside meanwhile.</summary>
public sealed class LuaElsewhereTests
{
    // Each is of 20 KB; the shortest text that is compiled elsewhere has 16,384 bytes.
    private const string Statements = "('x = 1 '):rep(3400)";

    [Theory]
    [InlineData("print(loadstring(" + Statements + " .. 'return x')())")]
    [InlineData("print(loadstring(" + Statements + " .. 'end'))")]
    [InlineData("print(loadstring(" + Statements + " .. 'end', '=named'))")]
    [InlineData("print(#tostring(loadstring(" + Statements + ", '@' .. ('n'):rep(1000) .. ' end')))")]
    [InlineData("print(select(2, loadstring(" + Statements + " .. ' end', ('n'):rep(1000))))")]
    [InlineData("print(pcall(loadstring, " + Statements + " .. 'end'))")]
    [InlineData("local n = 0 print(load(function() n = n + 1 return n < 4 and " + Statements + " or nil end)()) "
        + "print(x)")]
    [InlineData("local c = coroutine.wrap(function() coroutine.yield(loadstring(" + Statements + " .. 'return 7')()) "
        + "end) print(c())")]
    [InlineData("print(loadstring('return #[[' .. ('y'):rep(30000) .. ']]')())")]
    [InlineData("print(loadstring('--[[' .. ('y\\n'):rep(20000) .. ']] x')) "
        + "print(loadstring(('-- y\\r\\n'):rep(9000)))")]
    public void The_script_finds_what_it_finds_when_it_is_compiled_at_once(string program)
    {
        var output = new StringBuilder();
        var machine = LuaRun.Machine(output);
        Queue<Action> elsewhere = [];
        machine.Elsewhere = (bytes, work) =>
        {
            Assert.True(bytes >= 16384);
            elsewhere.Enqueue(work);
        };
        machine.Begin(LuaMachine.Compile(Encoding.Latin1.GetBytes(program), "@program"));
        int texts = 0;
        // Ends: each text is compiled when the script has been put aside for it, however often it is asked meanwhile.
        while (machine.Run(100_000) == LuaOutcome.Suspended)
        {
            if (elsewhere.Count == 0) continue;
            for (int i = 0; i < 3; i++) Assert.Equal(LuaOutcome.Suspended, machine.Run(100_000));
            elsewhere.Dequeue()();
            texts++;
        }

        Assert.InRange(texts, 1, 2);
        Assert.Empty(elsewhere);
        Assert.Equal(LuaRun.Output(program), output.ToString());
        Assert.Equal(LuaOracle.Output(program), output.ToString());
    }

    [Theory]
    [InlineData(16383, 0)]
    [InlineData(16384, 1)]
    public void Short_texts_are_compiled_at_once(int bytes, int expected)
    {
        var machine = new LuaMachine();
        int texts = 0;
        machine.Elsewhere = (_, work) =>
        {
            texts++;
            work();
        };
        machine.Begin(LuaMachine.Compile("return loadstring(...)()"u8, "@program"),
            new LuaString(Encoding.ASCII.GetBytes("return 5" + new string(' ', bytes - 8))));
        Assert.Equal(LuaOutcome.Done, LuaRun.ToItsEnd(machine));
        Assert.Equal(5, machine.Results[0].AsNumber);
        Assert.Equal(expected, texts);
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public void Nobody_compiles_on_for_a_script_that_has_ended(bool isStopped)
    {
        var machine = new LuaMachine();
        Action? elsewhere = null;
        machine.Elsewhere = (_, work) => elsewhere = work;
        var loads = LuaMachine.Compile("return pcall(loadstring, (...))"u8, "@program");
        machine.Begin(loads, new LuaString(Encoding.ASCII.GetBytes(new string('-', 20_000))));
        Assert.Equal(LuaOutcome.Suspended, machine.Run(1000));
        Assert.NotNull(elsewhere);
        if (isStopped)
        {
            machine.Stop("enough");
            Assert.Equal(LuaOutcome.Failed, machine.Run(1000));
            Assert.Contains("enough", machine.Error.ToString(), StringComparison.Ordinal);
        }
        else
        {
            machine.Begin(LuaMachine.Compile("return 1"u8, "@next"));
            Assert.Equal(LuaOutcome.Done, machine.Run(1000));
        }

        elsewhere();
        // The next script is not told what came of it.
        machine.Elsewhere = null;
        machine.Begin(loads, new LuaString("return 3"));
        Assert.Equal(LuaOutcome.Done, machine.Run(1000));
        Assert.True(machine.Results[1].AsFunction != null);
    }

    [Fact]
    public void A_text_is_read_no_further_when_nobody_wants_it()
    {
        using var cancel = new CancellationTokenSource();
        byte[] text = Encoding.ASCII.GetBytes(string.Concat(Enumerable.Repeat("x = 1 ", 1000)));
        LuaText.Read(text, "@text", cancel.Token);
        cancel.Cancel();
        Assert.Throws<OperationCanceledException>(() => LuaText.Read(text, "@text", cancel.Token));
    }

    [Fact]
    public void A_text_whose_tree_takes_too_much_is_refused()
    {
        byte[] text = Encoding.ASCII.GetBytes(string.Concat(Enumerable.Repeat("x = 1 ", 20_000)));
        LuaText.Read(text, "@text", 100_000_000, CancellationToken.None);
        var error = Assert.Throws<LuaException>(() => LuaText.Read(text, "@text", 1_000_000, CancellationToken.None));
        Assert.Equal("not enough memory", error.Message);
    }

    // The lengths around which a name is cut.
    [Theory]
    [InlineData("=", 77)]
    [InlineData("=", 83)]
    [InlineData("@", 69)]
    [InlineData("@", 75)]
    [InlineData("", 60)]
    [InlineData("", 66)]
    public void Errors_name_a_chunk_as_the_reference_does(string sign, int length)
    {
        for (int i = length; i < length + 6; i++)
        {
            string program = $"local n = '{sign}' .. ('abcdefghij'):rep(9):sub(1, {i}) print(loadstring('end', n)) "
                + "print(loadstring('end', n .. '\\nx')) print(loadstring('end', n:sub(1, 30) .. '\\rx')) "
                + "print(loadstring('end', n:sub(1, 30) .. '\\0x'))";
            Assert.Equal(LuaOracle.Output(program), LuaRun.Output(program));
        }
    }
}

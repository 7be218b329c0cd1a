namespace Kv.Tests.Lua;

/// <summary>The programs of the folder, a file a chapter, print on Kv's machine what they print on Lua 5.1, however
/// often they are put aside.</summary>
public sealed class LuaProgramTests
{
    public static TheoryData<string> Programs() =>
        [.. Directory.GetFiles(Path.Combine(AppContext.BaseDirectory, "Lua", "Programs"), "*.lua").Select(path =>
            Path.GetFileNameWithoutExtension(path)).Order()];

    [Theory, MemberData(nameof(Programs))]
    public void It_prints_what_Lua_prints(string name)
    {
        string program = Read(name);
        Assert.Equal(LuaOracle.Output(program), LuaRun.Output(program));
    }

    [Theory, MemberData(nameof(Programs))]
    public void It_prints_the_same_when_it_is_put_aside_at_every_turn(string name)
    {
        string program = Read(name), whole = LuaRun.Output(program, budget: long.MaxValue / 2);
        foreach (long budget in (long[])[1, 2, 7]) Assert.Equal(whole, LuaRun.Output(program, budget));
    }

    private static string Read(string name) =>
        File.ReadAllText(Path.Combine(AppContext.BaseDirectory, "Lua", "Programs", name + ".lua"),
            System.Text.Encoding.Latin1);
}

using System.Security.Cryptography;
using Kv.Lua;
using Kv.Server.Scripting;

namespace Kv.Tests.Scripting;

/// <summary>redis.sha1hex of a long text is put aside in the middle of it.</summary>
public sealed class ShaInPiecesTests
{
    [Theory]
    [InlineData(ShaInPieces.PieceBytes + 1)]
    [InlineData(5_000_000)]
    public void It_takes_many_turns_and_gives_the_same(int length)
    {
        var sha = new ShaInPieces();
        var machine = new LuaMachine();
        machine.Globals[new LuaString("sha")] = new LuaBuiltin("sha", (ref call) =>
            sha.Begin(ref call, call[0].AsString!));
        byte[] text = new byte[length];
        new Random(length).NextBytes(text);
        // The first is given up in the middle.
        for (int round = 0; round < 2; round++)
        {
            machine.Begin(LuaMachine.Compile("return sha((...))"u8, "@program"), machine.NewString(text));
            Assert.Equal(LuaOutcome.Suspended, machine.Run(100));
        }

        int turns = 1;
        // Ends: each turn takes a piece.
        while (machine.Run(100) == LuaOutcome.Suspended) turns++;
        Assert.True(turns >= length / ShaInPieces.PieceBytes, $"{turns} turns");
        Assert.Equal(Convert.ToHexStringLower(SHA1.HashData(text)), machine.Results[0].ToString());
    }
}

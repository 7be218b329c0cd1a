using Kv.Tests.Harness;

namespace Kv.Tests.Differential;

/// <summary>A command that a script calls: EVAL, the script, 0, and the command.</summary>
internal static class ScriptCall
{
    private static readonly string[] Scripts =
    [
        "return redis.pcall(unpack(ARGV))",
        // A map has no order.
        "redis.setresp(3) local r = redis.pcall(unpack(ARGV)) return type(r) == 'table' and r.map and 'map' or r",
        "return {redis.pcall(unpack(ARGV))}",
    ];

    /// <summary>The call, or the command itself: where it is about the connection, and where it waits, which 7.0
    /// refuses in scripts.</summary>
    public static byte[][] Of(byte[][] command, Random random)
    {
        bool isPlain = Reply.Latin(command[0]).ToUpperInvariant() switch
        {
            "MULTI" or "EXEC" or "DISCARD" or "WATCH" or "UNWATCH" or "SELECT" or "RESET" or "CLIENT" => true,
            "XREAD" or "XREADGROUP" => command.Any(word => Reply.Latin(word).ToUpperInvariant() == "BLOCK"),
            ['B', 'L' or 'R' or 'Z', ..] => true,
            _ => false,
        };
        if (isPlain) return command;
        string script = Scripts[random.Next(4) % Scripts.Length];
        return [RespText.Bytes("EVAL"), RespText.Bytes(script), RespText.Bytes("0"), .. command];
    }

    /// <summary>What is called; null: the command is no such call.</summary>
    public static byte[][]? CalledBy(byte[][] command) =>
        command.Length > 3 && command[0].AsSpan().SequenceEqual("EVAL"u8) ? command[3..] : null;

    /// <summary>A reply without the table that a script may have put around it.</summary>
    public static Reply Bare(byte[][] command, Reply reply) =>
        command[1].AsSpan().StartsWith("return {"u8) && reply.Items is [var only] ? only : reply;
}

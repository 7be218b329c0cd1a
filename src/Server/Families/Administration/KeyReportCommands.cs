using Kv.Server.Diagnostics;
using Kv.Server.Execution;
using Kv.Server.Reports;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>KV.HOTKEYS and KV.BIGKEYS: which keys are used most, and which are largest.</summary>
/// <remarks>Commands of our own, so named that they are no other server's: Redis 8.6 has a HOTKEYS that is another
/// thing.</remarks>
internal static class KeyReportCommands
{
    private const CommandFlags Flags =
        CommandFlags.Admin | CommandFlags.NoScript | CommandFlags.Loading | CommandFlags.Stale;

    private static readonly string[] Tips =
        ["nondeterministic_output", "request_policy:all_shards", "response_policy:special"];

    internal static readonly Command[] Table =
    [
        new("KV.BIGKEYS", arity: -1, WriteBigKeys)
        {
            Usage = "[COUNT count] [TYPE type] [BYTES | ELEMENTS]",
            Summary = "Returns the largest keys, of one type or of all, by memory or by elements.",
            Complexity = "O(1): of each type at most 16 are known", Since = "7.4.0", Group = CommandGroup.Server,
            Flags = Flags, Tips = Tips,
        },
        new("KV.HOTKEYS", arity: -1, WriteHotKeys)
        {
            Usage = "[COUNT count] [READS | WRITES]",
            Summary = "Returns the keys that were used most in about the last minute, by estimated uses a second.",
            Complexity = "O(N), N the workers", Since = "7.4.0", Group = CommandGroup.Server, Flags = Flags,
            Tips = Tips,
        },
    ];

    private static void WriteBigKeys(ref CommandContext context)
    {
        ref var args = ref context.Args;
        int count = BigKeys.ShownMax;
        var type = DataType.Any;
        bool byElements = false;
        // Ends: each round reads an argument, or fails.
        while (args.Remaining > 0)
        {
            if (args.TryKeyword("COUNT"u8)) count = NextCount(ref context);
            else if (args.TryKeyword("BYTES"u8)) byElements = false;
            else if (args.TryKeyword("ELEMENTS"u8)) byElements = true;
            else if (!args.TryKeyword("TYPE"u8)) args.SyntaxError();
            else if ((type = DataTypeName.Find(args.NextBytes())) == DataType.Any) args.Fail("ERR unknown type name"u8);
        }

        if (!args.Finish(context.Reply)) return;
        var keys = BigKeyRanking.First(context.Server.Store.BigKeys.Measure(context.Store),
            context.Session.Restriction, type, byElements, count);
        var reply = context.Reply;
        reply.WriteArray(keys.Count);
        foreach (var key in keys)
        {
            reply.WriteMap(5);
            reply.WriteBulk("key");
            reply.WriteBulk(key.Name);
            reply.WriteBulk("database");
            reply.WriteInteger(key.Database);
            reply.WriteBulk("type");
            reply.WriteBulk(DataTypeName.Of(key.Size.Type));
            reply.WriteBulk("bytes");
            reply.WriteInteger(key.Size.Bytes);
            reply.WriteBulk("elements");
            reply.WriteInteger(key.Size.Elements);
        }
    }

    private static void WriteHotKeys(ref CommandContext context)
    {
        ref var args = ref context.Args;
        int count = HotKeyRanking.CountByDefault;
        var order = HotKeyOrder.Uses;
        // Ends: each round reads an argument, or fails.
        while (args.Remaining > 0)
        {
            if (args.TryKeyword("COUNT"u8)) count = NextCount(ref context);
            else if (args.TryKeyword("READS"u8)) order = HotKeyOrder.Reads;
            else if (args.TryKeyword("WRITES"u8)) order = HotKeyOrder.Writes;
            else args.SyntaxError();
        }

        if (!args.Finish(context.Reply)) return;
        var reading = context.Server.HotKeys.Read();
        var keys = HotKeyRanking.First(reading, context.Session.Restriction, order,
            Math.Min(count, HotKeys.ShownMax));
        var reply = context.Reply;
        reply.WriteArray(keys.Count);
        foreach (var key in keys)
        {
            reply.WriteMap(6);
            reply.WriteBulk("key");
            reply.WriteBulk(key.Name);
            reply.WriteBulk("key-length");
            reply.WriteInteger(key.NameBytes);
            reply.WriteBulk("database");
            reply.WriteInteger(key.Database);
            reply.WriteBulk("reads-per-second");
            reply.WriteDouble(Math.Round(key.ReadsPerSecond, 3));
            reply.WriteBulk("writes-per-second");
            reply.WriteDouble(Math.Round(key.WritesPerSecond, 3));
            reply.WriteBulk("percent");
            reply.WriteDouble(Math.Round(100 * reading.ShareOf(HotKeyRanking.WorthOf(key, HotKeyOrder.Uses)), 3));
        }
    }

    private static int NextCount(ref CommandContext context) => (int)context.Args.NextInt64(
        1, int.MaxValue, "ERR value is out of range, must be positive"u8);
}

using Kv.Protocol;
using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>Finding keys: SCAN, KEYS, RANDOMKEY.</summary>
internal static class ScanCommands
{
    private const long DefaultCount = 10;

    internal static readonly Command[] Table =
    [
        new("SCAN", arity: -2, Scan)
        {
            Usage = "cursor [MATCH pattern] [COUNT count] [TYPE type]",
            Summary = "Returns some of the keys, and the cursor to ask for more with; 0 begins and ends.",
            Complexity = "O(1) for a call, O(N) for a whole round, where N is the number of keys.",
            Since = "2.8.0", Group = CommandGroup.Generic,
            Flags = CommandFlags.ReadOnly | CommandFlags.TouchesArbitraryKeys,
            UnnamedKeysFrom = 1,
            Tips = ["nondeterministic_output", "request_policy:special", "response_policy:special"],
        },
        new("KEYS", arity: 2, Keys)
        {
            Usage = "pattern",
            Summary = "Returns all keys that match a pattern. Other clients are served meanwhile.",
            Complexity = "O(N) where N is the number of keys of the database, for patterns and keys of bounded length.",
            Since = "1.0.0", Group = CommandGroup.Generic,
            Flags = CommandFlags.ReadOnly, Categories = AclCategories.Dangerous,
            UnnamedKeysFrom = 1,
            Tips = ["request_policy:all_shards", "nondeterministic_output_order"],
        },
        new("RANDOMKEY", arity: 1, RandomKey)
        {
            Summary = "Returns any one of the keys.",
            Complexity = "O(1)", Since = "1.0.0", Group = CommandGroup.Generic,
            Flags = CommandFlags.ReadOnly | CommandFlags.TouchesArbitraryKeys,
            UnnamedKeysFrom = 1,
            Tips = ["request_policy:all_shards", "response_policy:special", "nondeterministic_output"],
        },
    ];

    private static void Scan(ref CommandContext context)
    {
        if (!ScanArguments.TryParseCursor(context.Args.NextBytes(), out ulong cursor))
            context.Args.Fail(Errors.InvalidCursor);
        long count = DefaultCount;
        ReadOnlySpan<byte> pattern = default, type = default;
        bool hasPattern = false, hasType = false;
        while (context.Args.Remaining > 0)
        {
            if (context.Args.TryKeyword("COUNT"u8))
            {
                count = context.Args.NextInt64();
                if (count < 1) context.Args.SyntaxError();
            }
            else if (context.Args.TryKeyword("MATCH"u8))
            {
                pattern = context.Args.NextPattern();
                hasPattern = true;
            }
            else if (context.Args.TryKeyword("TYPE"u8))
            {
                type = context.Args.NextBytes();
                hasType = true;
            }
            else if (context.Args.TryKeyword("NOVALUES"u8))
            {
                context.Args.Fail(Errors.NoValuesOfHashOnly);
            }
            else
            {
                context.Args.SyntaxError();
            }
        }

        if (!context.Args.Finish(context.Reply)) return;
        var walk = new KeyWalk(ref context, cursor, count, repliesCursor: true);
        if (hasPattern) walk.Match(pattern);
        if (hasType) walk.OnlyOf(type);
        walk.Run(ref context);
    }

    private static void Keys(ref CommandContext context)
    {
        var pattern = context.Args.NextPattern();
        if (!context.Args.Finish(context.Reply)) return;
        var walk = new KeyWalk(ref context, cursor: 0, long.MaxValue, repliesCursor: false);
        walk.Match(pattern);
        walk.Run(ref context);
    }

    private static void RandomKey(ref CommandContext context)
    {
        if (!context.Args.Finish(context.Reply)) return;
        var reply = new ReplyKey(context.Reply);
        if (context.Store.RandomKey(ref reply)) return;
        reply.Forget();
        context.Reply.WriteNull();
    }

    /// <summary>Writes a key into the reply.</summary>
    private struct ReplyKey(ReplyWriter reply) : IRecordVisit
    {
        private readonly ReplyMark _mark = reply.Mark();

        public readonly void Visit(ReadOnlySpan<byte> key, in ValueView value)
        {
            reply.Rewind(_mark);
            reply.WriteBulk(key);
        }

        public readonly void Forget() => reply.Rewind(_mark);
    }
}

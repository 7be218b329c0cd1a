using Kv.Server.Execution;

namespace Kv.Server.Families;

/// <summary>SLOWLOG: the commands that took long.</summary>
internal static class SlowLogCommands
{
    private const int CountByDefault = 10;

    private const CommandFlags Flags = CommandFlags.Admin | CommandFlags.Loading | CommandFlags.Stale;

    internal static readonly Command[] Table =
    [
        new("SLOWLOG", arity: -2, handler: null)
        {
            Summary = "Holds the commands that tell which commands were slow.",
            Complexity = "Depends on the subcommand.", Since = "2.2.12", Group = CommandGroup.Server,
            Subcommands =
            [
                new("GET", arity: -2, Get)
                {
                    Usage = "[count]",
                    Summary = "Returns the last slow commands, the newest first: 10, or as many as given; -1: all.",
                    Complexity = "O(N), N the entries", Since = "2.2.12", Group = CommandGroup.Server, Flags = Flags,
                    Tips = ["request_policy:all_nodes", "nondeterministic_output"],
                },
                HelpReply.Row("6.2.0", CommandGroup.Server),
                new("LEN", arity: 2, Length)
                {
                    Summary = "Counts the entries of the slow log.",
                    Complexity = "O(1)", Since = "2.2.12", Group = CommandGroup.Server, Flags = Flags,
                    Tips = ["request_policy:all_nodes", "response_policy:agg_sum", "nondeterministic_output"],
                },
                new("RESET", arity: 2, Reset)
                {
                    Summary = "Forgets all entries of the slow log.",
                    Complexity = "O(N), N the entries", Since = "2.2.12", Group = CommandGroup.Server, Flags = Flags,
                    Tips = ["request_policy:all_nodes", "response_policy:all_succeeded"],
                },
            ],
        },
    ];

    private static void Get(ref CommandContext context)
    {
        if (HelpReply.RefusesMore(ref context, countMax: 3)) return;
        long count = CountByDefault;
        if (context.Args.Remaining == 1)
            count = context.Args.NextInt64(-1, long.MaxValue, "ERR count should be greater than or equal to -1"u8);
        if (!context.Args.Finish(context.Reply)) return;
        var entries = context.Server.SlowLog.Newest(count == -1 ? long.MaxValue : count);
        var reply = context.Reply;
        reply.WriteArray(entries.Length);
        foreach (var entry in entries)
        {
            reply.WriteArray(6);
            reply.WriteInteger(entry.Id);
            reply.WriteInteger(entry.UnixSeconds);
            reply.WriteInteger(entry.Microseconds);
            reply.WriteRaw(entry.Arguments);
            reply.WriteBulk(System.Text.Encoding.UTF8.GetBytes(entry.Address));
            reply.WriteBulk(entry.Name);
        }
    }

    private static void Length(ref CommandContext context)
    {
        if (context.Args.Finish(context.Reply)) context.Reply.WriteInteger(context.Server.SlowLog.Count);
    }

    private static void Reset(ref CommandContext context)
    {
        if (!context.Args.Finish(context.Reply)) return;
        context.Server.SlowLog.Clear();
        context.Reply.WriteOk();
    }
}

using Kv.Server.Execution;

namespace Kv.Server.Families;

/// <summary>Watches all commands.</summary>
internal static class MonitorCommand
{
    internal static readonly Command[] Table =
    [
        new("MONITOR", arity: 1, Monitor)
        {
            Summary = "Shows this connection each command that the server runs from now on, in a line.",
            Complexity = "O(1); then O(N) for each command, N the connections that watch", Since = "1.0.0",
            Group = CommandGroup.Server,
            Flags = CommandFlags.Admin | CommandFlags.NoScript | CommandFlags.Loading | CommandFlags.Stale
                | CommandFlags.OwnReplies,
        },
    ];

    private static void Monitor(ref CommandContext context)
    {
        if (!context.Args.Finish(context.Reply)) return;
        if (context.InTransaction)
        {
            context.Fail("ERR MONITOR isn't allowed for DENY BLOCKING client"u8);
            return;
        }

        var session = context.Session;
        if (session.Monitoring != null) return;     // as in Redis, the second one has no reply
        session.Monitoring = context.Server.Monitors.Add(session);
        context.Reply.WriteOk();
    }
}

using System.Text;
using Kv.Server.Execution;
using Kv.Server.Persistence;

namespace Kv.Server.Families;

/// <summary>Snapshots on disk.</summary>
internal static class SnapshotCommands
{
    internal static readonly Command[] Table =
    [
        new("BGREWRITEAOF", arity: 1, BgRewriteAof)
        {
            Summary = "Begins to write the append-only file anew, as short as it can be, beside all clients.",
            Complexity = "O(1)", Since = "1.0.0", Group = CommandGroup.Server,
            Flags = CommandFlags.Admin | CommandFlags.NoScript | CommandFlags.NoAsyncLoading,
        },
        new("BGSAVE", arity: -1, BgSave)
        {
            Usage = "[SCHEDULE]",
            Summary = "Begins to write a snapshot of all databases to disk, beside all clients.",
            Complexity = "O(1)", Since = "1.0.0", Group = CommandGroup.Server,
            Flags = CommandFlags.Admin | CommandFlags.NoScript | CommandFlags.NoAsyncLoading,
        },
        new("LASTSAVE", arity: 1, LastSave)
        {
            Summary = "Returns the second of Unix time at which a snapshot was last written; that of the start, if "
                + "none was.",
            Complexity = "O(1)", Since = "1.0.0", Group = CommandGroup.Server,
            Flags = CommandFlags.Loading | CommandFlags.Stale | CommandFlags.Fast,
            Categories = AclCategories.Admin | AclCategories.Dangerous,
            Tips = ["nondeterministic_output"],
        },
        new("SAVE", arity: 1, Save)
        {
            Summary = "Stops all clients, and writes a snapshot of all databases to disk.",
            Complexity = "O(N) where N is the number of keys in all databases", Since = "1.0.0",
            Group = CommandGroup.Server,
            Flags = CommandFlags.Admin | CommandFlags.NoScript | CommandFlags.NoAsyncLoading | CommandFlags.NoMulti,
        },
    ];

    private static void BgRewriteAof(ref CommandContext context)
    {
        if (!context.Args.Finish(context.Reply)) return;
        var aof = context.Server.Aof;
        if (!context.Server.Options.LoadsAtStart) context.Fail("ERR the server was started without files"u8);
        else if (aof.IsRewriting)
            context.Fail("ERR Background append only file rewriting already in progress"u8);
        else
        {
            aof.AskRewrite();
            context.Reply.WriteSimple(aof.IsScheduled || context.InTransaction
                ? "Background append only file rewriting scheduled"u8
                : "Background append only file rewriting started"u8);
        }
    }

    private static void BgSave(ref CommandContext context)
    {
        bool schedules = context.Args.Remaining > 0;
        if (schedules && !context.Args.TryKeyword("SCHEDULE"u8)) context.Args.SyntaxError();
        if (!context.Args.Finish(context.Reply)) return;
        if (!TryBgSave(ref context, schedules)) context.Continue(new WaitsToSave(schedules));
    }

    /// <summary>Begins a snapshot, or says why not.</summary>
    /// <returns>False when others could not be stopped in this turn: nothing was done, or written.</returns>
    public static bool TryBgSave(ref CommandContext context, bool schedules)
    {
        var server = context.Server;
        var job = server.Snapshots.Job;
        if (job?.Purpose is not (null or SnapshotPurpose.AppendOnlyBase))
        {
            context.Fail("ERR Background save already in progress"u8);
        }
        // What a transaction has done so far is no instant: it is written after that.
        else if (context.InTransaction || (job != null && schedules))
        {
            server.SaveSchedule.Ask();
            context.Reply.WriteSimple("Background saving scheduled"u8);
        }
        else if (job != null)
        {
            context.Fail("ERR Another child process is active (AOF?): can't BGSAVE right now. Use BGSAVE SCHEDULE in "u8
                + "order to schedule a BGSAVE whenever possible."u8);
        }
        else if (server.Snapshots.TryBeginInTurn(context.Store, out string? error))
        {
            context.Reply.WriteSimple("Background saving started"u8);
        }
        else if (error != null)
        {
            context.Fail([.. "ERR "u8, .. Encoding.UTF8.GetBytes(error)]);
        }
        else
        {
            return false;
        }

        return true;
    }

    private static void LastSave(ref CommandContext context)
    {
        if (context.Args.Finish(context.Reply)) context.Reply.WriteInteger(context.Server.Snapshots.LastSaveSeconds);
    }

    private static void Save(ref CommandContext context)
    {
        if (context.Args.Finish(context.Reply)) OtherClients.Run(ref context, SaveAlone);
    }

    private static void SaveAlone(ref CommandContext context)
    {
        if (context.Server.Snapshots.Job?.Purpose is not (null or SnapshotPurpose.AppendOnlyBase))
        {
            context.Fail("ERR Background save already in progress"u8);
            return;
        }

        string? error = context.Server.Snapshots.Save(ref context);
        if (error == null) context.Reply.WriteOk();
        else context.Fail([.. "ERR "u8, .. Encoding.UTF8.GetBytes(error)]);
    }
}

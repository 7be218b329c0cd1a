using System.Text;
using Kv.Server.Execution;

namespace Kv.Server.Families;

/// <summary>Snapshots on disk.</summary>
internal static class SnapshotCommands
{
    internal static readonly Command[] Table =
    [
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

    private static void LastSave(ref CommandContext context)
    {
        if (context.Args.Finish(context.Reply)) context.Reply.WriteInteger(context.Server.Snapshots.LastSaveSeconds);
    }

    private static void Save(ref CommandContext context)
    {
        if (!context.Args.Finish(context.Reply) || !context.Server.Snapshots.TrySave(ref context, out string? error))
            return;
        if (error == null) context.Reply.WriteOk();
        else context.Fail([.. "ERR "u8, .. Encoding.UTF8.GetBytes(error)]);
    }
}

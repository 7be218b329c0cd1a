using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>MIGRATE: keys to another server.</summary>
internal static class MigrateCommand
{
    private const KeyAccess Moves = KeyAccess.RW | KeyAccess.Access | KeyAccess.Delete;

    /// <summary>Index of the last argument before the options.</summary>
    private const int LastPlain = 5;

    internal static readonly Command[] Table =
    [
        new("MIGRATE", arity: -6, Migrate)
        {
            Usage = "host port <key | \"\"> destination-db timeout [COPY] [REPLACE] [AUTH auth | AUTH2 username "
                + "password] [KEYS keys [keys ...]]",
            Summary = "Sends keys to another server and deletes them here when it has them; other clients are served "
                + "meanwhile.",
            Complexity = "O(N) where N is the number of bytes of the values.", Since = "2.6.0",
            Group = CommandGroup.Generic,
            Secrets = static (in args, index) => index > LastPlain
                && (args.FollowsWord(index, "AUTH"u8, 1) || args.FollowsWord(index, "AUTH2"u8, 2)),
            Flags = CommandFlags.Write, Categories = AclCategories.Dangerous,
            Keys = [KeySpec.At(3, Moves).UnlessEmpty(),
                KeySpec.After("KEYS", -2, -1, 1, Moves | KeyAccess.Incomplete).Among(KeyOptions.OfMigration)],
            Tips = ["nondeterministic_output"],
        },
    ];

    private static void Migrate(ref CommandContext context)
    {
        if (MigrationRequest.TryRead(ref context) is not { } request) return;
        if (!context.MayBlock)
        {
            // Where there is nothing to send, there is nothing to wait for.
            if (HasAny(context.Store, request.Keys))
                context.Fail("ERR MIGRATE waits for its target, which EXEC cannot"u8);
            else context.Reply.WriteSimple("NOKEY"u8);
            return;
        }

        var migration = new BlockedMigration(ref context, request);
        context.Block(migration, DataType.Any, new KeyRange(1, 0, 1), timeoutMs: 0);
        context.Server.Blocked.RunElsewhere(migration.RunAsync);
    }

    private static bool HasAny(StoreSession session, byte[][] keys)
    {
        foreach (byte[] key in keys)
            if (session.Exists(session.Key(key))) return true;
        return false;
    }
}

using Kv.Server.Execution;
using Kv.Server.Sessions;

namespace Kv.Server.Families;

/// <summary>Several commands at one instant, if nobody has changed some keys.</summary>
internal static class TransactionCommands
{
    internal static readonly Command[] Table =
    [
        new("MULTI", arity: 1, Multi)
        {
            Summary = "Begins a transaction: the commands that follow are queued for EXEC.",
            Complexity = "O(1)", Since = "1.2.0", Group = CommandGroup.Transactions,
            Flags = CommandFlags.NoScript | CommandFlags.Loading | CommandFlags.Stale | CommandFlags.Fast
            | CommandFlags.AllowBusy | CommandFlags.NotQueued,
            Categories = AclCategories.Transaction,
        },
        new("EXEC", arity: 1, Exec)
        {
            Summary = "Runs all queued commands, at one instant, and returns their replies; nothing and nil when a "
                + "watched key has changed.",
            Complexity = "Depends on the commands; beyond them, O(N log N) where N is the number of their keys.",
            Since = "1.2.0",
            Group = CommandGroup.Transactions,
            Flags = CommandFlags.NoScript | CommandFlags.Loading | CommandFlags.Stale | CommandFlags.SkipSlowLog
            | CommandFlags.NotQueued
                | CommandFlags.ChangesSession,
            Categories = AclCategories.Transaction,
        },
        new("DISCARD", arity: 1, Discard)
        {
            Summary = "Ends a transaction without running what was queued, and forgets the watched keys.",
            Complexity = "O(N) where N is the number of queued commands.", Since = "2.0.0",
            Group = CommandGroup.Transactions,
            Flags = CommandFlags.NoScript | CommandFlags.Loading | CommandFlags.Stale | CommandFlags.Fast
            | CommandFlags.AllowBusy | CommandFlags.NotQueued,
            Categories = AclCategories.Transaction,
        },
        new("WATCH", arity: -2, Watch)
        {
            Usage = "key [key ...]",
            Summary = "Lets the next EXEC run nothing if one of the keys changes before it.",
            Complexity = "O(1) for each key.", Since = "2.2.0", Group = CommandGroup.Transactions,
            Flags = CommandFlags.NoScript | CommandFlags.Loading | CommandFlags.Stale | CommandFlags.Fast
            | CommandFlags.AllowBusy | CommandFlags.NotQueued,
            Categories = AclCategories.Transaction,
            Keys = [KeySpec.Range(1, -1, 1, KeyAccess.RO)],
        },
        new("UNWATCH", arity: 1, Unwatch)
        {
            Summary = "Forgets the watched keys.",
            Complexity = "O(1) for each key.", Since = "2.2.0", Group = CommandGroup.Transactions,
            Flags = CommandFlags.NoScript | CommandFlags.Loading | CommandFlags.Stale | CommandFlags.Fast
            | CommandFlags.AllowBusy,
            Categories = AclCategories.Transaction,
        },
    ];

    private static void Multi(ref CommandContext context)
    {
        var session = context.Session;
        if (session.InMulti)
        {
            context.Fail("ERR MULTI calls can not be nested"u8);
            return;
        }

        session.Transaction ??= new Transaction(session, context.Server.Store);
        session.Transaction.Open();
        context.Reply.WriteOk();
    }

    private static void Exec(ref CommandContext context)
    {
        var session = context.Session;
        if (!session.InMulti)
        {
            context.Fail("ERR EXEC without MULTI"u8);
            return;
        }

        var transaction = session.Transaction!;
        if (transaction.IsAborted)
        {
            transaction.Close();
            context.Fail("EXECABORT Transaction discarded because of previous errors."u8);
            return;
        }

        if (transaction.Watches.HaveChanged)
        {
            transaction.Close();
            context.Reply.WriteNullArray();
            return;
        }

        if (!context.Transactions.TryExecute(ref context)) context.Continue(new ExecLater());
    }

    private static void Discard(ref CommandContext context)
    {
        var session = context.Session;
        if (!session.InMulti)
        {
            context.Fail("ERR DISCARD without MULTI"u8);
            return;
        }

        session.Transaction!.Close();
        context.Reply.WriteOk();
    }

    private static void Watch(ref CommandContext context)
    {
        var session = context.Session;
        if (session.InMulti)
        {
            context.Fail("ERR WATCH inside MULTI is not allowed"u8);
            return;
        }

        var watches = (session.Transaction ??= new Transaction(session, context.Server.Store)).Watches;
        // Keys that are watched already count here, too: who is so near to the limit will not mind.
        if ((long)watches.Count + context.Args.Remaining > context.Server.Options.WatchLimit)
        {
            context.Fail("ERR too many watched keys"u8);
            return;
        }

        while (context.Args.Remaining > 0) watches.Add(context.Store, session.Database, context.Args.NextKey());
        context.Reply.WriteOk();
    }

    private static void Unwatch(ref CommandContext context)
    {
        context.Session.Transaction?.Watches.Dispose();
        context.Reply.WriteOk();
    }
}

using System.Text;
using Kv.Server.Configuration;
using Kv.Server.Execution;
using Kv.Server.Reports;
using Kv.Storage;
using Microsoft.Extensions.Logging;

namespace Kv.Server.Families;

/// <summary>The server as a whole: its figures, its databases, its end.</summary>
internal static class ServerCommands
{
    private const CommandFlags ModuleFlags = CommandFlags.NoAsyncLoading | CommandFlags.Admin | CommandFlags.NoScript
        | CommandFlags.Protected;

    /// <summary>Changes whole databases.</summary>
    /// <returns>How many changes that counts as, beyond what the row says.</returns>
    private delegate long DatabasesChange(in CommandContext context, int first, int second);

    internal static readonly Command[] Table =
    [
        new("DBSIZE", arity: 1, DbSize)
        {
            Summary = "Counts the keys of the database.",
            Complexity = "O(1)", Since = "1.0.0", Group = CommandGroup.Server,
            Flags = CommandFlags.ReadOnly | CommandFlags.Fast,
            UnnamedKeysFrom = 1,
            Categories = AclCategories.Keyspace,
            Tips = ["request_policy:all_shards", "response_policy:agg_sum"],
        },
        new("FLUSHALL", arity: -1, FlushAll)
        {
            Usage = "[ASYNC | SYNC]",
            Summary = "Removes all keys of all databases, at once; their memory is freed afterwards.",
            Complexity = "O(1)", Since = "1.0.0", Group = CommandGroup.Server,
            Changes = ChangeRule.None,
            Flags = CommandFlags.Write,
            UnnamedKeysFrom = 1,
            Categories = AclCategories.Keyspace | AclCategories.Dangerous,
            Tips = ["request_policy:all_shards", "response_policy:all_succeeded"],
        },
        new("FLUSHDB", arity: -1, FlushDb)
        {
            Usage = "[ASYNC | SYNC]",
            Summary = "Removes all keys of the database, at once; their memory is freed afterwards.",
            Complexity = "O(1)", Since = "1.0.0", Group = CommandGroup.Server,
            Changes = ChangeRule.None,
            Flags = CommandFlags.Write,
            UnnamedKeysFrom = 1,
            Categories = AclCategories.Keyspace | AclCategories.Dangerous,
            Tips = ["request_policy:all_shards", "response_policy:all_succeeded"],
        },
        new("INFO", arity: -1, Info)
        {
            Usage = "[section [section ...]]",
            Summary = "Tells the figures of the server, by section.",
            Complexity = "O(1); the clients section O(N), N the connections", Since = "1.0.0",
            Group = CommandGroup.Server,
            Flags = CommandFlags.Loading | CommandFlags.Stale | CommandFlags.Sentinel,
            Categories = AclCategories.Dangerous,
            Tips = ["nondeterministic_output", "request_policy:all_shards", "response_policy:special"],
        },
        new("LOLWUT", arity: -1, LolwutDrawing.Run)
        {
            Usage = "[VERSION version]",
            Summary = "Draws something, and tells the version.",
            Complexity = "O(1)", Since = "5.0.0", Group = CommandGroup.Server,
            Flags = CommandFlags.ReadOnly | CommandFlags.Fast,
        },
        new("MODULE", arity: -2, handler: null)
        {
            Summary = "Looks after modules; this server takes none.",
            Complexity = "Depends on the subcommand.", Since = "4.0.0", Group = CommandGroup.Server,
            Subcommands =
            [
                HelpReply.Row("5.0.0", CommandGroup.Server),
                new("LIST", arity: 2, ModuleList)
                {
                    Summary = "Lists the modules that are loaded: none, as this server takes none.",
                    Complexity = "O(N), N the modules", Since = "4.0.0", Group = CommandGroup.Server,
                    Flags = CommandFlags.Admin | CommandFlags.NoScript,
                    Tips = ["nondeterministic_output_order"],
                },
                new("LOAD", arity: -3, RefuseModules)
                {
                    Usage = "path [arg [arg ...]]",
                    Summary = "Loads a module, which this server refuses.",
                    Complexity = "O(1)", Since = "4.0.0", Group = CommandGroup.Server, Flags = ModuleFlags,
                },
                new("LOADEX", arity: -3, RefuseModules)
                {
                    Usage = "path [CONFIG name value [CONFIG name value ...]] [ARGS args [args ...]]",
                    Summary = "Loads a module with options, which this server refuses.",
                    Complexity = "O(1)", Since = "7.0.0", Group = CommandGroup.Server, Flags = ModuleFlags,
                },
                new("UNLOAD", arity: 3, RefuseModules)
                {
                    Usage = "name",
                    Summary = "Unloads a module, of which there is none.",
                    Complexity = "O(1)", Since = "4.0.0", Group = CommandGroup.Server, Flags = ModuleFlags,
                },
            ],
        },
        new("ROLE", arity: 1, Role)
        {
            Summary = "Tells whether this is a primary or a replica, and of whom.",
            Complexity = "O(1)", Since = "2.8.12", Group = CommandGroup.Server,
            Flags = CommandFlags.NoScript | CommandFlags.Loading | CommandFlags.Stale |
                CommandFlags.Fast | CommandFlags.Sentinel,
            Categories = AclCategories.Admin | AclCategories.Dangerous,
        },
        new("SHUTDOWN", arity: -1, Shutdown)
        {
            Usage = "[NOSAVE | SAVE] [NOW] [FORCE] [ABORT]",
            Summary = "Ends the server in order.",
            Complexity = "O(N), N the connections", Since = "1.0.0", Group = CommandGroup.Server,
            Flags = CommandFlags.Admin | CommandFlags.NoScript | CommandFlags.Loading | CommandFlags.Stale
            | CommandFlags.NoMulti |
                CommandFlags.Sentinel | CommandFlags.AllowBusy | CommandFlags.OwnReplies,
        },
        new("SWAPDB", arity: 3, SwapDb)
        {
            Usage = "index1 index2",
            Summary = "Exchanges two databases, at once and for everyone.",
            Complexity = "O(1)", Since = "4.0.0", Group = CommandGroup.Server,
            Flags = CommandFlags.Write | CommandFlags.Fast,
            UnnamedKeysFrom = 1,
            Categories = AclCategories.Keyspace | AclCategories.Dangerous,
        },
        new("TIME", arity: 1, Time)
        {
            Summary = "Tells the time: Unix seconds, and microseconds of the second.",
            Complexity = "O(1)", Since = "2.6.0", Group = CommandGroup.Server,
            Flags = CommandFlags.Loading | CommandFlags.Stale | CommandFlags.Fast,
            Tips = ["nondeterministic_output"],
        },
    ];

    private static void DbSize(ref CommandContext context)
    {
        if (!context.Args.Finish(context.Reply)) return;
        context.Reply.WriteInteger(context.Server.Store.Count(context.Session.Database));
    }

    private static void FlushAll(ref CommandContext context)
    {
        if (!TryReadFlush(ref context)) return;
        Change(ref context, static (in context, _, _) =>
        {
            long keys = 0;
            for (int i = 0; i < context.Server.Options.Databases; i++) keys += context.Server.Store.Count(i);
            context.Store.FlushAll();
            return keys;
        });
    }

    private static void FlushDb(ref CommandContext context)
    {
        if (!TryReadFlush(ref context)) return;
        Change(ref context, static (in context, database, _) =>
        {
            long keys = context.Server.Store.Count(database);
            context.Store.Flush(database);
            return keys;
        }, context.Session.Database);
    }

    // Both ways are one: a new, empty database is published, and the old one is freed when nobody reads it any more.
    private static bool TryReadFlush(ref CommandContext context)
    {
        if (!context.Args.TryKeyword("ASYNC"u8)) context.Args.TryKeyword("SYNC"u8);
        return context.Args.Finish(context.Reply);
    }

    /// <summary>Sections that one INFO names; there are not as many.</summary>
    private const int SectionsMax = 1024;

    private static void Info(ref CommandContext context)
    {
        var sections = context.Args.Remaining == 0 ? InfoSections.Default : InfoSections.None;
        context.Args.RequireAtMost(SectionsMax, "sections for INFO");
        while (context.Args.Remaining > 0)
            sections = sections.With(Encoding.Latin1.GetString(context.Args.NextBytes()));
        if (!context.Args.Finish(context.Reply)) return;
        string text = InfoReport.Write(context.Server, sections, context.Session.Restriction, context.Store);
        context.Reply.WriteVerbatim(Encoding.UTF8.GetBytes(text));
    }

    private static void ModuleList(ref CommandContext context)
    {
        if (!context.Args.Finish(context.Reply)) return;
        context.Reply.WriteArray(0);
    }

    // The text of a server whose enable-module-command is no, which is the default.
    private static void RefuseModules(ref CommandContext context) => context.Fail(
        "ERR MODULE command not allowed. If the enable-module-command option is set to \"local\", you can run it "u8
        + "from a local connection, otherwise you need to set this option in the configuration file, and then "u8
        + "restart the server."u8);

    private static void Role(ref CommandContext context)
    {
        if (!context.Args.Finish(context.Reply)) return;
        context.Reply.WriteArray(3);
        context.Reply.WriteBulk("master"u8);
        var replicas = context.Server.Replicas.Describe(
            replica => (replica.Host, replica.Port, replica.Acknowledged));
        context.Reply.WriteInteger(context.Server.Replicas.Offset);
        context.Reply.WriteArray(replicas.Count);
        foreach (var (host, port, offset) in replicas)
        {
            context.Reply.WriteArray(3);
            context.Reply.WriteBulk(Encoding.UTF8.GetBytes(host));
            context.Reply.WriteBulkInteger(port);
            context.Reply.WriteBulkInteger(offset);
        }
    }

    private static void Shutdown(ref CommandContext context)
    {
        ref var args = ref context.Args;
        bool save = false, noSave = false, force = false, now = false, abort = false;
        while (args.Remaining > 0)
        {
            if (args.TryKeyword("NOSAVE"u8)) noSave = true;
            else if (args.TryKeyword("SAVE"u8)) save = true;
            else if (args.TryKeyword("NOW"u8)) now = true;
            else if (args.TryKeyword("FORCE"u8)) force = true;
            else if (args.TryKeyword("ABORT"u8)) abort = true;
            else args.SyntaxError();
        }
        if ((save && noSave) || (abort && (save || noSave || force || now))) args.SyntaxError();
        if (!args.Finish(context.Reply)) return;

        if (abort)
        {
            context.Fail("ERR No shutdown in progress."u8);
            return;
        }
        // What has been loaded so far must not take the place of the whole.
        if (context.Server.Loading != null) (save, noSave) = (false, true);
        if (!noSave && context.Store.Presence.IsTurnedAway)
        {
            context.Fail(context.Server.Scripts.BusyReply);
            return;
        }
        if (!save && (noSave || !context.Server.SaveSchedule.HasPoints))
        {
            Stop(ref context);
            return;
        }

        context.Server.Snapshots.Cancel();
        OtherClients.Run(ref context, force ? SaveAndStopInAnyCase : SaveAndStop);
    }

    private static void SaveAndStop(ref CommandContext context)
    {
        if (context.Server.Snapshots.Save(ref context) == null) StopForGood(ref context);
        else context.Fail("ERR Errors trying to SHUTDOWN. Check logs."u8);
    }

    private static void SaveAndStopInAnyCase(ref CommandContext context)
    {
        context.Server.Snapshots.Save(ref context);
        StopForGood(ref context);
    }

    /// <summary>All that clients have been told is done has been saved: from now on writes wait, for the end.</summary>
    private static void StopForGood(ref CommandContext context)
    {
        context.Server.Pause.Begin(long.MaxValue, writesOnly: true);
        Stop(ref context);
    }

    private static void Stop(ref CommandContext context)
    {
        context.Server.SavesAtEnd = false;
        // No reply: the connection ends with the server, and nothing after this is run.
        context.Session.CloseAfterReply = true;
        context.Server.RequestStop();
    }

    private static void SwapDb(ref CommandContext context)
    {
        long first = context.Args.NextInt64(int.MinValue, int.MaxValue, "ERR invalid first DB index"u8);
        long second = context.Args.NextInt64(int.MinValue, int.MaxValue, "ERR invalid second DB index"u8);
        long count = context.Server.Options.Databases;
        if ((ulong)first >= (ulong)count || (ulong)second >= (ulong)count) context.Args.Fail(Errors.DatabaseOutOfRange);
        if (!context.Args.Finish(context.Reply)) return;
        Change(ref context, static (in context, one, other) =>
        {
            context.Store.Swap(one, other);
            return 0;       // the row counts the call
        }, (int)first, (int)second);
    }

    /// <summary>Changes whole databases, and replies. For the feed while all others stand still: none of them then
    /// writes to what is gone, and says so later.</summary>
    private static void Change(ref CommandContext context, DatabasesChange change, int first = 0, int second = 0)
    {
        // Nobody begins to read the feed while this turn lasts.
        if (!context.IsFed) ChangeNow(ref context);
        else OtherClients.Run(ref context, ChangeNow);

        void ChangeNow(ref CommandContext context)
        {
            context.CountChanges(change(context, first, second));
            context.Events.Effects.Mark();
            context.Reply.WriteOk();
        }
    }

    private static void Time(ref CommandContext context)
    {
        if (!context.Args.Finish(context.Reply)) return;
        long microseconds =
            (context.Server.Time.GetUtcNow() - DateTimeOffset.UnixEpoch).Ticks / TimeSpan.TicksPerMicrosecond;
        context.Reply.WriteArray(2);
        context.Reply.WriteBulkInteger(microseconds / 1_000_000);
        context.Reply.WriteBulkInteger(microseconds % 1_000_000);
    }
}

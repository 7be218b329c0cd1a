using System.Diagnostics;
using System.Text;
using Kv.Protocol;
using Kv.Server.Sessions;
using Kv.Server.Users;
using Kv.Storage;

namespace Kv.Server.Execution;

/// <summary>Whether a command may run now: its arguments, who asks, the state of the server, memory.</summary>
/// <remarks>Threads: one worker or lease.</remarks>
internal sealed unsafe class CommandChecks(KvServer server, StoreSession store, CommandRunner runner,
    SessionOutput output)
{
    /// <summary>Bytes of an unknown subcommand that the error repeats.</summary>
    private const int EchoBytes = 128;

    private const CommandFlags UsingKeys = CommandFlags.Write | CommandFlags.ReadOnly | CommandFlags.MayReplicate;

    /// <summary>Whether the state of the server may make some commands wait or be refused. (Whether there is memory is
    /// asked before each command that may need some.)</summary>
    public bool IsGuarded =>
        server.Pause.IsActive || server.Options.NoPubSub || server.Options.NoObj || BoundsKeys
        || server.WritesRefused != null || server.Loading != null;

    /// <summary>Whether a key may be too long: by default every argument that arrives is short enough.</summary>
    private bool BoundsKeys => server.Options.MaxKeyBytes < server.Options.ProtoMaxBulkLen;

    /// <summary>Makes all checks.</summary>
    /// <param name="items">The command's arguments, kept if it has to wait; null if it may not wait.</param>
    /// <returns>Whether it may run. The context then names the row of the subcommand, or the row that
    /// refused.</returns>
    public CheckResult Check(ref CommandContext context, Argument* items)
    {
        Debug.Assert(output.Reply.Owed == 1, "the reply has been begun");
        if (!TryRefuse(ref context)) return CheckResult.Refused;
        var room = FindRoom(ref context, items);
        if (room != CheckResult.Runs) return room;
        if (server.WritesRefused is { } refusal && IsWrite(ref context, orPing: true) && !Refuse(ref context, refusal))
            return CheckResult.Refused;
        if (server.Feed.IsFull && WaitsForFeed(ref context, items)) return CheckResult.Waits;
        return MustWait(ref context, items) ? CheckResult.Waits : CheckResult.Runs;
    }

    /// <summary>The checks before a handler, in the order in which Redis makes them.</summary>
    /// <returns>False after writing an error. The context then names the row that refused.</returns>
    private bool TryRefuse(ref CommandContext context)
    {
        var command = context.Command;
        int count = context.Args.Count;
        if (command.Subcommands.Length > 0 && (count > 1 || command.Handler == null))
        {
            if (count < 2)
                return Refuse(ref context, Text($"ERR wrong number of arguments for '{command.FullName}' command"));
            var found = command.FindSubcommand(context.Args[1].Span);
            if (found == null)
            {
                return Refuse(ref context, [.. "ERR unknown subcommand '"u8, .. Cut(context.Args[1].Span),
                    .. "'. Try "u8, .. Text(NameOf(context.Args)), .. " HELP."u8],
                    isCommand: false);
            }

            context.Command = command = found;
            context.Args.Skip(1);
        }

        if (!command.Takes(count))
            return Refuse(ref context, Text($"ERR wrong number of arguments for '{command.FullName}' command"));
        if (context.Session.IsReplay) return true;
        var gate = context.Session.Gate;
        if ((gate & SessionGate.Unauthenticated) != 0 && (command.Flags & CommandFlags.NoAuth) == 0)
            return Refuse(ref context, Errors.NoAuth);
        if ((gate & SessionGate.Multi) != 0 && (command.Flags & CommandFlags.NoMulti) != 0)
            return Refuse(ref context, "ERR Command not allowed inside a transaction"u8);
        if (context.Session.Restriction is { } rules && !TryAllow(ref context, rules)) return false;
        if ((gate & SessionGate.Reserved) != 0 && Admission.IsTurnedAway(server, context.Session, command))
            return Refuse(ref context, Errors.MaxClients);
        if ((gate & SessionGate.Subscriber) != 0 && !IsForSubscribers(command))
        {
            return Refuse(ref context,
                Text(
                $"ERR Can't execute '{command.FullName}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET "
                + $"are allowed in this context"));
        }

        if (server.Options.NoPubSub && command.Group == CommandGroup.PubSub)
            return Refuse(ref context, "ERR publish/subscribe is switched off (no-pubsub)"u8);
        if (server.Options.NoObj && IsOfObjects(command.Group))
            return Refuse(ref context, "ERR commands of objects are switched off (no-obj)"u8);
        if (BoundsKeys && HasTooLongKey(command, context.Args)) return Refuse(ref context, Errors.KeyTooLong);
        if (store.Presence.IsTurnedAway && (command.Flags & CommandFlags.AllowBusy) == 0)
            return Refuse(ref context, server.Scripts.BusyReply);
        if (server.Loading != null && (command.Flags & CommandFlags.Loading) == 0)
            return Refuse(ref context, Errors.Loading);
        if ((gate & SessionGate.Monitoring) != 0 && (command.Flags & UsingKeys) != 0)
            return Refuse(ref context, "ERR Replica can't interact with the keyspace"u8);
        return true;
    }

    /// <summary>Whether the client's user may make the call.</summary>
    /// <returns>False after writing an error.</returns>
    private bool TryAllow(ref CommandContext context, UserRules rules)
    {
        var verdict = rules.Check(context.Command, context.Args);
        if (verdict.IsAllowed) return true;
        var session = context.Session;
        session.LastCommand = context.Command;      // the log shows the client as it is now
        AccessDenial.Note(session, session.InMulti ? AccessContext.Multi : AccessContext.TopLevel, verdict,
            context.Command, context.Args);
        return Refuse(ref context, Text("NOPERM " + AccessDenial.Reason(verdict, session.User, context.Command)));
    }

    /// <summary>The command as the client called it, which rename-command may have given another name.</summary>
    private static string NameOf(in CommandArguments args) =>
        Encoding.Latin1.GetString(args[0].Span).ToUpperInvariant();

    /// <summary>At maxmemory a command that needs memory waits while dead records are reclaimed, and is refused when
    /// that is not enough.</summary>
    private CheckResult FindRoom(ref CommandContext context, Argument* items)
    {
        var session = context.Session;
        if (session.Blocks is { HasDiscarded: true })
        {
            Refuse(ref context, Errors.OutOfMemory);
            return CheckResult.Refused;
        }

        var needs = NeedsOf(session, context.Command);
        // Nothing is evicted during a pause: what waits for its end (MustWait) asks for room then. Where nothing is
        // evicted in any case it is refused now: it would be then, and all that waits takes memory.
        if (!server.Store.IsOverBudget || needs == 0 || session.IsReplay
            || (server.Store.Evicts ? IsHeldByPause(ref context, items) : needs == CommandFlags.WaitsForRoom))
        {
            session.RoomDeadlineTickMs = 0;
            return CheckResult.Runs;
        }

        var room = server.RoomWaits.Decide(session, store.AskRoom(), mayWait: items != null);
        if (room != StoreRoom.Soon)
        {
            if (room == StoreRoom.Free || needs == CommandFlags.WaitsForRoom) return CheckResult.Runs;
            Refuse(ref context, Errors.OutOfMemory);
            return CheckResult.Refused;
        }

        Hold(ref context, session.RoomDeadlineTickMs);
        server.RoomWaits.Add(session);
        return CheckResult.Waits;
    }

    /// <summary>What was done waits for the disk or replicas: who writes waits, too.</summary>
    private bool WaitsForFeed(ref CommandContext context, Argument* items)
    {
        if (!server.Feed.IsOn || items == null || !IsWrite(ref context) || context.Command.Group == CommandGroup.PubSub
            || (context.Session.InMulti && context.Command.Name != "EXEC")) return false;
        Hold(ref context, long.MaxValue);
        context.Session.WaitsForMemory = true;
        server.Feed.AddWaiting(context.Session.Unpark);
        // It may have been given before this session was in the list.
        if (!server.Feed.IsFull) context.Session.Unpark();
        return true;
    }

    /// <summary>Keeps the command until its session is woken, or the deadline has come.</summary>
    private void Hold(ref CommandContext context, long deadlineTickMs)
    {
        Debug.Assert(context.Session.Held == null, "one command is held at a time");
        context.Session.Held = context.Args.Keep(server.Store);
        context.Session.Park(deadlineTickMs);
        output.Rewind(new ReplyMark(output.Reply.ReplyStart, 0));
    }

    /// <summary>Which of DenyOom and WaitsForRoom a command has; EXEC has those of the queued commands. Commands that
    /// only read are queued above the limit, too, as in Redis 7.4; multi-queue-limit bounds them.</summary>
    private static CommandFlags NeedsOf(Session session, Command command)
    {
        var flags = command.Flags;
        if (session.InMulti && command.Name == "EXEC") flags |= session.Transaction!.Flags;
        return flags & (CommandFlags.DenyOom | CommandFlags.WaitsForRoom);
    }

    private bool HasTooLongKey(Command command, in CommandArguments args)
    {
        long most = server.Options.MaxKeyBytes;
        foreach (var spec in command.Keys)
        {
            if ((spec.Access & KeyAccess.NotKey) != 0
                || KeyFinder.Find(spec, args, 0, out var range) != KeySearch.Found) continue;
            for (int i = 0; i < range.Count; i++)
            {
                if (args[range.First + i * range.Step].Length > most) return true;
            }
        }

        return false;
    }

    /// <param name="isCommand">Whether it is a command, which counts as rejected.</param>
    private bool Refuse(ref CommandContext context, scoped ReadOnlySpan<byte> error, bool isCommand = true)
    {
        var session = context.Session;
        if (session.InMulti) session.Transaction!.Abort();
        if (context.Command.Name == "EXEC")
        {
            session.Transaction?.Close();
            error = (byte[])[.. Errors.ExecAbortBecause, .. error.StartsWith("ERR "u8) ? error[4..] : error];
        }

        if (isCommand) runner.Reject(context.Command, error);
        else runner.FailWith(error);
        return false;
    }

    /// <summary>CLIENT PAUSE: the command is kept, and run when the pause has ended.</summary>
    private bool MustWait(ref CommandContext context, Argument* items)
    {
        if (!IsHeldByPause(ref context, items)) return false;
        Hold(ref context, long.MaxValue);
        // The end of a pause wakes the sessions that have a held command. If it came before this one had, nobody else
        // wakes it. (Holds takes the pause's lock after Held is set, and the end takes it before it looks at Held.)
        if (!server.Pause.Holds(IsWrite(ref context))) context.Session.Unpark();
        return true;
    }

    private bool IsHeldByPause(ref CommandContext context, Argument* items)
    {
        if (!server.Pause.IsActive || items == null || context.Session.IsReplay) return false;
        // CLIENT itself always runs: somebody must be able to end the pause.
        return (context.Command.Container ?? context.Command).Name != "CLIENT"
            && server.Pause.Holds(IsWrite(ref context));
    }

    /// <summary>Whether a command may change something; EXEC does what was queued does.</summary>
    /// <param name="orPing">PING counts, too: those who ask how the server is are to know.</param>
    private static bool IsWrite(ref CommandContext context, bool orPing = false)
    {
        var flags = context.Command.Flags;
        if (context.Session.InMulti && context.Command.Name == "EXEC") flags |= context.Session.Transaction!.Flags;
        return (flags & Command.Changing) != 0
            || (orPing && context.Command.Name == "PING");
    }

    private static bool IsForSubscribers(Command command) => command.Name is
        "SUBSCRIBE" or "PSUBSCRIBE" or "SSUBSCRIBE" or "UNSUBSCRIBE" or "PUNSUBSCRIBE" or "SUNSUBSCRIBE" or "PING"
        or "QUIT" or "RESET";

    private static bool IsOfObjects(CommandGroup group) => group is
        CommandGroup.List or CommandGroup.Set or CommandGroup.SortedSet or CommandGroup.Hash or CommandGroup.Geo
        or CommandGroup.Stream;

    private static ReadOnlySpan<byte> Cut(ReadOnlySpan<byte> text) =>
        text.Length <= EchoBytes ? text : text[..EchoBytes];

    private static byte[] Text(string text) => Encoding.Latin1.GetBytes(text);
}

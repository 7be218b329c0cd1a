using System.Text;
using Kv.Server.Execution;
using Kv.Server.Sessions;
using Kv.Server.Users;

namespace Kv.Server.Families;

/// <summary>CLIENT: connections are listed, named, paused and closed.</summary>
internal static class ClientCommands
{
    /// <summary>Limits far above the number of clients, and of filters, that anybody has.</summary>
    private const int IdsMax = 65_536, FilterArgumentsMax = 1024;

    internal static readonly Command[] Table =
    [
        new("CLIENT", arity: -2, handler: null)
        {
            Summary = "Looks after connections.",
            Complexity = "Depends on the subcommand.", Since = "2.4.0", Group = CommandGroup.Connection,
            Flags = CommandFlags.Sentinel,
            Subcommands =
            [
                new("CACHING", arity: 3, ClientTrackingCommands.Caching)
                {
                    Usage = "<YES | NO>",
                    Summary = "Tracks, or does not track, the keys of the next command.",
                    Complexity = "O(1)", Since = "6.0.0", Group = CommandGroup.Connection,
                    Flags = CommandFlags.NoScript | CommandFlags.Loading | CommandFlags.Stale | CommandFlags.Sentinel,
                    Categories = AclCategories.Connection,
                },
                new("GETNAME", arity: 2, GetName)
                {
                    Summary = "Answers the name of this connection.",
                    Complexity = "O(1)", Since = "2.6.9", Group = CommandGroup.Connection,
                    Flags = CommandFlags.NoScript | CommandFlags.Loading | CommandFlags.Stale | CommandFlags.Sentinel,
                    Categories = AclCategories.Connection,
                },
                new("GETREDIR", arity: 2, ClientTrackingCommands.GetRedir)
                {
                    Summary = "Answers which client invalidation messages go to; -1 without tracking.",
                    Complexity = "O(1)", Since = "6.0.0", Group = CommandGroup.Connection,
                    Flags = CommandFlags.NoScript | CommandFlags.Loading | CommandFlags.Stale | CommandFlags.Sentinel,
                    Categories = AclCategories.Connection,
                },
                HelpReply.Row("5.0.0", CommandGroup.Connection,
                    CommandFlags.Loading | CommandFlags.Stale | CommandFlags.Sentinel, AclCategories.Connection),
                new("ID", arity: 2, Id)
                {
                    Summary = "Answers the number of this connection, which no other ever has.",
                    Complexity = "O(1)", Since = "5.0.0", Group = CommandGroup.Connection,
                    Flags = CommandFlags.NoScript | CommandFlags.Loading | CommandFlags.Stale | CommandFlags.Sentinel,
                    Categories = AclCategories.Connection,
                },
                new("INFO", arity: 2, Info)
                {
                    Summary = "Describes this connection in one line.",
                    Complexity = "O(1)", Since = "6.2.0", Group = CommandGroup.Connection,
                    Flags = CommandFlags.NoScript | CommandFlags.Loading | CommandFlags.Stale | CommandFlags.Sentinel,
                    Categories = AclCategories.Connection,
                    Tips = ["nondeterministic_output"],
                },
                new("KILL", arity: -3, Kill)
                {
                    Usage =
                        "<old-format | <[ID client-id] | [TYPE normal | master | slave | replica | pubsub] | "
                        + "[USER username] | [ADDR addr] | [LADDR laddr] | [SKIPME YES | NO]> "
                        + "[<[ID client-id] | [TYPE normal | master | slave | replica | pubsub] | "
                        + "[USER username] | [ADDR addr] | [LADDR laddr] | [SKIPME YES | NO]> ...]>",
                    Summary = "Closes connections: one by its address, or all that fit.",
                    Complexity = "O(N), N the connections", Since = "2.4.0", Group = CommandGroup.Connection,
                    Flags = CommandFlags.Admin | CommandFlags.NoScript | CommandFlags.Loading |
                        CommandFlags.Stale | CommandFlags.Sentinel,
                    Categories = AclCategories.Connection,
                },
                new("LIST", arity: -2, List)
                {
                    Usage = "[TYPE normal | master | replica | pubsub] [ID client-id [client-id ...]]",
                    Summary = "Describes all connections, or those that fit, in a line each.",
                    Complexity = "O(N), N the connections", Since = "2.4.0", Group = CommandGroup.Connection,
                    Flags = CommandFlags.Admin | CommandFlags.NoScript | CommandFlags.Loading |
                        CommandFlags.Stale | CommandFlags.Sentinel,
                    Categories = AclCategories.Connection,
                    Tips = ["nondeterministic_output"],
                },
                new("NO-EVICT", arity: 3, NoEvict)
                {
                    Usage = "<ON | OFF>",
                    Summary = "Exempts this connection from being closed when clients use too much memory.",
                    Complexity = "O(1)", Since = "7.0.0", Group = CommandGroup.Connection,
                    Flags = CommandFlags.Admin | CommandFlags.NoScript | CommandFlags.Loading |
                        CommandFlags.Stale | CommandFlags.Sentinel,
                    Categories = AclCategories.Connection,
                },
                new("NO-TOUCH", arity: 3, NoTouch)
                {
                    Usage = "<ON | OFF>",
                    Summary = "Reads of this connection do not count as uses of the keys.",
                    Complexity = "O(1)", Since = "7.2.0", Group = CommandGroup.Connection,
                    Flags = CommandFlags.NoScript | CommandFlags.Loading | CommandFlags.Stale,
                    Categories = AclCategories.Connection,
                },
                new("PAUSE", arity: -3, Pause)
                {
                    Usage = "timeout [WRITE | ALL]",
                    Summary = "Makes the commands of all clients wait for a while, or those that write.",
                    Complexity = "O(1)", Since = "3.0.0", Group = CommandGroup.Connection,
                    Flags = CommandFlags.Admin | CommandFlags.NoScript | CommandFlags.Loading |
                        CommandFlags.Stale | CommandFlags.Sentinel,
                    Categories = AclCategories.Connection,
                },
                new("REPLY", arity: 3, Reply)
                {
                    Usage = "<ON | OFF | SKIP>",
                    Summary = "Switches replies to this connection on or off, or skips the next one.",
                    Complexity = "O(1)", Since = "3.2.0", Group = CommandGroup.Connection,
                    Flags = CommandFlags.NoScript | CommandFlags.Loading | CommandFlags.Stale | CommandFlags.Sentinel |
                        CommandFlags.OwnReplies | CommandFlags.ChangesSession,
                    Categories = AclCategories.Connection,
                },
                new("SETINFO", arity: 4, SetInfo)
                {
                    Usage = "<lib-name libname | lib-ver libver>",
                    Summary = "Notes the name or version of the client library.",
                    Complexity = "O(1)", Since = "7.2.0", Group = CommandGroup.Connection,
                    Flags = CommandFlags.NoScript | CommandFlags.Loading | CommandFlags.Stale | CommandFlags.Sentinel,
                    Categories = AclCategories.Connection,
                    Tips = ["request_policy:all_nodes", "response_policy:all_succeeded"],
                },
                new("SETNAME", arity: 3, SetName)
                {
                    Usage = "connection-name",
                    Summary = "Names this connection.",
                    Complexity = "O(1)", Since = "2.6.9", Group = CommandGroup.Connection,
                    Flags = CommandFlags.NoScript | CommandFlags.Loading | CommandFlags.Stale | CommandFlags.Sentinel,
                    Categories = AclCategories.Connection,
                    Tips = ["request_policy:all_nodes", "response_policy:all_succeeded"],
                },
                new("TRACKING", arity: -3, ClientTrackingCommands.Tracking)
                {
                    Usage = "<ON | OFF> [REDIRECT client-id] [PREFIX prefix [PREFIX prefix ...]] [BCAST] [OPTIN] "
                        + "[OPTOUT] " +
                        "[NOLOOP]",
                    Summary = "Switches invalidation messages for the keys that the client reads on or off.",
                    Complexity = "O(1)", Since = "6.0.0", Group = CommandGroup.Connection,
                    Flags = CommandFlags.NoScript | CommandFlags.Loading | CommandFlags.Stale | CommandFlags.Sentinel,
                    Categories = AclCategories.Connection,
                },
                new("TRACKINGINFO", arity: 2, ClientTrackingCommands.TrackingInfo)
                {
                    Summary = "Describes the tracking of this connection.",
                    Complexity = "O(1)", Since = "6.2.0", Group = CommandGroup.Connection,
                    Flags = CommandFlags.NoScript | CommandFlags.Loading | CommandFlags.Stale | CommandFlags.Sentinel,
                    Categories = AclCategories.Connection,
                },
                new("UNBLOCK", arity: -3, Unblock)
                {
                    Usage = "client-id [TIMEOUT | ERROR]",
                    Summary = "Ends the wait of a client in a blocking command.",
                    Complexity = "O(log N), N the connections", Since = "5.0.0", Group = CommandGroup.Connection,
                    Flags = CommandFlags.Admin | CommandFlags.NoScript | CommandFlags.Loading |
                        CommandFlags.Stale | CommandFlags.Sentinel,
                    Categories = AclCategories.Connection,
                },
                new("UNPAUSE", arity: 2, Unpause)
                {
                    Summary = "Ends a pause.",
                    Complexity = "O(N), N the connections that wait", Since = "6.2.0", Group = CommandGroup.Connection,
                    Flags = CommandFlags.Admin | CommandFlags.NoScript | CommandFlags.Loading |
                        CommandFlags.Stale | CommandFlags.Sentinel,
                    Categories = AclCategories.Connection,
                },
            ],
        },
    ];

    private static void GetName(ref CommandContext context)
    {
        if (!context.Args.Finish(context.Reply)) return;
        if (context.Session.Name is { } name) context.Reply.WriteBulk(name);
        else context.Reply.WriteNull();
    }

    private static void Id(ref CommandContext context)
    {
        if (!context.Args.Finish(context.Reply)) return;
        context.Reply.WriteInteger(context.Session.Id);
    }

    private static void Info(ref CommandContext context)
    {
        if (!context.Args.Finish(context.Reply)) return;
        var text = new StringBuilder();
        ClientLine.Append(text, context.Session);
        context.Reply.WriteVerbatim(Encoding.Latin1.GetBytes(text.ToString()));
    }

    private static void Kill(ref CommandContext context)
    {
        if (context.Args.Remaining == 1)
        {
            KillByAddress(ref context);
            return;
        }

        context.Args.RequireAtMost(FilterArgumentsMax, "arguments for CLIENT KILL");
        var filter = new ClientFilter { SkipMe = true };
        while (context.Args.Remaining > 0) ReadFilter(ref context, ref filter);
        if (!context.Args.Finish(context.Reply)) return;

        int killed = 0;
        foreach (var session in context.Server.Connections.Snapshot())
        {
            if (!filter.Fits(session, context.Session)) continue;
            Kill(session, context.Session);
            killed++;
        }
        context.Reply.WriteInteger(killed);
    }

    private static void KillByAddress(ref CommandContext context)
    {
        string address = Encoding.Latin1.GetString(context.Args.NextBytes());
        if (!context.Args.Finish(context.Reply)) return;
        foreach (var session in context.Server.Connections.Snapshot())
        {
            if (session.Address != address) continue;
            Kill(session, context.Session);
            context.Reply.WriteOk();
            return;
        }
        context.Fail("ERR No such client"u8);
    }

    // One's own connection gives the answer first.
    private static void Kill(Session session, Session self)
    {
        if (session == self) self.CloseAfterReply = true;
        else session.Kill();
    }

    private static void ReadFilter(ref CommandContext context, ref ClientFilter filter)
    {
        ref var args = ref context.Args;
        if (args.Remaining < 2) args.SyntaxError();
        else if (args.TryKeyword("ID"u8))
            filter.Id = args.NextInt64(1, long.MaxValue, "ERR client-id should be greater than 0"u8);
        else if (args.TryKeyword("TYPE"u8)) filter.Kind = ReadKind(ref args);
        else if (args.TryKeyword("ADDR"u8)) filter.Address = Encoding.Latin1.GetString(args.NextBytes());
        else if (args.TryKeyword("LADDR"u8)) filter.LocalAddress = Encoding.Latin1.GetString(args.NextBytes());
        else if (args.TryKeyword("USER"u8)) ReadUser(ref context, ref filter);
        else if (args.TryKeyword("SKIPME"u8)) filter.SkipMe = ReadYesOrNo(ref args);
        else if (args.TryKeyword("MAXAGE"u8)) filter.AgeSecondsMin = ReadAge(ref args);
        else args.SyntaxError();
    }

    private static ClientKind ReadKind(ref CommandArguments args)
    {
        var word = args.Peek();
        if (args.TryKeyword("NORMAL"u8)) return ClientKind.Normal;
        if (args.TryKeyword("PUBSUB"u8)) return ClientKind.PubSub;
        if (args.TryKeyword("REPLICA"u8) || args.TryKeyword("SLAVE"u8)) return ClientKind.Replica;
        if (args.TryKeyword("MASTER"u8)) return ClientKind.Primary;
        args.Fail((byte[])[.. "ERR Unknown client type '"u8, .. word, (byte)'\'']);
        return default;
    }

    private static void ReadUser(ref CommandContext context, ref ClientFilter filter)
    {
        var name = context.Args.NextBytes();
        filter.User = context.Server.Users.Find(UserTable.Decode(name));
        if (filter.User == null) context.Args.Fail((byte[])[.. "ERR No such user '"u8, .. name, (byte)'\'']);
    }

    private static bool ReadYesOrNo(ref CommandArguments args)
    {
        if (args.TryKeyword("YES"u8)) return true;
        if (!args.TryKeyword("NO"u8)) args.SyntaxError();
        return false;
    }

    private static long ReadAge(ref CommandArguments args)
    {
        long age = args.NextInt64(long.MinValue, long.MaxValue, "ERR maxage is not an integer or out of range"u8);
        if (age <= 0) args.Fail("ERR maxage should be greater than 0"u8);
        return age;
    }

    private static void List(ref CommandContext context)
    {
        ref var args = ref context.Args;
        ClientKind? kind = null;
        List<long>? ids = null;
        if (args.Remaining == 2 && args.TryKeyword("TYPE"u8)) kind = ReadKind(ref args);
        else if (args.Remaining >= 2 && args.TryKeyword("ID"u8))
        {
            args.RequireAtMost(IdsMax, "ids for CLIENT LIST");
            ids = [];
            var given = new HashSet<long>();
            while (args.Remaining > 0)
            {
                long id = args.NextInt64(long.MinValue, long.MaxValue, "ERR Invalid client ID"u8);
                if (given.Add(id)) ids.Add(id);
            }
        }
        if (!args.Finish(context.Reply)) return;

        var sessions = new List<Session>();
        if (ids == null) sessions.AddRange(context.Server.Connections.Snapshot());
        foreach (long id in ids ?? [])
        {
            if (context.Server.Connections.TryGet(id, out var session)) sessions.Add(session!);
        }

        PieceSteps<Lines>.Run(ref context, new Lines(sessions, kind));
    }

    /// <summary>The lines of CLIENT LIST, a client a piece; each as the client is at that moment.</summary>
    private struct Lines(List<Session> sessions, ClientKind? kind) : IPieceWork
    {
        private readonly StringBuilder _text = new();
        private int _at;

        public static bool ReadsArguments => false;

        public bool Next(ref CommandContext context)
        {
            if (_at == sessions.Count) return false;
            var session = sessions[_at++];
            if (kind == null || session.Kind == kind) ClientLine.Append(_text, session);
            return true;
        }

        public readonly void End(ref CommandContext context) =>
            context.Reply.WriteVerbatim(Encoding.Latin1.GetBytes(_text.ToString()));
    }

    private static void NoEvict(ref CommandContext context)
    {
        bool on = ReadOnOrOff(ref context.Args);
        if (!context.Args.Finish(context.Reply)) return;
        context.Session.NoEvict = on;
        context.Reply.WriteOk();
    }

    private static void NoTouch(ref CommandContext context)
    {
        bool on = ReadOnOrOff(ref context.Args);
        if (!context.Args.Finish(context.Reply)) return;
        context.Session.NoTouch = context.Store.LeavesNoTrace = on;
        context.Reply.WriteOk();
    }

    private static bool ReadOnOrOff(ref CommandArguments args)
    {
        if (args.TryKeyword("ON"u8)) return true;
        if (!args.TryKeyword("OFF"u8)) args.SyntaxError();
        return false;
    }

    private static void Pause(ref CommandContext context)
    {
        if (HelpReply.RefusesMore(ref context, countMax: 4)) return;
        long milliseconds = context.Args.NextInt64(long.MinValue, long.MaxValue,
            "ERR timeout is not an integer or out of range"u8);
        if (milliseconds < 0) context.Args.Fail("ERR timeout is negative"u8);
        bool writesOnly = context.Args.TryKeyword("WRITE"u8);
        if (!writesOnly && context.Args.Remaining > 0 && !context.Args.TryKeyword("ALL"u8))
            context.Args.Fail("ERR CLIENT PAUSE mode must be WRITE or ALL"u8);
        if (!context.Args.Finish(context.Reply)) return;
        context.Server.Pause.Begin(milliseconds, writesOnly);
        context.Reply.WriteOk();
    }

    private static void Unpause(ref CommandContext context)
    {
        if (!context.Args.Finish(context.Reply)) return;
        context.Server.Pause.End();
        context.Reply.WriteOk();
    }

    private static void Reply(ref CommandContext context)
    {
        if (context.Args.TryKeyword("ON"u8))
        {
            context.Session.ReplyMode = ReplyMode.On;
            context.Reply.WriteOk();
        }
        else if (context.Args.TryKeyword("OFF"u8))
        {
            context.Session.ReplyMode = ReplyMode.Off;
        }
        else if (context.Args.TryKeyword("SKIP"u8))
        {
            // Without replies at all there is none to skip.
            if (context.Session.ReplyMode == ReplyMode.On) context.Session.ReplyMode = ReplyMode.Skip;
            else if (context.Session.ReplyMode == ReplyMode.Skip && !context.InTransaction)
                context.Session.ReplyMode = ReplyMode.SkipAgain;
        }
        else
        {
            context.Fail(Errors.Syntax);
        }
    }

    private static void SetInfo(ref CommandContext context)
    {
        var attribute = context.Args.Peek();
        bool isName = context.Args.TryKeyword("LIB-NAME"u8);
        if (!isName && !context.Args.TryKeyword("LIB-VER"u8))
            context.Args.Fail((byte[])[.. "ERR Unrecognized option '"u8, .. attribute, (byte)'\'']);
        var value = context.Args.NextBytes();
        if (value.Length > ClientText.BytesMax)
            context.Args.Fail((byte[])[.. "ERR "u8, .. attribute, .. " cannot be longer than 128 bytes."u8]);
        if (!ClientText.IsAllowed(value))
            context.Args.Fail((byte[])[.. "ERR "u8, .. attribute,
                .. " cannot contain spaces, newlines or special characters."u8]);
        if (!context.Args.Finish(context.Reply)) return;
        if (isName) context.Session.LibName = ClientText.Keep(value);
        else context.Session.LibVersion = ClientText.Keep(value);
        context.Reply.WriteOk();
    }

    private static void SetName(ref CommandContext context)
    {
        var name = context.Args.NextBytes();
        if (name.Length > ClientText.BytesMax) context.Args.Fail(Errors.ClientNameTooLong);
        if (!ClientText.IsAllowed(name)) context.Args.Fail(Errors.ClientName);
        if (!context.Args.Finish(context.Reply)) return;
        context.Session.Name = ClientText.Keep(name);
        context.Reply.WriteOk();
    }

    private static void Unblock(ref CommandContext context)
    {
        if (HelpReply.RefusesMore(ref context, countMax: 4)) return;
        long id = context.Args.NextInt64();
        bool isError = context.Args.TryKeyword("ERROR"u8);
        if (!isError && context.Args.Remaining > 0 && !context.Args.TryKeyword("TIMEOUT"u8))
            context.Args.Fail("ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR"u8);
        if (!context.Args.Finish(context.Reply)) return;

        // Only a blocking command can be ended so: a pause or a late answer is no wait of the client's own.
        bool waits = context.Server.Connections.TryGet(id, out var session) && session!.Blocked is { } blocked
            && blocked.TryEnd(isError);
        context.Reply.WriteInteger(waits ? 1 : 0);
    }

    /// <summary>Which connections CLIENT KILL means: all conditions that are given must fit.</summary>
    private struct ClientFilter
    {
        public long Id;
        public ClientKind? Kind;
        public string? Address, LocalAddress;
        public User? User;
        public long AgeSecondsMin;
        public bool SkipMe;

        public readonly bool Fits(Session session, Session self) =>
            (Id == 0 || session.Id == Id)
            && (Kind == null || session.Kind == Kind)
            && (Address == null || session.Address == Address)
            && (LocalAddress == null || session.LocalAddress == LocalAddress)
            && (User == null || session.User == User)
            && (AgeSecondsMin == 0 || ClientLine.AgeSeconds(session) >= AgeSecondsMin)
            && !(SkipMe && session == self);
    }
}

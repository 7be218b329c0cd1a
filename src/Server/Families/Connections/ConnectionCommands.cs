using System.Diagnostics;
using Kv.Protocol;
using Kv.Server.Configuration;
using Kv.Server.Execution;
using Kv.Server.Sessions;
using Kv.Server.Users;

namespace Kv.Server.Families;

/// <summary>Who the client is, what it speaks, and whether the server is there.</summary>
internal static class ConnectionCommands
{
    internal static readonly Command[] Table =
    [
        new("AUTH", arity: -2, Auth)
        {
            Usage = "[username] password",
            Summary = "Says who the client is: the password of the default user, or a user and its password.",
            Complexity = "O(N), N the passwords that user has", Since = "1.0.0", Group = CommandGroup.Connection,
            Secrets = static (in _, index) => index > 0,
            Flags = CommandFlags.NoScript | CommandFlags.Loading | CommandFlags.Stale | CommandFlags.Fast
            | CommandFlags.NoAuth |
                CommandFlags.Sentinel | CommandFlags.AllowBusy | CommandFlags.ChangesSession,
            Categories = AclCategories.Connection,
        },
        new("ECHO", arity: 2, Echo)
        {
            Usage = "message",
            Summary = "Answers with its argument.",
            Complexity = "O(1)", Since = "1.0.0", Group = CommandGroup.Connection,
            Flags = CommandFlags.Loading | CommandFlags.Stale | CommandFlags.Fast,
            Categories = AclCategories.Connection,
        },
        new("HELLO", arity: -1, Hello)
        {
            Usage = "[protover [AUTH username password] [SETNAME clientname]]",
            Summary = "Chooses the version of the protocol, and may say who the client is and what it is called.",
            Complexity = "O(1)", Since = "6.0.0", Group = CommandGroup.Connection,
            Secrets = static (in args, index) => args.FollowsWord(index, "AUTH"u8, 2),
            Flags = CommandFlags.NoScript | CommandFlags.Loading | CommandFlags.Stale | CommandFlags.Fast
            | CommandFlags.NoAuth |
                CommandFlags.Sentinel | CommandFlags.AllowBusy | CommandFlags.ChangesSession,
            Categories = AclCategories.Connection,
        },
        new("PING", arity: -1, Ping)
        {
            Usage = "[message]",
            Summary = "Answers PONG, or its argument: the server is there.",
            Complexity = "O(1)", Since = "1.0.0", Group = CommandGroup.Connection,
            Flags = CommandFlags.Fast | CommandFlags.Sentinel,
            Categories = AclCategories.Connection,
            Tips = ["request_policy:all_shards", "response_policy:all_succeeded"],
        },
        new("QUIT", arity: -1, Quit)
        {
            Summary = "Closes the connection after the replies so far.",
            Complexity = "O(1)", Since = "1.0.0", Group = CommandGroup.Connection,
            Flags = CommandFlags.AllowBusy | CommandFlags.NoScript | CommandFlags.Loading | CommandFlags.Stale |
                CommandFlags.Fast | CommandFlags.NoAuth | CommandFlags.ChangesSession | CommandFlags.NotQueued,
            Categories = AclCategories.Connection,
            DeprecatedSince = "7.2.0",
        },
        new("RESET", arity: 1, Reset)
        {
            Summary = "Makes the connection as it was when it was opened.",
            Complexity = "O(1)", Since = "6.2.0", Group = CommandGroup.Connection,
            Flags = CommandFlags.NoScript | CommandFlags.Loading | CommandFlags.Stale | CommandFlags.Fast |
                CommandFlags.NoAuth | CommandFlags.AllowBusy | CommandFlags.ChangesSession | CommandFlags.NotQueued,
            Categories = AclCategories.Connection,
        },
        new("SELECT", arity: 2, Select)
        {
            Usage = "index",
            Summary = "Chooses the database of the commands that follow.",
            Complexity = "O(1)", Since = "1.0.0", Group = CommandGroup.Connection,
            Flags = CommandFlags.Loading | CommandFlags.Stale | CommandFlags.Fast | CommandFlags.ChangesSession,
            Categories = AclCategories.Connection,
        },
    ];

    private static ReadOnlySpan<byte> HelloFirst =>
        "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO AUTH <user> "u8
        + "<pass> option "u8 +
        "can be used to authenticate the client and select the RESP protocol version at the same time"u8;

    private static void Auth(ref CommandContext context)
    {
        ReadOnlySpan<byte> user = "default"u8;
        if (context.Args.Count > 3) context.Args.SyntaxError();
        bool named = context.Args.Count == 3;
        if (named) user = context.Args.NextBytes();
        var password = context.Args.NextBytes();
        if (!context.Args.Finish(context.Reply)) return;

        if (!named && context.Server.Users.Default.Rules.NeedsNoPassword)
        {
            context.Fail(Errors.NoPassword);
            return;
        }
        if (TryAuthenticate(ref context, user, password)) context.Reply.WriteOk();
    }

    private static void Echo(ref CommandContext context)
    {
        var message = context.Args.NextBytes();
        if (!context.Args.Finish(context.Reply)) return;
        context.Reply.WriteBulk(message);
    }

    private static void Hello(ref CommandContext context)
    {
        bool hasVersion = context.Args.Remaining > 0;
        var version = context.Session.Version;
        if (hasVersion && !TryReadVersion(ref context, out version)) return;

        ReadOnlySpan<byte> user = default, password = default, name = default;
        bool hasAuth = false, hasName = false;
        while (context.Args.Remaining > 0)
        {
            var option = context.Args.Peek();
            if (context.Args.Remaining >= 3 && context.Args.TryKeyword("AUTH"u8))
            {
                hasAuth = true;
                user = context.Args.NextBytes();
                password = context.Args.NextBytes();
            }
            else if (context.Args.Remaining >= 2 && context.Args.TryKeyword("SETNAME"u8))
            {
                hasName = true;
                name = context.Args.NextBytes();
                if (name.Length > ClientText.BytesMax) context.Args.Fail(Errors.ClientNameTooLong);
                if (!ClientText.IsAllowed(name)) context.Args.Fail(Errors.ClientName);
            }
            else
            {
                context.Args.Fail((byte[])[.. "ERR Syntax error in HELLO option '"u8, .. option, (byte)'\'']);
            }
        }
        if (!context.Args.Finish(context.Reply)) return;

        // The last thing that can be refused: nothing has changed before it.
        if (hasAuth)
        {
            if (!TryAuthenticate(ref context, user, password)) return;
        }
        else if (!context.Session.Authenticated)
        {
            context.Fail(HelloFirst);
            return;
        }

        var session = context.Session;
        if (hasName) session.Name = ClientText.Keep(name);
        if (hasVersion) context.Reply.Version = session.Version = version;
        WriteHello(context.Reply, session);
    }

    private static bool TryReadVersion(ref CommandContext context, out RespVersion version)
    {
        version = RespVersion.Resp2;
        if (!NumberText.TryParseInt64(context.Args.NextBytes(), out long number))
        {
            context.Fail("ERR Protocol version is not an integer or out of range"u8);
            return false;
        }
        if (number is not (2 or 3))
        {
            context.Fail(Errors.NoProto);
            return false;
        }
        version = number == 3 ? RespVersion.Resp3 : RespVersion.Resp2;
        return true;
    }

    private static void WriteHello(ReplyWriter reply, Session session)
    {
        Debug.Assert(reply.Version == session.Version, "the reply is in the version that it names");
        reply.WriteMap(7);
        reply.WriteBulk("server"u8);
        reply.WriteBulk("redis"u8);
        reply.WriteBulk("version"u8);
        reply.WriteBulk(ServerVersion.RedisVersion);
        reply.WriteBulk("proto"u8);
        reply.WriteInteger(session.Version == RespVersion.Resp3 ? 3 : 2);
        reply.WriteBulk("id"u8);
        reply.WriteInteger(session.Id);
        reply.WriteBulk("mode"u8);
        reply.WriteBulk("standalone"u8);
        reply.WriteBulk("role"u8);
        reply.WriteBulk("master"u8);
        reply.WriteBulk("modules"u8);
        reply.WriteArray(0);
    }

    private static void Ping(ref CommandContext context)
    {
        bool hasMessage = context.Args.Remaining > 0;
        if (context.Args.Remaining > 1)
        {
            context.Fail("ERR wrong number of arguments for 'ping' command"u8);
            return;
        }
        var message = hasMessage ? context.Args.NextBytes() : default;
        if (!context.Args.Finish(context.Reply)) return;

        // A RESP2 client with subscriptions reads arrays only.
        if (context.Session.Kind == ClientKind.PubSub && context.Session.Version == RespVersion.Resp2)
        {
            context.Reply.WriteArray(2);
            context.Reply.WriteBulk("pong"u8);
            context.Reply.WriteBulk(message);
        }
        else if (hasMessage) context.Reply.WriteBulk(message);
        else context.Reply.WriteSimple("PONG"u8);
    }

    private static void Quit(ref CommandContext context)
    {
        context.Session.CloseAfterReply = true;     // arguments are ignored, as ever
        context.Session.RefuseMessages();           // the client expects the end behind the reply
        context.Session.WriteMessages(context.Reply);
        context.Reply.WriteOk();
    }

    private static void Reset(ref CommandContext context)
    {
        if (!context.Args.Finish(context.Reply)) return;
        var session = context.Session;
        if (session.Subscriptions is { } subscriptions)
        {
            context.Server.PubSub.UnsubscribeAll(subscriptions);
            session.Subscriptions = null;
        }

        session.EndMonitoring();
        session.WriteMessages(context.Reply);       // published before this: it expects none behind the reply
        if (session.Tracking != null) context.Server.Tracking.End(session);
        session.Transaction?.Close();
        Debug.Assert(!session.InMulti && session.Subscriptions == null && session.Tracking == null,
            "nothing is left of before");
        session.Kind = ClientKind.Normal;
        session.Database = 0;
        session.Name = null;
        session.ReplyMode = ReplyMode.On;
        session.NoEvict = session.NoTouch = context.Store.LeavesNoTrace = false;
        session.User = context.Server.Users.Default;
        session.Authenticated = session.User.Rules.LetsAnyoneIn;
        session.FollowUser();
        context.Reply.Version = session.Version = RespVersion.Resp2;
        context.Reply.WriteSimple("RESET"u8);
    }

    private static void Select(ref CommandContext context)
    {
        long index = context.Args.NextInt64();
        if (index is < int.MinValue or > int.MaxValue)
            context.Args.Fail("ERR value is out of range, value must between -2147483648 and 2147483647"u8);
        if ((ulong)index >= (ulong)context.Server.Options.Databases) context.Args.Fail(Errors.DatabaseOutOfRange);
        if (!context.Args.Finish(context.Reply)) return;
        context.Session.Database = (int)index;
        context.Reply.WriteOk();
    }

    /// <summary>Makes the session that user's, or answers that it cannot be, late when this address has failed
    /// before.</summary>
    private static bool TryAuthenticate(ref CommandContext context, ReadOnlySpan<byte> user,
        ReadOnlySpan<byte> password)
    {
        var session = context.Session;
        var failures = context.Server.AuthFailures;
        // In EXEC nobody waits: there an address that would have to is not listened to, or it could guess on and on.
        bool isHeard = !context.InTransaction || !failures.WouldDelay(session.Address);
        if (isHeard && context.Server.Users.Authenticate(user, password) is { } known)
        {
            session.User = known;
            session.Authenticated = true;
            session.FollowUser();
            if (!known.Rules.NeedsNoPassword) failures.Clear(session.Address, user);
            return true;
        }

        if (!context.InTransaction) session.LastCommand = context.Command;      // the log shows the client as it is now
        context.Server.AccessLog.Add(session, session.InMulti ? AccessContext.Multi : AccessContext.TopLevel,
            Denial.Auth, context.Args[0].Span, UserTable.DecodeName(user));
        long delayMs = failures.Add(session.Address, user);
        if (delayMs > 0) context.Park(delayMs, new LateRefusal());
        else context.Fail(Errors.WrongPass);
        return false;
    }

    /// <summary>Answers a wrong password after a while.</summary>
    private sealed class LateRefusal : ICommandSteps
    {
        public bool Holds => false;

        public bool Step(ref CommandContext context)
        {
            context.Fail(Errors.WrongPass);
            return true;
        }
    }
}

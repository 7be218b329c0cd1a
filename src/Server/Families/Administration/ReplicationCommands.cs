using System.Text;
using Kv.Server.Execution;
using Kv.Server.Replication;
using Kv.Server.Sessions;

namespace Kv.Server.Families;

/// <summary>Replication: what a primary has for its replicas, and a clear error where somebody wants it to be
/// one.</summary>
internal static class ReplicationCommands
{
    private const int PortMax = 65_535;

    internal static readonly Command[] Table =
    [
        new("FAILOVER", arity: -1, Failover)
        {
            Usage = "[TO host port [FORCE]] [ABORT] [TIMEOUT milliseconds]",
            Summary = "Lets a replica take over; there are none yet, which is the error.",
            Complexity = "O(1)", Since = "6.2.0", Group = CommandGroup.Server,
            Flags = CommandFlags.Admin | CommandFlags.NoScript | CommandFlags.Stale,
        },
        new("PSYNC", arity: -3, PSync)
        {
            Usage = "replicationid offset",
            Summary = "Is how a replica asks for all data, or for the rest of the stream.",
            Complexity = "O(1)", Since = "2.8.0", Group = CommandGroup.Server,
            Flags = CommandFlags.NoAsyncLoading | CommandFlags.Admin | CommandFlags.NoMulti | CommandFlags.NoScript,
        },
        new("REPLCONF", arity: -1, ReplConf)
        {
            Summary = "Is what a replica says of itself.",
            Complexity = "O(1)", Since = "3.0.0", Group = CommandGroup.Server,
            Flags = CommandFlags.Admin | CommandFlags.NoScript | CommandFlags.Loading | CommandFlags.Stale
                | CommandFlags.AllowBusy | CommandFlags.OwnReplies,
        },
        new("REPLICAOF", arity: 3, ReplicaOf)
        {
            Usage = "<host port | NO ONE>",
            Summary = "Makes the server a replica, which it cannot be yet, or with NO ONE a primary, which it is.",
            Complexity = "O(1)", Since = "5.0.0", Group = CommandGroup.Server,
            Flags = CommandFlags.NoAsyncLoading | CommandFlags.Admin | CommandFlags.NoScript | CommandFlags.Stale,
        },
        new("SLAVEOF", arity: 3, ReplicaOf)
        {
            Usage = "<host port | NO ONE>",
            Summary = "Does the same as REPLICAOF, by its former name.",
            Complexity = "O(1)", Since = "1.0.0", Group = CommandGroup.Server,
            DeprecatedSince = "5.0.0",
            Flags = CommandFlags.NoAsyncLoading | CommandFlags.Admin | CommandFlags.NoScript | CommandFlags.Stale,
        },
        new("SYNC", arity: 1, Sync)
        {
            Summary = "Is how a replica of long ago, or a tool, asks for all data.",
            Complexity = "O(1)", Since = "1.0.0", Group = CommandGroup.Server,
            Flags = CommandFlags.NoAsyncLoading | CommandFlags.Admin | CommandFlags.NoMulti | CommandFlags.NoScript,
        },
    ];

    private static void Refuse(ref CommandContext context) => context.Fail(
        Encoding.ASCII.GetBytes($"ERR {context.Command.Name} is not possible: this server cannot be a replica yet"));

    private static void PSync(ref CommandContext context)
    {
        if (IsOne(ref context)) return;
        var id = context.Args.NextBytes();
        long from = context.Args.NextInt64();
        if (context.Args.Failed) from = -1;
        // The first byte of the stream is number 1.
        if (from > 0 && context.Server.Replicas.TryGoOn(context.Session, id, from - 1))
        {
            context.Reply.WriteRaw("+CONTINUE\r\n"u8);
            return;
        }

        BeginSync(ref context, withHead: true);
    }

    private static void Sync(ref CommandContext context)
    {
        if (!IsOne(ref context)) BeginSync(ref context, withHead: false);
    }

    private static bool IsOne(ref CommandContext context)
    {
        if (context.Session.Kind != ClientKind.Replica) return false;
        context.Fail("ERR this connection is a replica's already"u8);
        return true;
    }

    /// <summary>Leaves all to steps: a snapshot is written beside clients.</summary>
    private static void BeginSync(ref CommandContext context, bool withHead)
    {
        var replicas = context.Server.Replicas;
        context.Continue(new SyncSteps(replicas,
            replicas.Begin(context.Session, follows: withHead && !context.Session.WantsFileOnly), withHead));
    }

    private static void ReplConf(ref CommandContext context)
    {
        while (context.Args.Remaining > 1)
        {
            if (context.Args.TryKeyword("ACK"u8))
            {
                long offset = context.Args.NextInt64(), onDisk = -1;
                if (context.Args.Remaining > 1 && context.Args.TryKeyword("FACK"u8)) onDisk = context.Args.NextInt64();
                if (!context.Args.Failed) context.Server.Replicas.Acknowledge(context.Session, offset, onDisk);
                return;     // no reply: it comes in the middle of the stream
            }

            if (context.Args.TryKeyword("GETACK"u8)) return;
            bool isPort = context.Args.TryKeyword("LISTENING-PORT"u8);
            if (isPort) context.Session.ReplicaPort = (int)context.Args.NextInt64(0, PortMax, Errors.NotAnInteger);
            else if (context.Args.TryKeyword("VERSION"u8)) context.Session.KnowsFieldExpiry = IsVersionOfExpiry(
                context.Args.NextBytes());
            else if (context.Args.TryKeyword("RDB-ONLY"u8)) context.Session.WantsFileOnly =
                context.Args.NextInt64(0, 1, Errors.NotAnInteger) == 1;
            else context.Args.Skip(2);      // capa, ip-address...: all is sent in the one form
        }

        if (context.Args.Remaining > 0) context.Args.SyntaxError();
        if (context.Args.Finish(context.Reply)) context.Reply.WriteOk();
    }

    /// <summary>Whether a server of this version knows that fields of hashes can expire: from 7.4 on.</summary>
    private static bool IsVersionOfExpiry(ReadOnlySpan<byte> text) =>
        Version.TryParse(Encoding.Latin1.GetString(text), out var version) && version >= new Version(7, 4);

    private static void Failover(ref CommandContext context)
    {
        ref var args = ref context.Args;
        bool hasTime = false, hasTarget = false;
        if (args.Remaining == 1 && args.TryKeyword("ABORT"u8))
        {
            if (args.Finish(context.Reply)) context.Fail("ERR No failover in progress."u8);
            return;
        }

        while (args.Remaining > 0)
        {
            if (args.TryKeyword("FORCE"u8))
            {
                // Of a failover that does not come about.
            }
            else if (!hasTime && args.Remaining > 1 && args.TryKeyword("TIMEOUT"u8))
            {
                hasTime = true;
                if (args.NextInt64() <= 0) args.Fail("ERR FAILOVER timeout must be greater than 0"u8);
            }
            else if (!hasTarget && args.Remaining > 2 && args.TryKeyword("TO"u8))
            {
                hasTarget = true;
                args.Skip(1);
                args.NextInt64();
            }
            else
            {
                args.SyntaxError();
            }
        }

        if (args.Finish(context.Reply)) context.Fail("ERR FAILOVER requires connected replicas."u8);
    }

    private static void ReplicaOf(ref CommandContext context)
    {
        ref var args = ref context.Args;
        if (CommandName.Equal("NO"u8, args[1].Span) && CommandName.Equal("ONE"u8, args[2].Span))
        {
            context.Reply.WriteOk();
            return;
        }

        args.Skip(1);
        args.NextInt64(0, PortMax, "ERR Invalid master port"u8);
        if (args.Finish(context.Reply)) Refuse(ref context);
    }
}

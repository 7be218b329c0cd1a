using Kv.Protocol;
using Kv.Server.Configuration;
using Kv.Server.Execution;
using Kv.Storage;
using Microsoft.Extensions.Logging;

namespace Kv.Server.Families;

/// <summary>DEBUG: for tests, behind enable-debug-command.</summary>
/// <remarks>As in Redis its words are no subcommands: COMMAND does not tell them, and a wrong count is an unknown
/// word.</remarks>
internal static class DebugCommands
{
    private const double SleepMsMax = int.MaxValue;

    /// <summary>Each try waits some milliseconds for a session that is in a long turn.</summary>

    /// <summary>Keys that a transaction adds: all others stand still until it ends.</summary>
    private const long PopulateInExecMax = 1_000_000;

    internal static readonly Command[] Table =
    [
        new("DEBUG", arity: -2, Debug)
        {
            Summary = "Holds what tests of servers and clients need.",
            Complexity = "Depends on the subcommand.", Since = "1.0.0", Group = CommandGroup.Server,
            Flags = CommandFlags.Admin | CommandFlags.NoScript | CommandFlags.Loading | CommandFlags.Stale
            | CommandFlags.Protected,
            UnnamedKeysFrom = 1,
        },
    ];

    private static readonly string[] Help =
    [
        "DEBUG <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
        "DIGEST",
        "    Stops all clients and returns a digest of all data: the same for the same data, on a Redis server too.",
        "DIGEST-VALUE <key> [<key> ...]",
        "    Returns such a digest of each value.",
        "ERROR <message>",
        "    Answers the message as an error.",
        "INTEGRITY",
        "    Stops all clients, compares index, log, collections and accounts, and returns the bytes held outside of "
        + "the log.",
        "LOADAOF",
        "    Stops all clients, and loads the append-only file once more.",
        "LOG <message>",
        "    Writes the message to the server's log.",
        "OBJECT <key>",
        "    Tells how the value of a key is kept.",
        "PANIC",
        "    Ends the server by an exception that nobody handles.",
        "POPULATE <count> [<prefix>] [<size>]",
        "    Adds so many strings at keys named key:<number>, or with that prefix; of that size. Others are served "
        + "meanwhile.",
        "PROTOCOL <string|integer|double|bignum|null|array|set|map|attrib|push|verbatim|true|false>",
        "    Answers something of that type.",
        "QUICKLIST-PACKED-THRESHOLD <size>",
        "    Does nothing: lists have no nodes that long elements are kept apart from.",
        "RELOAD",
        "    Stops all clients, writes each value as a snapshot has it, and reads it again.",
        "SEGFAULT",
        "    Ends the server by a write to an address where nothing is.",
        "SET-ACTIVE-EXPIRE <0|1>",
        "    With 0, expired keys are freed only when somebody asks for them.",
        "SET-DISABLE-DENY-SCRIPTS <0|1>",
        "    Does nothing: there are no scripts yet.",
        "SLEEP <seconds>",
        "    Answers after so many seconds, decimals allowed. Only this client waits.",
        "HELP",
        "    Prints this help.",
    ];

    private static void Debug(ref CommandContext context)
    {
        if (!IsAllowed(ref context))
        {
            context.Fail(
                "ERR DEBUG command not allowed. If the enable-debug-command option is set to \"local\", you can run "u8
                + "it from a local connection, "u8
                + "otherwise you need to set this option in the configuration file, and then restart the server."u8);
            return;
        }

        bool hasOne = context.Args.Count == 3;
        if (hasOne && context.Args.TryKeyword("SLEEP"u8)) Sleep(ref context);
        else if (hasOne && context.Args.TryKeyword("OBJECT"u8)) Object(ref context);
        else if (hasOne && context.Args.TryKeyword("SET-ACTIVE-EXPIRE"u8)) SetActiveExpire(ref context);
        else if (hasOne && context.Args.TryKeyword("PROTOCOL"u8)) Protocol(ref context);
        else if (hasOne && context.Args.TryKeyword("ERROR"u8)) Error(ref context);
        else if (hasOne && (context.Args.TryKeyword("SET-DISABLE-DENY-SCRIPTS"u8)
            || context.Args.TryKeyword("QUICKLIST-PACKED-THRESHOLD"u8))) context.Reply.WriteOk();
        else if (hasOne && context.Args.TryKeyword("LOG"u8)) Log(ref context);
        else if (context.Args.Count is >= 3 and <= 5 && context.Args.TryKeyword("POPULATE"u8)) Populate(ref context);
        else if (context.Args.TryKeyword("RELOAD"u8)) Reload(ref context);
        else if (context.Args.Count == 2 && context.Args.TryKeyword("LOADAOF"u8)) LoadAof(ref context);
        else if (context.Args.TryKeyword("DIGEST-VALUE"u8)) DigestValue(ref context);
        else if (context.Args.Count == 2 && context.Args.TryKeyword("DIGEST"u8)) Digest(ref context);
        else if (context.Args.Count == 2 && context.Args.TryKeyword("INTEGRITY"u8)) Integrity(ref context);
        else if (context.Args.Count == 2 && context.Args.TryKeyword("PANIC"u8)) Crash(Panic);
        else if (context.Args.Count == 2 && context.Args.TryKeyword("SEGFAULT"u8)) Crash(Fault);
        else if (context.Args.Count == 2 && context.Args.TryKeyword("HELP"u8)) WriteHelp(context.Reply);
        else HelpReply.FailSubcommand(ref context);
    }

    private static bool IsAllowed(ref CommandContext context) => context.Server.Options.EnableDebugCommand switch
    {
        AllowedFor.Yes => true,
        AllowedFor.Local => context.Session.IsLocal,
        _ => false,
    };

    // What is no number counts as 0, as in C.
    private static void Sleep(ref CommandContext context)
    {
        NumberText.TryParseDouble(context.Args.NextBytes(), out double seconds);
        double milliseconds = Math.Min(Math.Ceiling(seconds * 1000), SleepMsMax);
        if (milliseconds > 0) context.Park((long)milliseconds, new ReplyOk());
        else context.Reply.WriteOk();
    }

    private static void SetActiveExpire(ref CommandContext context)
    {
        NumberText.TryParseInt64(context.Args.NextBytes(), out long active);
        context.Server.Store.ActiveExpiry = active != 0;
        context.Reply.WriteOk();
    }

    /// <summary>Ends the process: no client's thread handles what this one throws.</summary>
    private static void Crash(ThreadStart crash)
    {
        var thread = new Thread(crash) { Name = "kv-crash" };
        thread.Start();
        thread.Join();      // as in Redis nothing is answered
    }

    private static void Panic() => throw new InvalidOperationException("Panic, as DEBUG PANIC asked for");

    private static unsafe void Fault() => *(byte*)null = 0;

    private static void Log(ref CommandContext context)
    {
        string text = System.Text.Encoding.Latin1.GetString(context.Args.NextBytes());
        context.Server.Log.LogWarning("DEBUG LOG: {Text}", text);
        context.Reply.WriteOk();
    }

    private static void Populate(ref CommandContext context)
    {
        long count = context.Args.NextInt64(0, long.MaxValue, "ERR value is out of range, must be positive"u8);
        byte[] prefix = context.Args.Remaining > 0 ? context.Args.NextBytes().ToArray() : "key"u8.ToArray();
        long bytes = context.Args.Remaining > 0
            ? context.Args.NextInt64(0, Store.ValueBytesMax, "ERR value is out of range, must be positive"u8) : 0;
        if (prefix.Length > Store.KeyBytesMax - 32) context.Args.Fail(Errors.KeyTooLong);
        if (!context.Args.Finish(context.Reply)) return;
        var populate = new PopulateSteps(context.InTransaction ? Math.Min(count, PopulateInExecMax) : count, prefix,
            (int)bytes);
        if (!context.InTransaction)
        {
            context.Continue(populate);
            return;
        }

        // Ends: each step gets on.
        while (!populate.Step(ref context))
        {
        }
    }

    // All clients wait while everything is written and read again: some 100 ns a key or element.
    private static void Reload(ref CommandContext context)
    {
        if (context.Args.TryKeyword("NOSAVE"u8))
        {
            context.Fail("ERR Error trying to load the RDB dump, there is none: RELOAD writes no file"u8);
            return;
        }

        if (context.Args.Finish(context.Reply)) OtherClients.Run(ref context, ReloadNow);
    }

    private static void ReloadNow(ref CommandContext context)
    {
        var status = RdbStatus.Ok;
        try
        {
            using var reload = new ReloadKeys(context.Server, context.Store);
            for (int database = 0; database < context.Server.Options.Databases && status == RdbStatus.Ok; database++)
                if (context.Server.Store.Count(database) != 0) status = reload.Run(database);
        }
        finally
        {
            context.Store.Select(context.Session.Database);
        }

        if (status == RdbStatus.Ok) context.Reply.WriteOk();
        else context.Fail(status == RdbStatus.OutOfMemory
            ? Errors.OutOfMemory : "ERR Error trying to load the RDB dump"u8);
    }

    // All clients wait while it is loaded.
    private static void LoadAof(ref CommandContext context)
    {
        if (context.Args.Finish(context.Reply)) OtherClients.Run(ref context, LoadAofNow);
    }

    private static void LoadAofNow(ref CommandContext context)
    {
        // What a transaction has done so far is to be in the file: the feed would stand still at its ticket.
        context.Events.Effects.Close(context.Session);
        string? error;
        try
        {
            error = context.Server.Aof.Reload(context.Store);
        }
        finally
        {
            context.Store.Select(context.Session.Database);
        }

        if (error == null) context.Reply.WriteOk();
        else context.Fail([.. "ERR Error trying to load the AOF files, check server logs: "u8,
            .. System.Text.Encoding.UTF8.GetBytes(error)]);
    }

    private static void Error(ref CommandContext context)
    {
        byte[] text = context.Args.NextBytes().ToArray();
        foreach (ref byte letter in text.AsSpan())
            if (letter is (byte)'\r' or (byte)'\n') letter = (byte)' ';
        context.Fail(text);
    }

    private static void Protocol(ref CommandContext context)
    {
        var args = context.Args;
        var reply = context.Reply;
        bool isThree = context.Session.Version == RespVersion.Resp3;
        if (args.TryKeyword("STRING"u8)) reply.WriteBulk("Hello World"u8);
        else if (args.TryKeyword("INTEGER"u8)) reply.WriteInteger(12345);
        else if (args.TryKeyword("DOUBLE"u8)) reply.WriteDouble(3.141);
        else if (args.TryKeyword("BIGNUM"u8)) reply.WriteBigNumber("1234567999999999999999999999999999999"u8);
        else if (args.TryKeyword("NULL"u8)) reply.WriteNull();
        else if (args.TryKeyword("ARRAY"u8)) WriteThree(reply, isSet: false);
        else if (args.TryKeyword("SET"u8)) WriteThree(reply, isSet: true);
        else if (args.TryKeyword("MAP"u8)) WriteThreePairs(reply);
        else if (args.TryKeyword("ATTRIB"u8))
        {
            if (isThree) reply.WriteRaw("|1\r\n$14\r\nkey-popularity\r\n*2\r\n$7\r\nkey:123\r\n:90\r\n"u8, 0);
            reply.WriteBulk("Some real reply following the attribute"u8);
        }
        else if (args.TryKeyword("PUSH"u8))
        {
            if (!isThree)
            {
                context.Fail("ERR RESP2 is not supported by this command"u8);
                return;
            }

            reply.WriteRaw(">2\r\n$16\r\nserver-cpu-usage\r\n:42\r\n"u8, 0);
            reply.WriteBulk("Some real reply following the push reply"u8);
        }
        else if (args.TryKeyword("TRUE"u8)) reply.WriteBoolean(true);
        else if (args.TryKeyword("FALSE"u8)) reply.WriteBoolean(false);
        else if (args.TryKeyword("VERBATIM"u8)) reply.WriteVerbatim("This is a verbatim\nstring"u8);
        else context.Fail(
            "ERR Wrong protocol type name. Please use one of the following: "u8
            + "string|integer|double|bignum|null|array|set|map|attrib|push|verbatim|true|false"u8);
    }

    private static void WriteThree(ReplyWriter reply, bool isSet)
    {
        if (isSet) reply.WriteSet(3);
        else reply.WriteArray(3);
        for (int i = 0; i < 3; i++) reply.WriteInteger(i);
    }

    private static void WriteThreePairs(ReplyWriter reply)
    {
        reply.WriteMap(3);
        for (int i = 0; i < 3; i++)
        {
            reply.WriteInteger(i);
            reply.WriteBoolean(i == 1);
        }
    }

    private static void DigestValue(ref CommandContext context)
    {
        int keys = context.Args.Remaining;
        context.Reply.WriteArray(keys);
        for (int i = 0; i < keys; i++)
        {
            var digest = new ValueDigest();
            using (HeldKey held = context.Store.Hold(context.Args.NextKey(), DataType.Any))
            {
                if (held.Status == StoreStatus.Ok)
                    digest.AddValue(held.Value.View, context.Server.Store, context.Store.NowMs);
            }

            context.Reply.WriteSimple(System.Text.Encoding.ASCII.GetBytes(digest.ToString()));
        }
    }

    // All clients wait while everything is walked: about 1 us a key or element.
    private static void Digest(ref CommandContext context) => OtherClients.Run(ref context, DigestNow);

    private static void DigestNow(ref CommandContext context)
    {
        var all = new ValueDigest();
        try
        {
            for (int database = 0; database < context.Server.Options.Databases; database++)
            {
                if (context.Server.Store.Count(database) == 0) continue;
                context.Store.Select(database);
                all.Mix([(byte)(database >> 24), (byte)(database >> 16), (byte)(database >> 8), (byte)database]);
                var visit = new DigestKeys(context.Server.Store, context.Store.NowMs, all);
                ulong cursor = 0;
                // Ends: the cursor comes round.
                do cursor = context.Store.Scan(cursor, ref visit);
                while (cursor != 0);
                all = visit.Digest;
            }
        }
        finally
        {
            context.Store.Select(context.Session.Database);
        }

        context.Reply.WriteSimple(System.Text.Encoding.ASCII.GetBytes(all.ToString()));
    }

    // All clients wait while everything is walked: some 100 ns a key or element.
    private static void Integrity(ref CommandContext context)
    {
        if (context.InTransaction) context.Fail("ERR DEBUG INTEGRITY is not for a transaction, which holds keys"u8);
        else OtherClients.Run(ref context, CheckNow);
    }

    private static void CheckNow(ref CommandContext context)
    {
        try
        {
            context.Reply.WriteInteger(context.Store.CheckIntegrity());
        }
        catch (InvalidOperationException damage)
        {
            context.Fail([.. "ERR "u8, .. System.Text.Encoding.ASCII.GetBytes(damage.Message)]);
        }
    }

    private static void Object(ref CommandContext context)
    {
        var read = new ReadObject(context.Store);
        var status = context.Store.Read(context.Args.NextKey(), DataType.Any, ref read);
        if (status == StoreStatus.Ok)
            context.Reply.WriteSimple(System.Text.Encoding.ASCII.GetBytes(read.Text(context.Store.NowMs / 1000)));
        else context.Fail(Errors.For(status));
    }

    private static void WriteHelp(ReplyWriter reply)
    {
        reply.WriteArray(Help.Length);
        foreach (string line in Help) reply.WriteSimple(System.Text.Encoding.ASCII.GetBytes(line));
    }

    /// <summary>Adds up the digests of keys with their values.</summary>
    private struct DigestKeys(Store store, long nowMs, ValueDigest before) : IRecordVisit
    {
        public ValueDigest Digest = before;

        public void Visit(ReadOnlySpan<byte> key, in ValueView value)
        {
            var digest = new ValueDigest();
            digest.Mix(key);
            digest.AddValue(value, store, nowMs);
            Digest.Add(digest);
        }
    }

    /// <summary>What comes after a sleep.</summary>
    private sealed class ReplyOk : ICommandSteps
    {
        public bool Holds => false;

        public bool Step(ref CommandContext context)
        {
            context.Reply.WriteOk();
            return true;
        }
    }

    /// <summary>What DEBUG OBJECT tells of a value. Addresses are nobody's business, so the one it names is
    /// 0.</summary>
    private struct ReadObject(StoreSession store) : IValueRead
    {
        public static bool IsUse => false;

        private const long ClockMask = (1L << 24) - 1;

        private ReadEncoding _encoding;
        private long _length;
        private long _idleSeconds;

        public void Read(in ValueView value)
        {
            _encoding.Read(value);
            _length = value.StringLength;
            _idleSeconds = store.IdleSeconds(value);
        }

        public readonly string Text(long nowSeconds) =>
            $"Value at:0x0 refcount:1 encoding:{System.Text.Encoding.ASCII.GetString(_encoding.Name)} "
            + $"serializedlength:{SerializedLength} "
            + $"lru:{(nowSeconds - _idleSeconds) & ClockMask} lru_seconds_idle:{_idleSeconds}";

        // In a snapshot: a small integer as 1, 2 or 4 bytes behind a byte, other strings behind their length in 1, 2 or
        // 5.
        private readonly long SerializedLength =>
            _encoding.IsInteger && _encoding.Integer == (int)_encoding.Integer
                ? _encoding.Integer == (sbyte)_encoding.Integer
                ? 2 : _encoding.Integer == (short)_encoding.Integer ? 3 : 5
                : _length + (_length < 64 ? 1 : _length < 16384 ? 2 : 5);
    }
}

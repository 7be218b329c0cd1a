using Kv.Protocol;
using Kv.Server.Configuration;
using Kv.Server.Dispatch;
using Kv.Storage;

namespace Kv.Server.Commands;

/// <summary>DEBUG: for tests, behind enable-debug-command.</summary>
/// <remarks>As in Redis its words are no subcommands: COMMAND does not tell them, and a wrong count is an unknown word.</remarks>
internal static class DebugCommands
{
    private const double SleepMsMax = int.MaxValue;

    /// <summary>Each try waits some milliseconds for a session that is in a long turn.</summary>
    private const int PauseTriesMax = 200;

    internal static readonly Command[] Table =
    [
        new("DEBUG", arity: -2, Debug)
        {
            Summary = "Holds what tests of servers and clients need.",
            Complexity = "Depends on the subcommand.", Since = "1.0.0", Group = CommandGroup.Server,
            Flags = CommandFlags.Admin | CommandFlags.NoScript | CommandFlags.Loading | CommandFlags.Stale | CommandFlags.Protected,
            UnnamedKeysFrom = 1,
        },
    ];

    private static readonly string[] Help =
    [
        "DEBUG <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
        "INTEGRITY",
        "    Stops all clients, compares index, log, collections and accounts, and returns the bytes held outside of the log.",
        "OBJECT <key>",
        "    Tells how the value of a key is kept.",
        "SET-ACTIVE-EXPIRE <0|1>",
        "    With 0, expired keys are freed only when somebody asks for them.",
        "SLEEP <seconds>",
        "    Answers after so many seconds, decimals allowed. Only this client waits.",
        "HELP",
        "    Prints this help.",
    ];

    private static void Debug(ref CommandContext context)
    {
        if (!IsAllowed(ref context))
        {
            context.Fail("ERR DEBUG command not allowed. If the enable-debug-command option is set to \"local\", you can run it from a local connection, "u8
                + "otherwise you need to set this option in the configuration file, and then restart the server."u8);
            return;
        }

        var word = context.Args.Peek();
        bool hasOne = context.Args.Count == 3;
        if (hasOne && context.Args.TryKeyword("SLEEP"u8)) Sleep(ref context);
        else if (hasOne && context.Args.TryKeyword("OBJECT"u8)) Object(ref context);
        else if (hasOne && context.Args.TryKeyword("SET-ACTIVE-EXPIRE"u8)) SetActiveExpire(ref context);
        else if (context.Args.Count == 2 && context.Args.TryKeyword("INTEGRITY"u8)) Integrity(ref context);
        else if (context.Args.Count == 2 && context.Args.TryKeyword("HELP"u8)) WriteHelp(context.Reply);
        else context.Fail([.. "ERR unknown subcommand or wrong number of arguments for '"u8, .. word[..Math.Min(word.Length, 128)], .. "'. Try DEBUG HELP."u8]);
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

    // All clients wait while everything is walked: some 100 ns a key or element.
    private static void Integrity(ref CommandContext context)
    {
        // Ends: after so many tries.
        for (int tries = 0; !context.Store.TryPauseOthers(); tries++)
        {
            if (tries < PauseTriesMax) continue;
            context.Fail("ERR the other clients could not be stopped, or this one is in a transaction"u8);
            return;
        }

        try
        {
            context.Reply.WriteInteger(context.Store.CheckIntegrity());
        }
        catch (InvalidOperationException damage)
        {
            context.Fail([.. "ERR "u8, .. System.Text.Encoding.ASCII.GetBytes(damage.Message)]);
        }
        finally
        {
            context.Store.EndPause();
        }
    }

    private static void Object(ref CommandContext context)
    {
        var read = new ReadObject(context.Store);
        var status = context.Store.Read(context.Args.NextKey(), DataType.Any, ref read);
        if (status == StoreStatus.Ok) context.Reply.WriteSimple(System.Text.Encoding.ASCII.GetBytes(read.Text(context.Store.NowMs / 1000)));
        else context.Fail(Errors.For(status));
    }

    private static void WriteHelp(ReplyWriter reply)
    {
        reply.WriteArray(Help.Length);
        foreach (string line in Help) reply.WriteSimple(System.Text.Encoding.ASCII.GetBytes(line));
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

    /// <summary>What DEBUG OBJECT tells of a value. Addresses are nobody's business, so the one it names is 0.</summary>
    private struct ReadObject(StoreSession store) : IValueRead
    {
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
            $"Value at:0x0 refcount:1 encoding:{System.Text.Encoding.ASCII.GetString(_encoding.Name)} serializedlength:{SerializedLength} "
            + $"lru:{(nowSeconds - _idleSeconds) & ClockMask} lru_seconds_idle:{_idleSeconds}";

        // In a snapshot: a small integer as 1, 2 or 4 bytes behind a byte, other strings behind their length in 1, 2 or 5.
        private readonly long SerializedLength =>
            _encoding.IsInteger && _encoding.Integer == (int)_encoding.Integer
                ? _encoding.Integer == (sbyte)_encoding.Integer ? 2 : _encoding.Integer == (short)_encoding.Integer ? 3 : 5
                : _length + (_length < 64 ? 1 : _length < 16384 ? 2 : 5);
    }
}

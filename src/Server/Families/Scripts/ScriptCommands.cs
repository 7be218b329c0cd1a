using System.Text;
using Kv.Server.Execution;
using Kv.Server.Scripting;

namespace Kv.Server.Families;

/// <summary>The scripts that a server knows.</summary>
internal static class ScriptCommands
{
    internal static readonly Command[] Table =
    [
        new("SCRIPT", arity: -2, handler: null)
        {
            Summary = "Holds the commands about scripts.",
            Complexity = "Depends on the subcommand.", Since = "2.6.0", Group = CommandGroup.Scripting,
            Subcommands =
            [
                new("DEBUG", arity: 3, Debug)
                {
                    Usage = "<YES | SYNC | NO>", Summary = "Refused but for NO: there is no debugger here.",
                    Complexity = "O(1)", Since = "3.2.0", Group = CommandGroup.Scripting, Flags = CommandFlags.NoScript,
                },
                new("EXISTS", arity: -3, Exists)
                {
                    Usage = "sha1 [sha1 ...]", Summary = "Says of each script whether the server knows it.",
                    Complexity = "O(N) where N is the number of scripts asked for.", Since = "2.6.0",
                    Group = CommandGroup.Scripting,
                    Flags = CommandFlags.NoScript, Tips =
                        ["request_policy:all_shards", "response_policy:agg_logical_and"],
                },
                new("FLUSH", arity: -2, Flush)
                {
                    Usage = "[ASYNC | SYNC]", Summary = "Forgets all scripts.",
                    Complexity = "O(N) where N is the number of scripts.", Since = "2.6.0",
                    Group = CommandGroup.Scripting,
                    Flags = CommandFlags.NoScript, Tips = ["request_policy:all_nodes", "response_policy:all_succeeded"],
                },
                HelpReply.Row("5.0.0", CommandGroup.Scripting),
                new("KILL", arity: 2, Kill)
                {
                    Summary = "Ends the running scripts that have changed nothing.",
                    Complexity = "O(1)", Since = "2.6.0", Group = CommandGroup.Scripting,
                    Flags = CommandFlags.NoScript | CommandFlags.AllowBusy,
                    Tips = ["request_policy:all_shards", "response_policy:one_succeeded"],
                },
                new("LOAD", arity: 3, Load)
                {
                    Usage = "script", Summary = "Makes a script known, and returns the SHA-1 of its text.",
                    Complexity = "O(N) where N is the length of the script.", Since = "2.6.0",
                    Group = CommandGroup.Scripting,
                    Flags = CommandFlags.NoScript | CommandFlags.Stale,
                    Tips = ["request_policy:all_nodes", "response_policy:all_succeeded"],
                },
            ],
        },
    ];

    private static void Load(ref CommandContext context)
    {
        var text = context.Args.NextBytes();
        if (!context.Args.Finish(context.Reply)) return;
        if (context.Server.Scripts.Cache.TakesLong(text) && !context.InTransaction)
            EvalCommands.ContinueAdding(ref context, place: 2, isPinned: true, WriteSha);
        else if (EvalCommands.TryAdd(ref context, text, isPinned: true, out var script))
            WriteSha(ref context, script!);
    }

    private static void WriteSha(ref CommandContext context, Script script) =>
        context.Reply.WriteBulk(Encoding.ASCII.GetBytes(script.Sha.ToString()));

    private static void Exists(ref CommandContext context)
    {
        context.Reply.WriteArray(context.Args.Remaining);
        while (context.Args.Remaining > 0)
            context.Reply.WriteInteger(ScriptSha.TryParse(context.Args.NextBytes(), out var sha)
                && context.Server.Scripts.Cache.Has(sha) ? 1 : 0);
    }

    private static void Flush(ref CommandContext context)
    {
        bool isGood = context.Args.Remaining == 0
            || (context.Args.Remaining == 1
                && (context.Args.TryKeyword("ASYNC"u8) || context.Args.TryKeyword("SYNC"u8)));
        if (!isGood)
        {
            context.Fail("ERR SCRIPT FLUSH only support SYNC|ASYNC option"u8);
            return;
        }

        context.Server.Scripts.Cache.Flush();
        context.Reply.WriteOk();
    }

    private static void Kill(ref CommandContext context)
    {
        Kill(ref context, isFunction: false);
    }

    /// <summary>SCRIPT KILL and FUNCTION KILL.</summary>
    internal static void Kill(ref CommandContext context, bool isFunction)
    {
        var refusal = context.Server.Scripts.Kill(isFunction, isBusy: context.Store.Presence.IsTurnedAway);
        if (refusal.IsEmpty) context.Reply.WriteOk();
        else context.Fail(refusal);
    }

    private static void Debug(ref CommandContext context)
    {
        bool isOff = context.Args.TryKeyword("NO"u8), isOn = !isOff
            && (context.Args.TryKeyword("YES"u8) || context.Args.TryKeyword("SYNC"u8));
        if (isOff) context.Reply.WriteOk();
        else if (isOn) context.Fail("ERR scripts cannot be debugged on this server"u8);
        else context.Fail("ERR Use SCRIPT DEBUG YES/SYNC/NO"u8);
    }
}

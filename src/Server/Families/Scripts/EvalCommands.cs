using System.Diagnostics;
using System.Text;
using Kv.Server.Execution;
using Kv.Server.Scripting;

namespace Kv.Server.Families;

/// <summary>Runs scripts.</summary>
internal static class EvalCommands
{
    /// <summary>How many keys and arguments a script may have: in its first turn the keys are locked, and all of them
    /// become strings of Lua.</summary>
    private const int KeysMax = 16_384, ArgumentsMax = 65_536;

    private const CommandFlags Flags = CommandFlags.NoScript | CommandFlags.SkipMonitor | CommandFlags.NoMandatoryKeys
        | CommandFlags.Stale;

    private const CommandFlags Changes = CommandFlags.MayReplicate | CommandFlags.WaitsForRoom;

    internal static readonly Command[] Table =
    [
        Row("EVAL", Eval, "script", "2.6.0", "Runs a script.", Changes),
        Row("EVALSHA", EvalSha, "sha1", "2.6.0", "Runs a script that the server knows, by the SHA-1 of its text.",
            Changes),
        Row("EVAL_RO", EvalReadOnly, "script", "7.0.0", "Runs a script that changes nothing.", CommandFlags.ReadOnly),
        Row("EVALSHA_RO", EvalShaReadOnly, "sha1", "7.0.0",
            "Runs a script that the server knows and that changes nothing.", CommandFlags.ReadOnly),
        Row("FCALL", FCall, "function", "7.0.0", "Runs a function of a library.", Changes),
        Row("FCALL_RO", FCallReadOnly, "function", "7.0.0", "Runs a function of a library that changes nothing.",
            CommandFlags.ReadOnly),
    ];

    private static Command Row(string name, CommandHandler handler, string script, string since, string summary,
        CommandFlags flags) =>
        new(name, arity: -3, handler)
        {
            Usage = $"{script} numkeys [key [key ...]] [arg [arg ...]]", Summary = summary,
                Complexity = "Depends on the script.", Since = since,
            Group = CommandGroup.Scripting, Flags = Flags | flags, UnnamedKeysFrom = 3,
            Keys = [KeySpec.Count(2, (flags & CommandFlags.ReadOnly) != 0
                ? KeyAccess.RO | KeyAccess.Access : KeyAccess.RW | KeyAccess.Access | KeyAccess.Update)],
        };

    private static void Eval(ref CommandContext context) => Run(ref context, isSha: false, isReadOnly: false);

    private static void EvalSha(ref CommandContext context) => Run(ref context, isSha: true, isReadOnly: false);

    private static void EvalReadOnly(ref CommandContext context) => Run(ref context, isSha: false, isReadOnly: true);

    private static void EvalShaReadOnly(ref CommandContext context) => Run(ref context, isSha: true, isReadOnly: true);

    private static void Run(ref CommandContext context, bool isSha, bool isReadOnly)
    {
        MonitorFeed.ShowBegin(ref context);
        var text = context.Args.NextBytes();
        if (!TryReadKeys(ref context, Errors.NotAnInteger, out int keys)) return;
        var engine = context.Server.Scripts;
        Script script;
        if (isSha)
        {
            if (!ScriptSha.TryParse(text, out var sha) || !engine.Cache.TryFind(sha, out script))
            {
                context.Fail(ScriptErrors.NoScript);
                return;
            }
        }
        else if (engine.Cache.TakesLong(text) && !context.InTransaction)
        {
            ContinueAdding(ref context, place: 1, isPinned: false, isReadOnly ? BeginReadOnly : BeginAny);
            return;
        }
        else if (!TryAdd(ref context, text, isPinned: false, out script!))
        {
            return;
        }

        Begin(ref context, script, keys, isReadOnly);
    }

    private static void BeginAny(ref CommandContext context, Script script) =>
        BeginRead(ref context, script, isReadOnly: false);

    private static void BeginReadOnly(ref CommandContext context, Script script) =>
        BeginRead(ref context, script, isReadOnly: true);

    private static void BeginRead(ref CommandContext context, Script script, bool isReadOnly)
    {
        context.Args.NextBytes();
        if (TryReadKeys(ref context, Errors.NotAnInteger, out int keys))
            Begin(ref context, script, keys, isReadOnly);
    }

    /// <summary>Has a text compiled on another thread; then goes on.</summary>
    /// <param name="place">Which of the arguments is the text.</param>
    internal static void ContinueAdding(ref CommandContext context, int place, bool isPinned, TextHandler<Script> then)
    {
        var cache = context.Server.Scripts.Cache;
        context.Continue(new LargeText<Script>(context.Args.Keep(context.Server.Store), place,
            context.Server.Scripts.Texts.Start, (text, cancel) => cache.Add(text, isPinned, cancel), then));
    }

    private static void FCall(ref CommandContext context) => Call(ref context, isReadOnly: false);

    private static void FCallReadOnly(ref CommandContext context) => Call(ref context, isReadOnly: true);

    private static void Call(ref CommandContext context, bool isReadOnly)
    {
        MonitorFeed.ShowBegin(ref context);
        var name = context.Args.NextBytes();
        if (context.Server.Scripts.Functions.Find(name) is not { } function) context.Fail(ScriptErrors.NoFunction);
        else if (TryReadKeys(ref context, ScriptErrors.BadKeys, out int keys))
            Begin(ref context, function, keys, isReadOnly);
    }

    /// <summary>Reads how many keys there are.</summary>
    /// <param name="notNumber">The error for what is no number.</param>
    /// <returns>False after an error.</returns>
    private static bool TryReadKeys(ref CommandContext context, ReadOnlySpan<byte> notNumber, out int keys)
    {
        long count = context.Args.NextInt64(long.MinValue, long.MaxValue, notNumber);
        if (!context.Args.Failed && count > context.Args.Remaining) context.Args.Fail(ScriptErrors.TooManyKeys);
        if (!context.Args.Failed && count < 0) context.Args.Fail(ScriptErrors.NegativeKeys);
        context.Args.RequireAtMost(count, KeysMax, "keys for a script");
        context.Args.RequireAtMost(ArgumentsMax, "arguments for a script");
        keys = (int)count;
        if (!context.Args.Failed) return true;
        context.Args.Finish(context.Reply);
        return false;
    }

    private static void Begin(ref CommandContext context, ScriptCode script, int keys, bool isReadOnly)
    {
        Debug.Assert(keys >= 0 && keys <= context.Args.Remaining, "the keys are arguments");
        const ScriptFlags harmless = ScriptFlags.Unsaid | ScriptFlags.NoWrites;
        bool needsRoom = (script.Flags & (harmless | ScriptFlags.AllowOom)) == 0 && !isReadOnly;
        if (isReadOnly && (script.Flags & harmless) == 0) context.Fail(ScriptErrors.MayWrite);
        else if (needsRoom && context.Server.Store.HasNoRoomToBegin) context.Fail(Errors.OutOfMemory);
        else
        {
            context.Server.Scripts.Rent(context.Store).Begin(ref context, script, keys,
                isReadOnly || (script.Flags & ScriptFlags.NoWrites) != 0);
        }
    }

    /// <summary>Compiles a script, or finds it.</summary>
    /// <returns>False when it is none: that has been answered.</returns>
    internal static bool TryAdd(ref CommandContext context, ReadOnlySpan<byte> text, bool isPinned, out Script? script)
    {
        script = null;
        try
        {
            script = context.Server.Scripts.Cache.Add(text, isPinned);
            return true;
        }
        catch (ScriptRefusedException exception)
        {
            context.Fail(ResultReply.OneLine(Encoding.Latin1.GetBytes(exception.Message)));
            return false;
        }
    }
}

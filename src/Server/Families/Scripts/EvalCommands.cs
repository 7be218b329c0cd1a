using System.Text;
using Kv.Server.Execution;
using Kv.Server.Scripting;

namespace Kv.Server.Families;

/// <summary>Runs scripts.</summary>
internal static class EvalCommands
{
    private const CommandFlags Flags = CommandFlags.NoScript | CommandFlags.SkipMonitor | CommandFlags.NoMandatoryKeys
        | CommandFlags.Stale;

    internal static readonly Command[] Table =
    [
        Row("EVAL", Eval, "script", "2.6.0", "Runs a script.", CommandFlags.MayReplicate),
        Row("EVALSHA", EvalSha, "sha1", "2.6.0", "Runs a script that the server knows, by the SHA-1 of its text.",
            CommandFlags.MayReplicate),
        Row("EVAL_RO", EvalReadOnly, "script", "7.0.0", "Runs a script that changes nothing.", CommandFlags.ReadOnly),
        Row("EVALSHA_RO", EvalShaReadOnly, "sha1", "7.0.0",
            "Runs a script that the server knows and that changes nothing.", CommandFlags.ReadOnly),
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
        var text = context.Args.NextBytes();
        long keys = context.Args.NextInt64();
        if (!context.Args.Failed && keys > context.Args.Remaining) context.Args.Fail(ScriptErrors.TooManyKeys);
        if (!context.Args.Failed && keys < 0) context.Args.Fail(ScriptErrors.NegativeKeys);
        if (context.Args.Failed)
        {
            context.Args.Finish(context.Reply);
            return;
        }

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
        else if (!TryAdd(ref context, text, isPinned: false, out script!))
        {
            return;
        }

        bool needsNoRoom = (script.Flags & (ScriptFlags.Unsaid | ScriptFlags.AllowOom | ScriptFlags.NoWrites)) != 0
            || isReadOnly;
        if (!needsNoRoom && context.Server.Store.IsOverBudget) context.Fail(ScriptErrors.OutOfMemory);
        else engine.Rent(context.Store).Begin(ref context, script, (int)keys, isReadOnly
            || (script.Flags & ScriptFlags.NoWrites) != 0);
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

using System.Diagnostics;
using System.Globalization;
using System.Text;
using Kv.Server.Configuration;
using Kv.Server.Diagnostics;
using Kv.Server.Execution;
using Kv.Server.Metrics;
using Microsoft.Extensions.Logging;

namespace Kv.Server.Families;

/// <summary>CONFIG: the options of the server, read and changed.</summary>
internal static class ConfigCommands
{
    internal static readonly Command[] Table =
    [
        new("CONFIG", arity: -2, handler: null)
        {
            Summary = "Reads and changes the options of the server.",
            Complexity = "Depends on the subcommand.", Since = "2.0.0", Group = CommandGroup.Server,
            Subcommands =
            [
                new("EXPLAIN", arity: -3, Explain)
                {
                    Usage = "parameter [parameter ...]",
                    Summary = "Says of options what they mean, what they are, and who has set them.",
                    Complexity = "O(N), N the options and the patterns", Since = "0.1.0", Group = CommandGroup.Server,
                    Flags = CommandFlags.Admin | CommandFlags.NoScript | CommandFlags.Loading | CommandFlags.Stale,
                },
                new("GET", arity: -3, Get)
                {
                    Usage = "parameter [parameter ...]",
                    Summary = "Answers the options whose names fit, with their values.",
                    Complexity = "O(N), N the options and the patterns", Since = "2.0.0", Group = CommandGroup.Server,
                    Flags = CommandFlags.Admin | CommandFlags.NoScript | CommandFlags.Loading | CommandFlags.Stale,
                },
                HelpReply.Row("5.0.0", CommandGroup.Server),
                new("RESETSTAT", arity: 2, ResetStat)
                {
                    Summary = "Sets what INFO counts back to 0.",
                    Complexity = "O(1)", Since = "2.0.0", Group = CommandGroup.Server,
                    Flags = CommandFlags.Admin | CommandFlags.NoScript | CommandFlags.Loading | CommandFlags.Stale,
                    Tips = ["request_policy:all_nodes", "response_policy:all_succeeded"],
                },
                new("REWRITE", arity: 2, Rewrite)
                {
                    Summary = "Writes the options as they are now into the configuration file.",
                    Complexity = "O(1)", Since = "2.8.0", Group = CommandGroup.Server,
                    Flags = CommandFlags.Admin | CommandFlags.NoScript | CommandFlags.Loading | CommandFlags.Stale,
                    Tips = ["request_policy:all_nodes", "response_policy:all_succeeded"],
                },
                new("SET", arity: -4, Set)
                {
                    Usage = "parameter value [parameter value ...]",
                    Summary = "Changes options while the server runs: all that are given, or none.",
                    Complexity = "O(N), N the options given", Since = "2.0.0", Group = CommandGroup.Server,
                    Secrets = IsSecret,
                    Flags = CommandFlags.Admin | CommandFlags.NoScript | CommandFlags.Loading | CommandFlags.Stale,
                    Tips = ["request_policy:all_nodes", "response_policy:all_succeeded"],
                },
            ],
        },
    ];

    /// <summary>Patterns of one CONFIG GET, and options of one CONFIG SET: there are not as many options.</summary>
    private const int NamesMax = 1024;

    /// <summary>Where the first name of CONFIG SET stands.</summary>
    private const int FirstName = 2;

    private static void Get(ref CommandContext context)
    {
        context.Args.RequireAtMost(NamesMax, "patterns of CONFIG GET");
        var patterns = Patterns(ref context);
        if (!context.Args.Finish(context.Reply)) return;

        var found = OptionTable.Match(context.Server.Options, patterns).ToList();
        context.Reply.WriteMap(found.Count);
        foreach (var (name, value) in found)
        {
            context.Reply.WriteBulk(Encoding.UTF8.GetBytes(name));
            context.Reply.WriteBulk(Encoding.UTF8.GetBytes(value));
        }
    }

    private static void Explain(ref CommandContext context)
    {
        context.Args.RequireAtMost(NamesMax, "patterns of CONFIG EXPLAIN");
        var patterns = Patterns(ref context);
        if (!context.Args.Finish(context.Reply)) return;
        var found = OptionExplanation.Find(context.Server.Options, patterns, out string? unknown);
        if (unknown != null)
        {
            context.Fail(Encoding.UTF8.GetBytes($"ERR {unknown}"));
            return;
        }

        context.Reply.WriteMap(found.Count);
        foreach (var (name, fields) in found)
        {
            context.Reply.WriteBulk(Encoding.UTF8.GetBytes(name));
            context.Reply.WriteMap(fields.Count);
            foreach (var (field, text) in fields)
            {
                context.Reply.WriteBulk(Encoding.UTF8.GetBytes(field));
                context.Reply.WriteBulk(Encoding.UTF8.GetBytes(text));
            }
        }
    }

    private static List<string> Patterns(ref CommandContext context)
    {
        var patterns = new List<string>(Math.Min(context.Args.Remaining, NamesMax));
        while (context.Args.Remaining > 0 && !context.Args.Failed)
        {
            // What is not text is no option's name.
            if (OptionTable.TryDecode(context.Args.NextBytes(), out string pattern)) patterns.Add(pattern);
        }

        return patterns;
    }

    /// <summary>Who sets an option, for CONFIG EXPLAIN.</summary>
    private static string Who(ref CommandContext context)
    {
        var session = context.Session;
        string user = ConfigLine.Printable(session.User.Name);
        return string.Create(CultureInfo.InvariantCulture,
            $"CONFIG SET by {user} from {session.Address} at {context.Server.Time.GetUtcNow():yyyy-MM-ddTHH:mm:ssZ}");
    }

    private static void Set(ref CommandContext context)
    {
        var pairs = new List<(string Name, string Value)>(context.Args.Remaining / 2);
        context.Args.RequireAtMost(2 * NamesMax, "arguments of CONFIG SET");
        if (context.Args.Remaining % 2 != 0) context.Args.SyntaxError();
        while (context.Args.Remaining > 0 && !context.Args.Failed)
        {
            var nameBytes = context.Args.NextBytes();
            bool named = OptionTable.TryDecode(nameBytes, out string name);
            if (!named)
                context.Args.Fail((byte[])[.. "ERR Unknown option or number of arguments for CONFIG SET - '"u8,
                    .. nameBytes, (byte)'\'']);
            if (!OptionTable.TryDecode(context.Args.NextBytes(), out string value))
                context.Args.Fail((byte[])[.. "ERR CONFIG SET failed (possibly related to argument '"u8, .. nameBytes,
                    .. "') - argument must be UTF-8 text"u8]);
            pairs.Add((name, value));
        }
        if (!context.Args.Finish(context.Reply)) return;

        Debug.Assert(pairs.Count > 0, "the arity leaves a pair");
        var result = OptionTable.TrySet(context.Server.Options, pairs, context.Session.IsLocal, Who(ref context));
        if (result.Error is { } error) context.Fail(Encoding.UTF8.GetBytes(error));
        else context.Reply.WriteOk();
    }

    private static bool IsSecret(in CommandArguments args, int index)
    {
        if (args.Count % 2 == 0)
            return index > FirstName && index % 2 == 1 && MayBeSecret(OptionAt(args, index - 1));
        // No pairs: perhaps somebody's password has a space that was to be quoted. Few are looked at, since the slow
        // log shows few; what comes later is hidden.
        if (index > SlowLog.ArgumentsMax) return true;
        for (int i = FirstName; i < index; i++)
        {
            var option = OptionAt(args, i);
            if (option is { IsSecret: true } || (i % 2 == 0 && MayBeSecret(option))) return true;
        }

        return false;
    }

    // A name that is none may be that of a secret, misspelt.
    private static bool MayBeSecret(Option? option) => option is null or { IsSecret: true };

    private static Option? OptionAt(in CommandArguments args, int index) =>
        OptionTable.TryDecode(args[index].Span, out string name) ? OptionTable.Find(name) : null;

    private static void Rewrite(ref CommandContext context)
    {
        if (!context.Args.Finish(context.Reply)) return;
        context.Server.Users.FillOptions();
        string? error = ConfigRewrite.Run(context.Server.Options);
        if (error == null)
        {
            context.Server.Log.LogInformation("CONFIG REWRITE has written {File}", context.Server.Options.ConfigFile);
            context.Reply.WriteOk();
            return;
        }

        context.Server.Log.LogWarning("CONFIG REWRITE failed: {Error}", error);
        context.Fail(Encoding.UTF8.GetBytes(error));
    }

    private static void ResetStat(ref CommandContext context)
    {
        if (!context.Args.Finish(context.Reply)) return;
        context.Server.Counters.Reset(context.Server.OwnCommands);
        context.Server.HotKeys.Reset();
        context.Server.Connections.ResetCounts();
        context.Server.Replicas.ResetCounts();
        context.Server.ClientMemory.ResetCounts();
        context.Server.Tls.Counters.Reset();
        context.Server.StatsAtReset = new StoreStatsBase(context.Server.Store.Stats);
        context.Reply.WriteOk();
    }
}

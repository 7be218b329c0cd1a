using System.Text;
using Kv.Server.Execution;
using Kv.Server.Patterns;

namespace Kv.Server.Families;

/// <summary>COMMAND: the server tells what it can do, from the rows.</summary>
internal static class CommandCommands
{
    /// <summary>Names of one COMMAND INFO or COMMAND DOCS, and arguments of one COMMAND GETKEYS.</summary>
    private const int NamesMax = 1024, ArgumentsMax = 65_536;

    private const CommandFlags Flags = CommandFlags.Loading | CommandFlags.Stale | CommandFlags.Sentinel;

    internal static readonly Command[] Table =
    [
        new("COMMAND", arity: -1, All)
        {
            Summary = "Describes every command: arity, flags, keys, access categories.",
            Complexity = "O(N), N the number of commands", Since = "2.8.13", Group = CommandGroup.Server,
            Flags = Flags, Categories = AclCategories.Connection, Tips = ["nondeterministic_output_order"],
            Subcommands =
            [
                new("COUNT", arity: 2, Count)
                {
                    Summary = "Tells how many commands there are.",
                    Complexity = "O(1)", Since = "2.8.13", Group = CommandGroup.Server,
                    Flags = Flags, Categories = AclCategories.Connection,
                },
                new("DOCS", arity: -2, Docs)
                {
                    Usage = "[command-name [command-name ...]]",
                    Summary = "Tells what commands do and what arguments they take.",
                    Complexity = "O(N), N the number of commands asked for", Since = "7.0.0",
                    Group = CommandGroup.Server,
                    Flags = Flags, Categories = AclCategories.Connection, Tips = ["nondeterministic_output_order"],
                },
                new("GETKEYS", arity: -3, GetKeys)
                {
                    Usage = "command [arg [arg ...]]",
                    Summary = "Picks the keys out of a whole command.",
                    Complexity = "O(N), N the number of arguments", Since = "2.8.13", Group = CommandGroup.Server,
                    InnerCall = 2,
                    Flags = Flags, Categories = AclCategories.Connection,
                },
                new("GETKEYSANDFLAGS", arity: -3, GetKeysAndFlags)
                {
                    Usage = "command [arg [arg ...]]",
                    Summary = "Picks the keys out of a whole command and tells what it would do with each.",
                    Complexity = "O(N), N the number of arguments", Since = "7.0.0", Group = CommandGroup.Server,
                    InnerCall = 2,
                    Flags = Flags, Categories = AclCategories.Connection,
                },
                HelpReply.Row("5.0.0", CommandGroup.Server, Flags, AclCategories.Connection),
                new("INFO", arity: -2, Info)
                {
                    Usage = "[command-name [command-name ...]]",
                    Summary = "Describes commands by name; answers nil for a name that is none.",
                    Complexity = "O(N), N the number of commands asked for", Since = "2.8.13",
                    Group = CommandGroup.Server,
                    Flags = Flags, Categories = AclCategories.Connection, Tips = ["nondeterministic_output_order"],
                },
                new("LIST", arity: -2, List)
                {
                    Usage = "[FILTERBY MODULE module-name | ACLCAT category | PATTERN pattern]",
                    Summary = "Names the commands and subcommands, all of them or those of a category or pattern.",
                    Complexity = "O(N), N the number of commands", Since = "7.0.0", Group = CommandGroup.Server,
                    Flags = Flags, Categories = AclCategories.Connection, Tips = ["nondeterministic_output_order"],
                },
            ],
        },
    ];

    private static void All(ref CommandContext context)
    {
        if (!context.Args.Finish(context.Reply)) return;
        var commands = context.Server.Commands.Reachable;
        context.Reply.WriteArray(commands.Length);
        foreach (var command in commands) CommandInfoReply.Write(context.Reply, command);
    }

    private static void Count(ref CommandContext context)
    {
        if (!context.Args.Finish(context.Reply)) return;
        context.Reply.WriteInteger(context.Server.Commands.Reachable.Length);
    }

    private static void Docs(ref CommandContext context)
    {
        var commands = new List<Command>();
        context.Args.RequireAtMost(NamesMax, "names for COMMAND DOCS");
        if (context.Args.Remaining == 0 && !context.Args.Failed) commands.AddRange(context.Server.Commands.Reachable);
        // Each name once: an array of one name a million times must not become a million documents.
        while (context.Args.Remaining > 0)
        {
            var command = Find(context.Server.Commands, context.Args.NextBytes());
            if (command != null && !commands.Contains(command)) commands.Add(command);
        }

        if (!context.Args.Finish(context.Reply)) return;
        context.Reply.WriteMap(commands.Count);
        foreach (var command in commands) CommandDocsReply.Write(context.Reply, command);
    }

    private static void Info(ref CommandContext context)
    {
        if (context.Args.Remaining == 0)
        {
            All(ref context);
            return;
        }

        context.Args.RequireAtMost(NamesMax, "names for COMMAND INFO");
        if (context.Args.Failed)
        {
            context.Args.Finish(context.Reply);
            return;
        }

        context.Reply.WriteArray(context.Args.Remaining);
        while (context.Args.Remaining > 0)
        {
            var command = Find(context.Server.Commands, context.Args.NextBytes());
            if (command == null) context.Reply.WriteNull();
            else CommandInfoReply.Write(context.Reply, command);
        }
    }

    private static void List(ref CommandContext context)
    {
        Func<Command, bool> wanted = _ => true;
        if (context.Args.TryKeyword("FILTERBY"u8))
        {
            // Without modules, no command is of one; a category that is none has no commands: neither is an error.
            if (context.Args.TryKeyword("MODULE"u8))
            {
                context.Args.NextBytes();
                wanted = _ => false;
            }
            else if (context.Args.TryKeyword("ACLCAT"u8))
            {
                AclCategoryRules.TryFind(Encoding.Latin1.GetString(context.Args.NextBytes()), out var category);
                wanted = command => (AclCategoryRules.Of(command) & category) != 0;
            }
            else if (context.Args.TryKeyword("PATTERN"u8))
            {
                byte[] pattern = context.Args.NextBytes().ToArray();
                wanted = command =>
                    GlobPattern.IsMatch(pattern, Encoding.ASCII.GetBytes(command.FullName), ignoreCase: true);
            }
            else
            {
                context.Args.SyntaxError();
            }
        }

        if (!context.Args.Finish(context.Reply)) return;
        var names = new List<string>();
        foreach (var command in context.Server.Commands.Reachable)
        {
            if (wanted(command)) names.Add(command.FullName);
            foreach (var subcommand in command.Subcommands)
            {
                if (wanted(subcommand)) names.Add(subcommand.FullName);
            }
        }

        context.Reply.WriteArray(names.Count);
        foreach (string name in names) context.Reply.WriteBulk(name);
    }

    private static void GetKeys(ref CommandContext context) => WriteKeys(ref context, withFlags: false);

    private static void GetKeysAndFlags(ref CommandContext context) => WriteKeys(ref context, withFlags: true);

    private static void WriteKeys(ref CommandContext context, bool withFlags)
    {
        context.Args.RequireAtMost(ArgumentsMax, "arguments for COMMAND GETKEYS");
        if (context.Args.Failed)
        {
            context.Args.Finish(context.Reply);
            return;
        }

        ref readonly var args = ref context.Args;
        int from = args.Position, count = args.Remaining;
        var command = Called(context.Server.Commands, args, from);
        if (command == null)
        {
            context.Fail("ERR Invalid command specified"u8);
            return;
        }

        if (!Array.Exists(command.Keys, IsOfKeys))
        {
            context.Fail("ERR The command has no key arguments"u8);
            return;
        }

        if (command.Arity >= 0 ? count != command.Arity : count < -command.Arity)
        {
            context.Fail("ERR Invalid number of arguments specified for command"u8);
            return;
        }

        if (!TryCountKeys(command, args, from, out int keys))
        {
            if ((command.Flags & CommandFlags.NoMandatoryKeys) != 0) context.Reply.WriteArray(0);
            else context.Fail("ERR Invalid arguments specified for command"u8);
            return;
        }

        int stored = command.Name == "SORT" ? KeyFinder.StoredBySort(args, from) : 0;
        context.Reply.WriteArray(keys + (stored == 0 ? 0 : 1));
        foreach (var spec in command.Keys)
        {
            if (!IsOfKeys(spec) || KeyFinder.Find(spec, args, from, out var range) != KeySearch.Found) continue;
            for (int i = 0; i < range.Count; i++)
            {
                if (withFlags) context.Reply.WriteArray(2);
                context.Reply.WriteBulk(args[from + range.First + i * range.Step].Span);
                if (withFlags) CommandInfoReply.Write(context.Reply, KeyFinder.Access(spec, args, from));
            }
        }

        if (stored == 0) return;
        if (withFlags) context.Reply.WriteArray(2);
        context.Reply.WriteBulk(args[stored].Span);
        if (withFlags) CommandInfoReply.Write(context.Reply, KeyAccess.OW | KeyAccess.Update);
    }

    // First all specs are tried, then the reply is begun: it is an array or one error.
    private static bool TryCountKeys(Command command, in CommandArguments args, int from, out int keys)
    {
        keys = 0;
        foreach (var spec in command.Keys)
        {
            if (!IsOfKeys(spec)) continue;
            var search = KeyFinder.Find(spec, args, from, out var range);
            if (search == KeySearch.Invalid && (spec.Access & KeyAccess.Incomplete) == 0)
            {
                // EVAL script 0 is right without a key; a count that is none, or larger than what follows, is not.
                return (command.Flags & CommandFlags.NoMandatoryKeys) != 0 && KeyFinder.SaysNoKeys(spec, args, from);
            }

            keys += range.Count;
        }

        return keys > 0 || (command.Flags & CommandFlags.NoMandatoryKeys) != 0;
    }

    private static bool IsOfKeys(KeySpec spec) => (spec.Access & KeyAccess.NotKey) == 0;

    // The command that a call inside the arguments names: with its subcommand where it has one.
    private static Command? Called(CommandTable commands, in CommandArguments args, int from)
    {
        var command = commands.Find(args[from].Span);
        if (command == null || command.Subcommands.Length == 0 || args.Count == from + 1) return command;
        return Subcommand(command, args[from + 1].Span);
    }

    private static Command? Find(CommandTable commands, ReadOnlySpan<byte> name)
    {
        int bar = name.IndexOf((byte)'|');
        if (bar < 0) return commands.Find(name);
        var container = commands.Find(name[..bar]);
        return container == null ? null : Subcommand(container, name[(bar + 1)..]);
    }

    private static Command? Subcommand(Command container, ReadOnlySpan<byte> name)
    {
        foreach (var subcommand in container.Subcommands)
        {
            if (Ascii.EqualsIgnoreCase(name, subcommand.Name)) return subcommand;
        }

        return null;
    }
}

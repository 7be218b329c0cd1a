using Kv.Protocol;

namespace Kv.Server.Execution;

/// <summary>The reply of COMMAND DOCS for a row: maps in RESP3, flat arrays in RESP2. redis-cli builds its help from
/// it.</summary>
internal static class CommandDocsReply
{
    /// <summary>Writes the name of a command, then its documentation: an entry of a map.</summary>
    public static void Write(ReplyWriter reply, Command command)
    {
        var arguments = UsageGrammar.Parse(command.Usage);
        bool deprecated = command.DeprecatedSince != null;
        bool container = command.Subcommands.Length > 0;

        reply.WriteBulk(command.FullName);
        reply.WriteMap(4 + (deprecated ? 2 : 0) + (arguments.Length > 0 ? 1 : 0) + (container ? 1 : 0));
        Write(reply, "summary", command.Summary);
        Write(reply, "since", command.Since);
        Write(reply, "group", GroupName(command.Group));
        Write(reply, "complexity", command.Complexity);
        if (deprecated)
        {
            reply.WriteBulk("doc_flags");
            reply.WriteNames(["deprecated"]);
            Write(reply, "deprecated_since", command.DeprecatedSince!);
        }

        if (arguments.Length > 0)
        {
            reply.WriteBulk("arguments");
            int keys = 0;
            Write(reply, command, arguments, ref keys);
        }

        if (!container) return;
        reply.WriteBulk("subcommands");
        reply.WriteMap(command.Subcommands.Length);
        foreach (var subcommand in command.Subcommands) Write(reply, subcommand);
    }

    /// <summary>How COMMAND DOCS calls a group.</summary>
    public static string GroupName(CommandGroup group) => group switch
    {
        CommandGroup.SortedSet => "sorted-set",
        _ => group.ToString().ToLowerInvariant(),
    };

    // A key is written with the index of the spec that finds it: specs come in the order of the arguments, and the last
    // one may find several keys.
    private static void Write(ReplyWriter reply, Command command, UsageArgument[] arguments, ref int keys)
    {
        reply.WriteArray(arguments.Length);
        foreach (var argument in arguments)
        {
            bool group = argument.Kind is UsageKind.OneOf or UsageKind.Block;
            bool key = ArgumentTypes.IsKey(command, argument);
            // A pattern stands for the keys that no spec finds. Below 0: it does not.
            int unknown = ArgumentTypes.Of(command, argument) == "pattern"
                ? Array.FindIndex(command.Keys, spec => spec.Start == KeyStart.Unknown) : -1;
            bool indexed = key || unknown >= 0;
            string token = argument.Kind == UsageKind.Word ? argument.Text : argument.Token;
            var flags = Flags(argument);

            // Name, type, and either the children or the text to show.
            reply.WriteMap(3 + (indexed ? 1 : 0) + (token.Length > 0 ? 1 : 0) + (flags.Count > 0 ? 1 : 0));
            Write(reply, "name", argument.Name);
            Write(reply, "type", ArgumentTypes.Of(command, argument));
            if (!group) Write(reply, "display_text", argument.Text);
            if (indexed)
            {
                reply.WriteBulk("key_spec_index");
                reply.WriteInteger(key ? Math.Min(keys++, command.Keys.Length - 1) : unknown);
                keys = Math.Max(keys, unknown + 1);
            }

            if (token.Length > 0) Write(reply, "token", token == "\"\"" ? "" : token);
            if (flags.Count > 0)
            {
                reply.WriteBulk("flags");
                reply.WriteNames(flags);
            }

            if (!group) continue;
            reply.WriteBulk("arguments");
            Write(reply, command, argument.Children, ref keys);
        }
    }

    private static List<string> Flags(UsageArgument argument)
    {
        var flags = new List<string>();
        if (argument.Optional) flags.Add("optional");
        if (argument.Multiple) flags.Add("multiple");
        if (argument.TokenRepeats) flags.Add("multiple_token");
        return flags;
    }

    private static void Write(ReplyWriter reply, string name, string value)
    {
        reply.WriteBulk(name);
        // Types and groups are words of ours, too, but only flags are simple strings.
        reply.WriteBulk(value);
    }
}

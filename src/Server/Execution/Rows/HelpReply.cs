using System.Text;

namespace Kv.Server.Execution;

/// <summary>The HELP subcommand of every container: its lines come from the rows.</summary>
internal static class HelpReply
{
    /// <summary>Bytes of a subcommand's name that an error repeats.</summary>
    private const int EchoBytes = 128;

    /// <summary>The row of a container's HELP, whose reply is the usage and the summary of each subcommand.</summary>
    /// <param name="since">The version that had it first.</param>
    /// <param name="group">The container's group.</param>
    /// <param name="flags">The flags that Redis has for it; mostly loading and stale.</param>
    /// <param name="categories">Those of the container's other rows.</param>
    public static Command Row(
        string since, CommandGroup group, CommandFlags flags = CommandFlags.Loading | CommandFlags.Stale,
        AclCategories categories = AclCategories.None) =>
        new("HELP", arity: 2, Write)
        {
            Summary = "Lists the subcommands and what they do.",
            Complexity = "O(1)", Since = since, Group = group, Flags = flags, Categories = categories,
        };

    /// <summary>The lines of a container's help.</summary>
    public static List<string> Lines(Command container)
    {
        var lines = new List<string> { $"{container.Name} <subcommand> [<arg> [value] [opt] ...]. Subcommands are:" };
        foreach (var subcommand in container.Subcommands)
        {
            lines.Add($"{subcommand.Name} {subcommand.Usage}".TrimEnd());
            lines.Add("    " + subcommand.Summary);
        }

        return lines;
    }

    /// <summary>Answers that a subcommand cannot be called so, and that HELP says how.</summary>
    public static void FailSubcommand(ref CommandContext context)
    {
        var word = context.Args[1].Span;
        byte[] container = Encoding.ASCII.GetBytes((context.Command.Container ?? context.Command).Name);
        context.Fail([.. "ERR unknown subcommand or wrong number of arguments for '"u8,
            .. word[..Math.Min(word.Length, EchoBytes)], .. "'. Try "u8, .. container, .. " HELP."u8]);
    }

    /// <summary>Refuses more arguments than a subcommand has.</summary>
    /// <param name="countMax">With the names of the command and the subcommand.</param>
    /// <returns>True after writing the error.</returns>
    public static bool RefusesMore(ref CommandContext context, int countMax)
    {
        if (context.Args.Count <= countMax) return false;
        FailSubcommand(ref context);
        return true;
    }

    private static void Write(ref CommandContext context)
    {
        if (!context.Args.Finish(context.Reply)) return;
        var lines = Lines(context.Command.Container!);
        context.Reply.WriteArray(lines.Count);
        foreach (string line in lines) context.Reply.WriteSimple(line);
    }
}

namespace Kv.Server.Execution;

/// <summary>Which arguments of a call no log shows.</summary>
internal static class SecretArguments
{
    /// <summary>Whether an argument is a secret, or may be one.</summary>
    /// <param name="command">The call's row, or that of its subcommand.</param>
    /// <param name="commands">Has the row of a call that is among the arguments (COMMAND GETKEYS AUTH x).</param>
    public static bool Has(Command command, CommandTable commands, in CommandArguments args, int index)
    {
        if (command.Secrets is { } isSecret) return isSecret(args, index);
        return command.InnerCall > 0 && index > command.InnerCall
            && HasInside(commands, args.From(command.InnerCall), index - command.InnerCall);
    }

    // Hides too much rather than too little: a name that is none may be that of AUTH, misspelt.
    private static bool HasInside(CommandTable commands, in CommandArguments args, int index)
    {
        var command = commands.Find(args[0].Span);
        if (command is { Subcommands.Length: > 0 })
        {
            if (index == 1) return false;
            command = command.FindSubcommand(args[1].Span);
        }

        if (command == null || command.InnerCall > 0) return true;
        return command.Secrets is { } isSecret && isSecret(args, index);
    }
}

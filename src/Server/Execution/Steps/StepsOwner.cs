namespace Kv.Server.Execution;

/// <summary>Whose command works in steps: what a line of the log says of it.</summary>
internal readonly struct StepsOwner(Command command, long client)
{
    public StepsOwner(in CommandContext context)
        : this(context.Command, context.Session.Id)
    {
    }

    /// <summary>For example "smembers of client 7".</summary>
    public string Text => $"{command.FullName} of client {client}";
}

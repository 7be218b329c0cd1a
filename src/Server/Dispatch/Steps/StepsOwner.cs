namespace Kv.Server.Dispatch;

/// <summary>Whose command works in steps: what a line of the log says of it.</summary>
internal readonly struct StepsOwner(in CommandContext context)
{
    private readonly Command _command = context.Command;
    private readonly long _client = context.Session.Id;

    /// <summary>For example "smembers of client 7".</summary>
    public string Text => $"{_command.FullName} of client {_client}";
}

namespace RespBenchmark.Workload;

/// <summary>A command to send: groups of arguments, each so many times over with draws of its own every time.</summary>
internal sealed record Command(CommandKind Kind, IReadOnlyList<Repeated> Groups)
{
    /// <summary>Sent as it stands, not as an array (inline PING).</summary>
    public byte[]? Raw { get; init; }

    public static Command Of(CommandKind kind, params Argument[] arguments) => new(kind, [new Repeated(arguments)]);
}

/// <summary>Arguments, so many times.</summary>
internal sealed record Repeated(IReadOnlyList<Argument> Arguments, long Times = 1);

/// <summary>Commands that a session sends one after another, whose fields may refer to each other: usually
/// one.</summary>
internal sealed record Unit(IReadOnlyList<Command> Commands)
{
    public static Unit Of(Command command) => new([command]);

    public static Unit Of(CommandKind kind, params Argument[] arguments) => Of(Command.Of(kind, arguments));
}

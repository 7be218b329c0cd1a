namespace Kv.Server.Dispatch;

/// <summary>What a command does, in one static method. Reads its arguments, finishes them once, writes exactly one reply.</summary>
internal delegate void CommandHandler(ref CommandContext context);

/// <summary>The row of a command: all that lookup, checks, COMMAND, statistics and the docs need to know of it.</summary>
/// <remarks>A container (CLIENT, CONFIG...) has <see cref="Subcommands"/> and, where it answers by itself, a handler too.</remarks>
internal sealed class Command(string name, int arity, CommandHandler? handler)
{
    /// <summary>Upper case; a subcommand's own word only ("LIST").</summary>
    public string Name { get; } = name;

    /// <summary>Arguments with the name (and, for a subcommand, the container's): exact, or at least -arity.</summary>
    public int Arity { get; } = arity;

    public CommandHandler? Handler { get; } = handler;

    /// <summary>The arguments in five signs: words (UPPER is a keyword), [optional], &lt;one | of&gt;, repeat [repeat ...].</summary>
    public string Usage { get; init; } = "";

    public required string Summary { get; init; }
    public required string Complexity { get; init; }
    public required string Since { get; init; }
    public required CommandGroup Group { get; init; }

    /// <summary>The version in which Redis began to advise another command, or null.</summary>
    public string? DeprecatedSince { get; init; }

    public CommandFlags Flags { get; init; }

    /// <summary>ACL categories beyond those that follow from flags and group.</summary>
    public AclCategories Categories { get; init; }

    public KeySpec[] Keys { get; init; } = [];

    /// <summary>Tips for clients and proxies, such as "nondeterministic_output".</summary>
    public string[] Tips { get; init; } = [];

    public Command[] Subcommands { get; init; } = [];
}

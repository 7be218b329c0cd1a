namespace Kv.Server.Execution;

/// <summary>What an argument of a usage line is.</summary>
internal enum UsageKind : byte
{
    /// <summary>The client puts something in its place.</summary>
    Value,

    /// <summary>A keyword, sent as it stands.</summary>
    Word,

    /// <summary>One of its children.</summary>
    OneOf,

    /// <summary>All of its children, in order.</summary>
    Block,
}

/// <summary>An argument of a command in COMMAND DOCS: a value, a keyword, or a group of them.</summary>
internal sealed record UsageArgument(UsageKind Kind)
{
    /// <summary>Lower case. A value's is the word of the usage line; a group's is made of those of its
    /// children.</summary>
    public string Name { get; init; } = "";

    /// <summary>A value's word, or a keyword, as the usage line has it.</summary>
    public string Text { get; init; } = "";

    /// <summary>The keyword that goes before a value or a group; empty when none does.</summary>
    public string Token { get; init; } = "";

    public bool Optional { get; init; }

    /// <summary>May be given several times.</summary>
    public bool Multiple { get; init; }

    /// <summary>When several are given, the token goes before each one.</summary>
    public bool TokenRepeats { get; init; }

    public UsageArgument[] Children { get; init; } = [];
}

using System.Diagnostics.CodeAnalysis;

namespace Kv.Server.Configuration;

/// <summary>What <see cref="OptionParser"/> made of the command line: options, an error, or a text to print.</summary>
public sealed class ParsedOptions
{
    /// <summary>The options to start with; null otherwise.</summary>
    public ServerOptions? Options { get; init; }

    /// <summary>One line for standard error; the program ends with code 1.</summary>
    public string? Error { get; init; }

    /// <summary>All that is wrong; <see cref="Error"/> is the first.</summary>
    public IReadOnlyList<OptionProblem> Problems { get; init; } = [];

    /// <summary>What was written, in the order in which it takes effect.</summary>
    internal IReadOnlyList<ConfigLine> Lines { get; init; } = [];

    /// <summary>Help or version, for standard output; the program ends with code 0.</summary>
    public string? Output { get; init; }

    /// <summary>Lines to log once at start: options without effect, suspicious variables. No secrets.</summary>
    public IReadOnlyList<string> Warnings { get; init; } = [];

    /// <summary>Whether a server is to be started.</summary>
    [MemberNotNullWhen(true, nameof(Options))]
    public bool IsOk => Options is not null;
}

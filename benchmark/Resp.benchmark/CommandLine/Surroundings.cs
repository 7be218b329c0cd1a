namespace RespBenchmark.CommandLine;

/// <summary>What a run has around it: streams, clock, signals. Tests bring their own.</summary>
internal sealed record Surroundings
{
    /// <summary>Results. In the compatible grammars the old text and nothing else.</summary>
    public required TextWriter Output { get; init; }

    /// <summary>Everything else that a person reads.</summary>
    public required TextWriter Errors { get; init; }

    public Stream Input { get; init; } = Stream.Null;

    public TimeProvider Clock { get; init; } = TimeProvider.System;

    public required Interrupt Interrupt { get; init; }

    /// <summary>Whether <see cref="Output"/> is a terminal.</summary>
    public bool IsTerminal { get; init; }

    /// <summary>The words the program was called with, for reports.</summary>
    public IReadOnlyList<string> Words { get; init; } = [];

    /// <summary>A line about the run that is no result.</summary>
    public void Note(string text) => Errors.WriteLine(text);
}

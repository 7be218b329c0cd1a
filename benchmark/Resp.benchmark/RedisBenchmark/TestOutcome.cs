using RespBenchmark.Measure;

namespace RespBenchmark.RedisBenchmark;

/// <summary>What a test gave, and what the text says about its shape.</summary>
internal sealed record TestOutcome
{
    public required string Title { get; init; }

    /// <summary>Requests answered.</summary>
    public required long Requests { get; init; }

    /// <summary>First send to last reply.</summary>
    public required TimeSpan Elapsed { get; init; }

    public required Histogram Latencies { get; init; }

    /// <summary>Of values; of the whole request for a command of the user's own.</summary>
    public required int PayloadBytes { get; init; }

    public required RedisBenchmarkOptions Options { get; init; }

    /// <summary>The server's answer to CONFIG GET; null: it did not say.</summary>
    public ServerSettings? Settings { get; init; }

    public double PerSecond => Elapsed > TimeSpan.Zero ? Requests / Elapsed.TotalSeconds : 0;
}

/// <summary>The two settings of a server that the text shows.</summary>
internal sealed record ServerSettings(string Save, string AppendOnly);

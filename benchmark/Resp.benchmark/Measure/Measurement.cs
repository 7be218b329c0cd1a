namespace RespBenchmark.Measure;

/// <summary>What one repetition of a cell gave.</summary>
internal sealed class Measurement
{
    /// <summary>From the first send to the last reply.</summary>
    public TimeSpan Elapsed { get; init; }

    public RunCounters Counters { get; init; }

    /// <summary>Reply minus actual send, of all kinds.</summary>
    public required Histogram Service { get; init; }

    /// <summary>Reply minus intended send; null in a closed loop, which has no intended times.</summary>
    public Histogram? Response { get; init; }

    /// <summary>Actual minus intended send; null in a closed loop.</summary>
    public Histogram? Lag { get; init; }

    public required IReadOnlyList<KindMeasurement> Kinds { get; init; }

    /// <summary>Error replies by their first word, at most 16, with the first text of each.</summary>
    public required IReadOnlyList<ErrorClass> Errors { get; init; }

    /// <summary>For each loop the share of its time in send, receive and parse.</summary>
    public required IReadOnlyList<double> LoopOccupancy { get; init; }

    public RunEnd End { get; init; }

    /// <summary>What ended a run that did not end well; null else.</summary>
    public string? Failure { get; init; }

    /// <summary>Open loop: sends left so late that the server's figures are the client's too.</summary>
    public bool GeneratorLate { get; init; }

    public int Collections { get; init; }

    public TimeSpan CollectionPause { get; init; }

    /// <summary>Client bytes allocated on the managed heap while measuring, by the loops.</summary>
    public long AllocatedBytes { get; init; }

    public double OpsPerSecond => Elapsed > TimeSpan.Zero ? Counters.Ops / Elapsed.TotalSeconds : 0;
}

/// <summary>Sums since the measurement began, or over an interval.</summary>
internal readonly record struct RunCounters(
    long Ops,
    long Commands,
    long Sent,
    long Errors,
    long Nils,
    long Mismatches,
    long Wrong,
    long Lost,
    long BytesOut,
    long BytesIn)
{
    // Sent: commands handed to the kernel. Commands: replies. Mismatches: replies of a type the command never gives.
    // Wrong: bodies that verification refused. Lost: sent and never answered. Sent = Commands + Lost at the end.

    public static RunCounters operator +(RunCounters a, RunCounters b) => new(a.Ops + b.Ops, a.Commands + b.Commands,
        a.Sent + b.Sent,
        a.Errors + b.Errors, a.Nils + b.Nils, a.Mismatches + b.Mismatches, a.Wrong + b.Wrong, a.Lost + b.Lost,
        a.BytesOut + b.BytesOut, a.BytesIn + b.BytesIn);

    public static RunCounters operator -(RunCounters a, RunCounters b) => new(a.Ops - b.Ops, a.Commands - b.Commands,
        a.Sent - b.Sent,
        a.Errors - b.Errors, a.Nils - b.Nils, a.Mismatches - b.Mismatches, a.Wrong - b.Wrong, a.Lost - b.Lost,
        a.BytesOut - b.BytesOut, a.BytesIn - b.BytesIn);
}

/// <summary>The share of one kind of command.</summary>
internal sealed record KindMeasurement(string Name, long Ops, long Errors, long Nils, Histogram Service);

/// <summary>Error replies that begin with the same word.</summary>
internal sealed record ErrorClass(string Word, long Count, string FirstText);

internal enum RunEnd
{
    /// <summary>All commands sent, or the time was over, and all replies are in.</summary>
    Completed,

    /// <summary>Ctrl-C or Stop.</summary>
    Interrupted,

    /// <summary>The first error reply, where that ends a run.</summary>
    ErrorReply,

    /// <summary>Every connection is gone.</summary>
    AllDisconnected,

    /// <summary>Replies were missing when the drain was over.</summary>
    DrainTimeout,

    /// <summary>What came back is no RESP.</summary>
    BrokenReply,
}

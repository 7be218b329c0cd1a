using RespBenchmark.CommandLine;
using RespBenchmark.Measure;

namespace RespBenchmark.Garnet;

/// <summary>What went wrong in a cell, for stderr.</summary>
internal static class CellFailures
{
    public static void Note(Measurement measured, Surroundings surroundings)
    {
        foreach (var error in measured.Errors)
            surroundings.Note($"# {error.Count} error replies {error.Word}: {error.FirstText}");
        if (measured.Counters.Mismatches > 0)
            surroundings.Note($"# {measured.Counters.Mismatches} replies of an unexpected type");
        if (measured.Counters.Wrong > 0) surroundings.Note($"# {measured.Counters.Wrong} WRONG values");
        if (measured.Counters.Lost > 0) surroundings.Note($"# {measured.Counters.Lost} commands without a reply");
        if (measured.End is RunEnd.Completed or RunEnd.Interrupted) return;
        surroundings.Note($"# {measured.Failure ?? "the server closed every connection"}");
    }
}

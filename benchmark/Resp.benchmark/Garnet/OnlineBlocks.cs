using System.Diagnostics;
using RespBenchmark.CommandLine;

namespace RespBenchmark.Garnet;

/// <summary>What the blocks of online mode have in common, whoever drives them.</summary>
internal static class OnlineBlocks
{
    /// <summary>The session counts to run, each announced when there are several; ends early on a signal.</summary>
    public static IEnumerable<int> Sessions(GarnetOptions options, Surroundings surroundings)
    {
        int[] counts = options.Extras.OnlineSweep ? options.Threads : options.Threads[..1];
        foreach (int sessions in counts)
        {
            if (surroundings.Interrupt.Requested) yield break;
            if (counts.Length > 1) surroundings.Output.Write($"\nNum threads: {sessions}\n");
            yield return sessions;
        }
    }

    /// <summary>How long it is to the row's time; zero when that is past.</summary>
    public static TimeSpan Until(long begun, int row)
    {
        var left = (row * OnlineRows.Period) - Stopwatch.GetElapsedTime(begun);
        return left > TimeSpan.Zero ? left : TimeSpan.Zero;
    }

    /// <summary>The file that rows are written to as well; null: none.</summary>
    /// <exception cref="UsageException">It cannot be written.</exception>
    public static TextWriter? OpenLog(GarnetOptions options)
    {
        if (options.LogFile is not { } path) return null;
        try
        {
            return new StreamWriter(path, append: true);
        }
        catch (Exception failure) when (failure is IOException or UnauthorizedAccessException)
        {
            throw new UsageException($"--file-logger '{path}': {failure.Message}");
        }
    }
}

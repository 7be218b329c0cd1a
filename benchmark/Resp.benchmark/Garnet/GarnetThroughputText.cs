using System.Globalization;
using System.Text;

namespace RespBenchmark.Garnet;

/// <summary>The text of throughput mode: what the original says while it makes its batches, computed for ours, which
/// makes none; and the result of a cell.</summary>
internal static class GarnetThroughputText
{
    private const long BatchCountMax = 65_536, BufferBytesMin = 65_536;

    /// <summary>The line that says fewer batches are made than asked for, with its end; empty when all are.</summary>
    public static string Restriction(long ops, int batch) =>
        ops / batch > BatchCountMax
        ? Invariant($"Restricting #buffers to {BatchCountMax} instead of {ops / batch}\n") : "";

    /// <summary>From the empty line before "Generating" to "maxBytesWritten".</summary>
    /// <param name="op">MSET, GET ...</param>
    /// <param name="ops">Operations asked for.</param>
    /// <param name="batch">Operations a batch.</param>
    /// <param name="batchBytes">The largest batch's bytes.</param>
    /// <param name="about">A line about the operation after the first, with its end.</param>
    public static string Generation(string op, long ops, int batch, long batchBytes, string about = "")
    {
        long batches = Math.Min(ops / batch, BatchCountMax);
        var text = new StringBuilder();
        text.Append(Invariant(
            $"\nGenerating {batches} {op} request batches of size {batch} each; total {batches * batch} ops\n"));
        text.Append(about);
        long buffer = BufferBytesMin;
        // Ends: doubles up to the first power of two above the batch, which fits a long.
        for (; buffer <= batchBytes; buffer *= 2)
            text.Append(Invariant($"Resizing request buffer from {buffer} to {buffer * 2}\n"));
        text.Append("Request generation complete\n");
        text.Append(Invariant($"maxBytesWritten out of maxBufferSize: {batchBytes}/{buffer}\n"));
        return text.ToString();
    }

    /// <summary>Seconds to three decimals, without zeros at their end.</summary>
    public static string LoadingTime(TimeSpan time) =>
        Invariant($"Loading time: {Math.Round(time.TotalSeconds, 3)} secs\n");

    /// <summary>The four lines of a cell, and the empty one before.</summary>
    /// <param name="format">1: as the seeds have it. 2: the labels of February 2026.</param>
    public static string Result(string op, int sessions, TimeSpan elapsed, long ops, int format)
    {
        // Less than a millisecond counts as one: the original divides by whole ones.
        long milliseconds = Math.Max(1, (long)elapsed.TotalMilliseconds);
        double perSecond = ops / (milliseconds / 1000.0);
        var (time, throughput) = format == 2 ? ("[Total time]", "[Throughput]") : ("Total time", "Throughput");
        return Invariant(
            $"\nOperation type: {op}\nNum threads: {sessions}\n{time}: {milliseconds:N2}ms for {ops:N2} ops\n")
            + Invariant($"{throughput}: {perSecond:N2} ops/sec\n");
    }

    /// <summary>What a load of HyperLogLogs begins with.</summary>
    public static string LoadIntroduction(string op) => $"Generating {op} request batches\n";

    /// <summary>How many keys PFMERGE merges into.</summary>
    public static string MergeKeys(long keys) =>
        Invariant($"PFMERGE config > mergeDstKeyCount:{keys}, hllDstMergeKeyFraction:0.001\n");

    public static string Loaded(long keys) => Invariant($">>> Loaded {keys} keys into the DB >>>\n");

    public static string Waiting(string address) => $"Waiting for server at {address}\n";

    private static string Invariant(FormattableString text) => text.ToString(CultureInfo.InvariantCulture);
}

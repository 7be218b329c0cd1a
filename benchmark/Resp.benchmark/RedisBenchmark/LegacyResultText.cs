using System.Globalization;
using System.Text;
using RespBenchmark.Measure;

namespace RespBenchmark.RedisBenchmark;

/// <summary>Results as redis 3 to 5 printed them: whole milliseconds and no configuration.</summary>
internal static class LegacyResultText
{
    public static string Csv(TestOutcome result) => Invariant($"\"{result.Title}\",\"{result.PerSecond:F2}\"\n");

    public static string Quiet(TestOutcome result) =>
        Invariant($"{result.Title}: {result.PerSecond:F2} requests per second\n");

    public static string Full(TestOutcome result)
    {
        var text = new StringBuilder(ResultText.Head(result));
        text.Append('\n');
        AppendRows(text, result.Latencies);
        text.Append(CultureInfo.InvariantCulture, $"{result.PerSecond:F2} requests per second\n\n");
        return text.ToString();
    }

    // The latencies in order, cut to whole milliseconds: a row at the first of each new millisecond, which counts it
    // and all before it, and one at the last of all; the last may be both.
    private static void AppendRows(StringBuilder text, Histogram latencies)
    {
        const long nanosecondsMs = 1_000_000;
        var counts = latencies.Counts;
        long seen = 0, rowed = 0, current = 0;
        for (int index = 0; index < counts.Length && seen < latencies.Count; index++)
        {
            if (counts[index] == 0) continue;
            long ms = Histogram.LowestOf(index) / nanosecondsMs;
            if (ms != current) AppendRow(text, rowed = seen + 1, latencies.Count, current = ms);
            seen += counts[index];
        }

        if (rowed != latencies.Count) AppendRow(text, latencies.Count, latencies.Count, current);
    }

    private static void AppendRow(StringBuilder text, long count, long total, long ms) =>
        text.Append(CultureInfo.InvariantCulture, $"{100.0 * count / total:F2}% <= {ms} milliseconds\n");

    private static string Invariant(FormattableString text) => text.ToString(CultureInfo.InvariantCulture);
}

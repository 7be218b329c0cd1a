using System.Globalization;
using System.Text;
using RespBenchmark.Measure;

namespace RespBenchmark.RedisBenchmark;

/// <summary>The two tables of a result: by percentile, halving what is left at each step; and by latency.</summary>
internal static class LatencyTables
{
    public static string Text(Histogram latencies, int digits)
    {
        var steps = StepHistogram.From(latencies, digits);
        var text = new StringBuilder();
        text.Append("Latency by percentile distribution:\n");
        AppendPercentiles(text, steps);
        text.Append("\nCumulative distribution of latencies:\n");
        AppendCumulative(text, steps);
        return text.ToString();
    }

    private static void AppendPercentiles(StringBuilder text, StepHistogram steps)
    {
        if (steps.Total == 0) return;
        double level = 0;
        long seen = 0, printed = 0, label = 0;
        foreach (var bucket in steps.Buckets())
        {
            if (bucket.Count == 0) continue;
            seen += bucket.Count;
            label = bucket.Label;
            // One bucket may reach several levels; only the first of them changes the count, and at the total it is the
            // last.
            while (level <= 100.0 * seen / steps.Total)
            {
                if (seen != printed) AppendRow(text, level, label, printed = seen);
                level += (100 - level) / 2;
                if (seen == steps.Total) break;
            }

            if (seen == steps.Total) break;
        }

        AppendRow(text, 100, label, seen);
    }

    private static void AppendCumulative(StringBuilder text, StepHistogram steps)
    {
        const long fineStep = 100, fineEnd = 2_100, coarseStep = 1_000;
        long printed = 0;
        // Ends: the boundary grows by at least 100 us, and all values lie within three seconds.
        for (long boundary = fineStep; printed < steps.Total; boundary += boundary < fineEnd ? fineStep : coarseStep)
        {
            var (count, label) = steps.UpTo(Math.Min(boundary, StepHistogram.ValueMax));
            if (count != printed) AppendRow(text, 100.0 * count / steps.Total, label, printed = count);
        }
    }

    private static void AppendRow(StringBuilder text, double percent, long microseconds, long count) => text.Append(
        CultureInfo.InvariantCulture,
        $"{percent:F3}% <= {microseconds / 1000.0:F3} milliseconds (cumulative count {count})\n");
}

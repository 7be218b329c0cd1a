using System.Globalization;

namespace RespBenchmark.Measure;

/// <summary>The percentile text (.hgrm) that HDR plotters read, in ms.</summary>
internal static class PercentileText
{
    private const double NanosecondsPerMs = 1e6;

    public static void Write(TextWriter writer, Histogram histogram)
    {
        var culture = CultureInfo.InvariantCulture;
        writer.Write("       Value     Percentile TotalCount 1/(1-Percentile)\n\n");
        foreach (var step in PercentileSteps.Of(histogram))
        {
            double value = step.Value / NanosecondsPerMs;
            // Through decimal, which drops the last binary digits: half of 0.0001 goes up, as other tools print it.
            decimal share = Math.Round((decimal)step.Share, 12, MidpointRounding.AwayFromZero);
            writer.Write(step.Share < 1
                ? string.Create(culture, $"{value,12:F3} {share:F12} {step.CountTo,10} {1 / (1 - step.Share),14:F2}\n")
                : string.Create(culture, $"{value,12:F3} {share:F12} {step.CountTo,10}\n"));
        }

        double mean = histogram.Count == 0 ? 0 : histogram.Mean / NanosecondsPerMs;
        double deviation = histogram.Count == 0 ? 0 : histogram.StandardDeviation() / NanosecondsPerMs;
        writer.Write(string.Create(culture, $"#[Mean    = {mean,12:F3}, StdDeviation   = {deviation,12:F3}]\n"));
        writer.Write(string.Create(culture,
            $"#[Max     = {histogram.Max / NanosecondsPerMs,12:F3}, Total count    = {histogram.Count,12}]\n"));
        writer.Write(string.Create(culture,
            $"#[Buckets = {Histogram.BucketCount,12}, SubBuckets     = {Histogram.SubBucketCount,12}]\n"));
    }
}

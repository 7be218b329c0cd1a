using System.Globalization;
using RespBenchmark.CommandLine;

namespace RespBenchmark.RedisBenchmark;

/// <summary>The result of a test in each of redis-benchmark's forms.</summary>
internal static class ResultText
{
    public const string CsvHeader =
        "\"test\",\"rps\",\"avg_latency_ms\",\"min_latency_ms\","
        + "\"p50_latency_ms\",\"p95_latency_ms\",\"p99_latency_ms\",\"max_latency_ms\"\n";

    /// <summary>The form that the options ask for.</summary>
    public static string Of(TestOutcome result)
    {
        var options = result.Options;
        bool legacy = options.Extras.RedisBenchmarkFormat == RedisBenchmarkFormat.Legacy;
        if (options.Csv) return legacy ? LegacyResultText.Csv(result) : Csv(result);
        if (options.Quiet) return legacy ? LegacyResultText.Quiet(result) : Quiet(result);
        return legacy ? LegacyResultText.Full(result) : Full(result);
    }

    private static string Csv(TestOutcome result)
    {
        var latencies = result.Latencies;
        double mean = latencies.Count == 0 ? 0 : latencies.Mean;
        return Invariant($"\"{result.Title}\",\"{result.PerSecond:F2}\",\"{Ms(mean):F3}\",\"{Ms(latencies.Min):F3}\",")
            + Invariant($"\"{Ms(latencies.ValueAt(0.5)):F3}\",\"{Ms(latencies.ValueAt(0.95)):F3}\",")
            + Invariant($"\"{Ms(latencies.ValueAt(0.99)):F3}\",\"{Ms(latencies.Max):F3}\"\n");
    }

    private static string Quiet(TestOutcome result) =>
        Invariant($"{result.Title}: {result.PerSecond:F2} requests per second, ")
        + Invariant($"p50={Ms(result.Latencies.ValueAt(0.5)):F3} msec\n");

    private static string Full(TestOutcome result)
    {
        var latencies = result.Latencies;
        double mean = latencies.Count == 0 ? 0 : latencies.Mean;
        return Head(result) + Settings(result) + Threads(result.Options) + "\n"
            + LatencyTables.Text(latencies, result.Options.Precision)
            + Invariant($"\nSummary:\n  throughput summary: {result.PerSecond:F2} requests per second\n")
            + "  latency summary (msec):\n"
            + "          avg       min       p50       p95       p99       max\n"
            + Invariant($"    {Ms(mean),9:F3} {Ms(latencies.Min),9:F3} {Ms(latencies.ValueAt(0.5)),9:F3}")
            + Invariant(
                $" {Ms(latencies.ValueAt(0.95)),9:F3} {Ms(latencies.ValueAt(0.99)),9:F3} {Ms(latencies.Max),9:F3}\n");
    }

    /// <summary>The title and the lines about requests, clients, payload and keep-alive, which all releases
    /// have.</summary>
    public static string Head(TestOutcome result) => $"====== {result.Title} ======\n"
        + Invariant($"  {result.Requests} requests completed in {result.Elapsed.TotalSeconds:F2} seconds\n")
        + $"  {result.Options.Clients} parallel clients\n"
        + $"  {result.PayloadBytes} bytes payload\n"
        + $"  keep alive: {result.Options.KeepAlive}\n";

    private static string Settings(TestOutcome result) => result.Settings is not { } settings
        ? ""
        : $"  host configuration \"save\": {settings.Save}\n"
        + $"  host configuration \"appendonly\": {settings.AppendOnly}\n";

    private static string Threads(RedisBenchmarkOptions options) => options.Threads == 0
        ? "  multi-thread: no\n"
        : $"  multi-thread: yes\n  threads: {options.Threads}\n";

    private static double Ms(double nanoseconds) => nanoseconds / 1e6;

    private static string Invariant(FormattableString text) => text.ToString(CultureInfo.InvariantCulture);
}

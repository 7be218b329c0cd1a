using System.Globalization;
using RespBenchmark.Measure;

namespace RespBenchmark.Tair;

/// <summary>The lines of Tair's resp-benchmark, plain: <see cref="TairScreen"/> puts them where they belong.</summary>
internal static class TairText
{
    /// <summary>A time in two digits: 0.45ms, 1.1ms, 12ms, 0.12s, 1.2s, &gt;10s.</summary>
    public static string Time(double nanoseconds)
    {
        // Each form ends where its digits would round up into the next.
        const double millisecond = 1e6, second = 1e9;
        return nanoseconds switch
        {
            < 0.01 * millisecond => "<0.01ms",
            < 0.995 * millisecond => Fixed(nanoseconds / millisecond, "F2") + "ms",
            < 9.95 * millisecond => Fixed(nanoseconds / millisecond, "F1") + "ms",
            < 99.5 * millisecond => Fixed(nanoseconds / millisecond, "F0") + "ms",
            < 0.995 * second => Fixed(nanoseconds / second, "F2") + "s",
            < 10 * second => Fixed(nanoseconds / second, "F1") + "s",
            _ => ">10s",
        };
    }

    /// <summary>A line while it runs.</summary>
    /// <param name="rate">Since the last line.</param>
    /// <param name="overall">Since the measurement began.</param>
    public static string Running(double rate, double overall, int connections, Histogram latencies) =>
        $"qps: {Whole(rate)}(overall {Whole(overall)}), conn: {connections}, {Latencies(latencies)}";

    public static string Final(double overall, int connections, Histogram latencies) =>
        $"qps: {Whole(overall)}, conn: {connections}, {Latencies(latencies)}";

    public static string Loading(double rate, double share) =>
        $"Data loading qps: {Whole(rate)}, {Fixed(share * 100, "F2")}%";

    public static string Loaded(double rate, TimeSpan elapsed) =>
        $"Data loaded, qps: {Whole(rate)}, time elapsed: {Fixed(elapsed.TotalSeconds, "F2")}s";

    private static string Latencies(Histogram latencies) => latencies.Count == 0
        ? "no data"
        : $"cnt: {latencies.Count}, avg: {Time(latencies.Mean)}, p99: {Time(latencies.ValueAt(0.99))}";

    private static string Whole(double value) => Fixed(value, "F0");

    private static string Fixed(double value, string format) => value.ToString(format, CultureInfo.InvariantCulture);
}

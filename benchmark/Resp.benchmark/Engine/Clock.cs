using System.Diagnostics;

namespace RespBenchmark.Engine;

/// <summary>Monotonic nanoseconds since an unknown beginning: what loops stamp sends and receives with.</summary>
internal static class Clock
{
    // Read once when the class is first used, so the JIT makes a constant of it: on Linux a reading costs no
    // arithmetic.
    private static readonly long Scale = 1_000_000_000 / Stopwatch.Frequency;

    public static long Now => Stopwatch.GetTimestamp() * Scale;

    public static long Of(TimeSpan time) => time.Ticks * 100;

    public static TimeSpan Span(long nanoseconds) => TimeSpan.FromTicks(nanoseconds / 100);
}

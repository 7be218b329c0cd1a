using System.Diagnostics;
using System.Globalization;

namespace Kv.Tests.Harness;

/// <summary>How long a time-bounded test may go on. KV_MINUTES=n lengthens all of them alike.</summary>
/// <remarks>
/// The default run gives each loop its few seconds; KV_MINUTES=1 leaves them so, KV_MINUTES=30 makes them 30 times
/// as long. A loop always does at least one round, so that a slow machine still tests something.
/// </remarks>
public sealed class TimeBudget
{
    private readonly long _begin = Stopwatch.GetTimestamp();
    private readonly TimeSpan _length;
    private bool _started;

    private TimeBudget(TimeSpan length) => _length = length;

    /// <summary>What every time-bounded loop is multiplied by: KV_MINUTES, at least 1.</summary>
    public static double Scale { get; } = Math.Max(1, FromEnvironment() ?? 1);

    public static TimeBudget OfSeconds(double seconds) => new(TimeSpan.FromSeconds(seconds * Scale));

    /// <summary>A count that grows with the budget.</summary>
    public static int Count(int count) => (int)Math.Min(int.MaxValue, count * Scale);

    /// <summary>True while another round may begin; always true the first time.</summary>
    public bool Continues
    {
        get
        {
            if (!_started) return _started = true;
            return Stopwatch.GetElapsedTime(_begin) < _length;
        }
    }

    public TimeSpan Elapsed => Stopwatch.GetElapsedTime(_begin);

    private static double? FromEnvironment() =>
        double.TryParse(Environment.GetEnvironmentVariable("KV_MINUTES"), CultureInfo.InvariantCulture, out double m)
            ? m
            : null;
}

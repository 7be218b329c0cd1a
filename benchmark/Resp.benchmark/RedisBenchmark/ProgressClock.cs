using System.Diagnostics;

namespace RespBenchmark.RedisBenchmark;

/// <summary>When the next progress line is due: at once, then every 250 ms across all tests, as the original's one
/// timer.</summary>
internal sealed class ProgressClock
{
    public static readonly TimeSpan Period = TimeSpan.FromMilliseconds(250);

    private readonly long _start = Stopwatch.GetTimestamp();
    private TimeSpan _due;

    public bool IsDue => Stopwatch.GetElapsedTime(_start) >= _due;

    /// <summary>Zero when it is due already.</summary>
    public TimeSpan UntilDue
    {
        get
        {
            var left = _due - Stopwatch.GetElapsedTime(_start);
            return left > TimeSpan.Zero ? left : TimeSpan.Zero;
        }
    }

    /// <summary>The line was drawn: the next is due a period on; those that were missed are not made up for.</summary>
    public void Advance() => _due = Stopwatch.GetElapsedTime(_start) + Period;
}

namespace Kv.Server.Metrics;

/// <summary>How much happened in the last second: totals, sampled by a timer.</summary>
/// <remarks>Threads: the timer's writes, any reads.</remarks>
internal sealed class RateMeter : IDisposable
{
    private readonly TimeProvider _time;
    private readonly Func<Totals> _read;
    private readonly ITimer _timer;
    private Totals _last;
    private long _lastAt;
    private Rates _rates = new(0, 0, 0);

    public RateMeter(TimeProvider time, Func<Totals> read)
    {
        _time = time;
        _read = read;
        _lastAt = time.GetTimestamp();
        _timer = time.CreateTimer(static meter => ((RateMeter)meter!).Sample(), this, TimeSpan.FromSeconds(1),
            TimeSpan.FromSeconds(1));
    }

    // Volatile: a reference to an immutable object, so that the three rates belong together; a second old at worst.
    public Rates PerSecond => Volatile.Read(ref _rates);

    public void Dispose() => _timer.Dispose();

    private void Sample()
    {
        var now = _read();
        long at = _time.GetTimestamp();
        double seconds = _time.GetElapsedTime(_lastAt, at).TotalSeconds;
        if (seconds <= 0) return;
        Volatile.Write(ref _rates, new Rates(
            PerSecondOf(now.Commands - _last.Commands), PerSecondOf(now.InputBytes - _last.InputBytes),
            PerSecondOf(now.OutputBytes - _last.OutputBytes)));
        (_last, _lastAt) = (now, at);

        // CONFIG RESETSTAT makes totals smaller.
        double PerSecondOf(long more) => Math.Max(0, more) / seconds;
    }

    public readonly record struct Totals(long Commands, long InputBytes, long OutputBytes);

    public sealed record Rates(double Commands, double InputBytes, double OutputBytes);
}

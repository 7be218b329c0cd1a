namespace RespBenchmark.Tair;

/// <summary>How many connections help: one, then twice as many as long as that brings a third more.</summary>
internal sealed class ConnectionLadder
{
    public const int ConnectionsMax = 1024;

    /// <summary>How often to look.</summary>
    public static readonly TimeSpan Period = TimeSpan.FromMilliseconds(233);

    private const double WorthDoubling = 1.3, ClearlyMore = 2;

    private static readonly TimeSpan StepMin = TimeSpan.FromSeconds(0.5), StepMax = TimeSpan.FromSeconds(3);

    private double _lastRate;

    public int Connections { get; private set; } = 1;

    /// <summary>More would not help.</summary>
    public bool IsReady { get; private set; }

    /// <summary>Tells what a step has brought so far.</summary>
    /// <param name="time">Since the step began.</param>
    /// <param name="rate">Operations a second in it.</param>
    /// <returns>True: the step is over, and there are more connections or it is ready.</returns>
    public bool Observe(TimeSpan time, double rate)
    {
        if (IsReady || time < StepMin || (rate < ClearlyMore * _lastRate && time < StepMax)) return false;
        if (rate > WorthDoubling * _lastRate && Connections < ConnectionsMax) Connections *= 2;
        else IsReady = true;
        _lastRate = rate;
        return true;
    }
}

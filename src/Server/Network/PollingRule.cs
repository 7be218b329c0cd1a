namespace Kv.Server.Network;

/// <summary>Whether a worker that waits may poll: it has to have paid off lately, and nobody else may want the worker's
/// core.</summary>
/// <remarks>
/// Fed with observations, so that it can be tested without a clock. Times are microseconds of any clock that only goes
/// forward. Somebody else wants the core when the kernel takes it from the worker between two polls and gives it back
/// late. Each <see cref="GapUs"/> of that is a point. Points fade at one per <see cref="FadeUs"/>; at
/// <see cref="PointsMax"/> the worker does not poll for a while. After that it tries again, and one more point shows
/// that nothing has changed: the next rest is twice as long. Polling without one for as long as the last rest was makes
/// the next one short again. How often the core is taken says nothing: a client on the worker's own core takes it once
/// a request, for some microseconds, and polling is just what serves it fastest.
/// Threads: its worker's own.
/// </remarks>
internal struct PollingRule
{
    /// <summary>So many times in a row polling may be in vain.</summary>
    public const int FailuresMax = 16;

    /// <summary>A sleep of so much over the budget may still have been one that polling catches: going to sleep and
    /// waking take their time.</summary>
    public const int WakeUpUs = 50;

    /// <summary>Two looks at the clock with one poll between them are a microsecond apart, some tens when an interrupt
    /// or a client on the same core comes between; a busy thread keeps the core for a slice, 1 to 4 ms.</summary>
    public const int GapUs = 500;

    /// <summary>3 ms lost at once, or a twentieth of the time for long.</summary>
    public const int PointsMax = 6, FadeUs = 10_000;

    /// <summary>From a rest that costs a lonely client nothing that it notices, to one beside which the attempts do not
    /// count.</summary>
    public const int RestUsMin = 100_000, RestUsMax = 800_000;

    private int _failures;
    private int _points;
    private long _fadedUs, _restEndsUs, _restUs;

    /// <summary>Whether to poll now.</summary>
    public readonly bool Allows(long nowUs) => _failures < FailuresMax && nowUs >= _restEndsUs;

    /// <summary>Two looks at the clock with nothing but a poll between them.</summary>
    public void Polled(long beforeUs, long nowUs)
    {
        if (nowUs - beforeUs >= GapUs) AddPoints(nowUs, (nowUs - beforeUs) / GapUs);
    }

    /// <summary>A round of polling is over.</summary>
    /// <param name="hasPaid">Whether work came.</param>
    public void EndPolling(bool hasPaid) => _failures = hasPaid ? 0 : _failures + 1;

    /// <summary>Work has ended a sleep.</summary>
    public void Slept(long sleptUs, long budgetUs)
    {
        if (sleptUs < (2 * budgetUs) + WakeUpUs) _failures = Math.Max(_failures - 4, 0);
    }

    private void AddPoints(long nowUs, long points)
    {
        long fades = (nowUs - _fadedUs) / FadeUs;
        if (fades > 0)
        {
            _points = (int)Math.Max(_points - fades, 0);
            _fadedUs = nowUs;
        }

        _points = (int)Math.Min(_points + points, PointsMax);
        if (_points < PointsMax) return;
        bool isSoon = _restUs > 0 && nowUs - _restEndsUs < _restUs;
        _restUs = isSoon ? Math.Min(2 * _restUs, RestUsMax) : RestUsMin;
        _restEndsUs = nowUs + _restUs;
        // One more point after the rest is enough: they fade from its end on.
        _points = PointsMax - 1;
        _fadedUs = _restEndsUs;
    }
}

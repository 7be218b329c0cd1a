using System.Diagnostics;

namespace Kv.Server.Network;

/// <summary>Whether a worker that waits may poll: it has to have paid off lately, and nobody else may want the worker's
/// core.</summary>
/// <remarks>
/// Fed with observations, so that it can be tested without a clock. Times are microseconds of any clock that only goes
/// forward. Somebody else wants the core when the kernel takes it from the worker between two polls and gives it back
/// late. Each <see cref="GapUs"/> of such a gap is a point. Points fade at one per <see cref="FadeUs"/>; at
/// <see cref="PointsMax"/> the worker does not poll for a while (a rest). Then it tries again, and one more point shows
/// that nothing has changed: the next rest is twice as long. After polling without a point for as long as the last rest
/// was, the next rest is short again. How often the core is taken says nothing: a client on the worker's own core takes
/// it once a request, for some microseconds, and polling is what serves that client fastest.
/// Threads: its worker's own.
/// </remarks>
internal struct PollingRule
{
    /// <summary>How many times in a row polling may be in vain.</summary>
    public const int FailuresMax = 16;

    /// <summary>What going to sleep and waking take: polling would have caught the work that ended a sleep of the
    /// budget and this much more.</summary>
    public const int WakeUpUs = 50;

    /// <summary>Two looks at the clock with one poll between them are a microsecond apart, some tens when an interrupt
    /// or a client on the same core comes between; a busy thread keeps the core for a slice, 1 to 4 ms.</summary>
    public const int GapUs = 500;

    /// <summary>3 ms lost at once, or a twentieth of the time for long.</summary>
    public const int PointsMax = 6, FadeUs = 10_000;

    /// <summary>The shortest rest costs a single client nothing that it notices; beside the longest one the attempts to
    /// poll do not count.</summary>
    public const int RestUsMin = 100_000, RestUsMax = 800_000;

    private int _failures;
    private int _points;
    private long _fadedUs, _restEndsUs, _restUs;

    /// <summary>Whether to poll now.</summary>
    public readonly bool Allows(long nowUs) => _failures < FailuresMax && nowUs >= _restEndsUs;

    /// <summary>Notes two looks at the clock with nothing but a poll between them.</summary>
    public void Polled(long beforeUs, long nowUs)
    {
        if (nowUs - beforeUs >= GapUs) AddPoints(nowUs, (nowUs - beforeUs) / GapUs);
    }

    /// <summary>Notes the end of a round of polling.</summary>
    /// <param name="hasPaid">Whether work came.</param>
    public void EndPolling(bool hasPaid) => _failures = hasPaid ? 0 : _failures + 1;

    /// <summary>Notes a sleep that work has ended.</summary>
    public void Slept(long sleptUs, long budgetUs)
    {
        if (sleptUs < (2 * budgetUs) + WakeUpUs) _failures = Math.Max(_failures - 4, 0);
    }

    private void AddPoints(long nowUs, long points)
    {
        Debug.Assert(points > 0 && _points >= 0 && _points < PointsMax, "at the most points a rest has begun");
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
        // One more point after the rest is enough: points fade from its end on.
        _points = PointsMax - 1;
        _fadedUs = _restEndsUs;
    }
}

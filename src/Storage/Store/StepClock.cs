using System.Diagnostics;

namespace Kv.Storage;

/// <summary>Says when a step has taken long enough: half a millisecond.</summary>
/// <remarks>
/// Asked now and then only, and not for the first elements, so each step gets on. A number of elements alone is no
/// limit: they may cost ten times what they do on another day, in no cache or on a machine that others use, too.
/// </remarks>
internal struct StepClock()
{
    private const int Every = 64;

    private readonly long _end = Stopwatch.GetTimestamp() + (Stopwatch.Frequency / 2000);
    private long _untilAsked = Every;

    /// <summary>Has the time asked for before anything more is done: what was done last may have been long.</summary>
    public void AskNext() => _untilAsked = 0;

    /// <summary>Whether there is time for elements.</summary>
    /// <param name="count">Some tens at most.</param>
    public bool HasTime(long count = 1)
    {
        _untilAsked -= count;
        if (_untilAsked >= 0) return true;
        if (Stopwatch.GetTimestamp() >= _end) return false;
        _untilAsked = Every;
        return true;
    }
}

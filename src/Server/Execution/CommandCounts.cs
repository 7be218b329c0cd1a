using System.Diagnostics;
using System.Runtime.CompilerServices;

namespace Kv.Server.Execution;

/// <summary>How often one command was called, and how long that took; of one worker, or the sum of all.</summary>
/// <remarks>
/// Reading the clock twice takes as long as a GET, so of what is quick only one run in some is timed (a run: commands
/// of one name that stand together), and stands for those before it that were not. What is slow is timed always: the
/// first run of a command, and each behind one that was slow. Threads: as <see cref="WorkerCounters"/>.
/// </remarks>
internal struct CommandCounts
{
    /// <summary>Of quick runs one in so many is timed. Primes: what goes round in a pipeline shall not always meet the
    /// same.</summary>
    private const int FastInterval = 61, Interval = 13;

    /// <summary>From here on the clock is a 500th.</summary>
    private const long SlowMicroseconds = 30;

    private const int Slow = -1;

    public long Calls;

    // Runs that are not timed from here on; Slow: the last one that was timed was slow.
    private int _passes;

    public long Failed;
    public long Rejected;

    // Of Stopwatch: all that was timed, and what that stands for; up to so many calls; of one call of the last run.
    private long _ticks, _timedCalls, _ticksEach;

    /// <summary>Microseconds in which it ran, waiting excluded: of the last calls, which nobody has timed, as many as
    /// of those before.</summary>
    // A reset at this moment may leave more timed than called.
    public readonly long Microseconds => ToMicroseconds(_ticks + (_ticksEach * Math.Max(0, Calls - _timedCalls)));

    /// <summary>Ahead of a run.</summary>
    /// <returns>When it began; 0: it is not timed.</returns>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public long Begin() => --_passes < 0 ? Stopwatch.GetTimestamp() : 0;

    /// <summary>After <see cref="Begin"/>: whether the last run that was timed was slow.</summary>
    public readonly bool WasSlow => _passes < Slow;

    /// <summary>Behind a run that was timed; its calls are counted.</summary>
    /// <returns>When it ended, if it was slow; else 0.</returns>
    [MethodImpl(MethodImplOptions.NoInlining)]
    public long End(long begin, int calls, Command command)
    {
        long now = Stopwatch.GetTimestamp();
        return AddRun(now - begin, calls, (command.Flags & CommandFlags.Fast) != 0) ? now : 0;
    }

    /// <summary>Adds a run that was timed, and as much for each call since the one before it.</summary>
    /// <returns>Whether it was slow.</returns>
    public bool AddRun(long ticks, int calls, bool isFast)
    {
        bool isSlow = ToMicroseconds(ticks) >= SlowMicroseconds;
        _passes = isSlow ? Slow : (isFast ? FastInterval : Interval) - 1;
        // A blocking command is counted when it is served, and a reset comes at any time.
        long passed = Math.Max(0, Calls - _timedCalls - calls);
        _ticks += ticks + (ticks * passed / calls);
        _ticksEach = ticks / calls;
        _timedCalls = Calls;
        return isSlow;
    }

    /// <summary>Adds a step of a command that has been called.</summary>
    public void AddStep(long begin) => _ticks += Stopwatch.GetTimestamp() - begin;

    /// <summary>Adds what another worker has counted.</summary>
    public void Add(in CommandCounts other)
    {
        Calls += other.Calls;
        Failed += other.Failed;
        Rejected += other.Rejected;
        _timedCalls += other.Calls;
        _ticks += other._ticks + (other._ticksEach * Math.Max(0, other.Calls - other._timedCalls));
    }

    private static long ToMicroseconds(long ticks) => ticks / (Stopwatch.Frequency / 1_000_000);
}

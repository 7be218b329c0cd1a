using System.Diagnostics;
using System.Runtime.CompilerServices;

namespace Kv.Server.Execution;

/// <summary>How often one command was called, and how long that took; by one worker, or by all.</summary>
/// <remarks>
/// Reading the clock twice takes as long as a GET, so only some runs of a quick command are timed (a run: commands of
/// one name that follow each other); a timed run stands for the untimed ones before it, too. A command's first run is
/// timed, and each run after a slow one. Threads: as <see cref="WorkerCounters"/>.
/// </remarks>
internal struct CommandCounts
{
    /// <summary>One quick run in this many is timed. Primes: with commands that repeat in a pipeline it shall not
    /// always be the same place.</summary>
    private const int FastInterval = 61, Interval = 13;

    /// <summary>From this length on, reading the clock costs less than a 500th.</summary>
    private const long SlowMicroseconds = 30;

    private const int Slow = -1;

    public long Calls;

    // How many further runs are not timed; Slow: the last run that was timed was slow.
    private int _passes;

    public long Failed;
    public long Rejected;

    // In Stopwatch ticks: the time of the first _timedCalls calls, timed or estimated; of one call of the last timed
    // run.
    private long _ticks, _timedCalls, _ticksEach;

    /// <summary>Microseconds in which the command ran, without waiting. The last calls, which are not timed yet, count
    /// like those before.</summary>
    // A reset at this moment may leave more calls timed than made.
    public readonly long Microseconds => ToMicroseconds(_ticks + (_ticksEach * Math.Max(0, Calls - _timedCalls)));

    /// <summary>Begins a run.</summary>
    /// <returns>When it began; 0 if it is not timed.</returns>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public long Begin() => --_passes < 0 ? Stopwatch.GetTimestamp() : 0;

    /// <summary>After <see cref="Begin"/>: whether the last run that was timed was slow.</summary>
    public readonly bool WasSlow => _passes < Slow;

    /// <summary>After <see cref="End"/>: whether that run was slow.</summary>
    public readonly bool IsSlow => _passes == Slow;

    /// <summary>Ends a run that was timed, after its calls were counted.</summary>
    /// <returns>How long it took.</returns>
    [MethodImpl(MethodImplOptions.NoInlining)]
    public long End(long begin, int calls, Command command)
    {
        long ticks = Stopwatch.GetTimestamp() - begin;
        AddRun(ticks, calls, (command.Flags & CommandFlags.Fast) != 0);
        return ticks;
    }

    /// <summary>Adds a run that was timed, and as much for each untimed call before it.</summary>
    public void AddRun(long ticks, int calls, bool isFast)
    {
        Debug.Assert(calls > 0 && ticks >= 0, "a run has calls, and takes time");
        bool isSlow = ToMicroseconds(ticks) >= SlowMicroseconds;
        _passes = isSlow ? Slow : (isFast ? FastInterval : Interval) - 1;
        // A blocking command is counted when it is served, and a reset comes at any time.
        long passed = Math.Max(0, Calls - _timedCalls - calls);
        _ticks += ticks + (ticks * passed / calls);
        _ticksEach = ticks / calls;
        _timedCalls = Calls;
    }

    /// <summary>Adds a step of a command that has been called.</summary>
    /// <returns>How long it took.</returns>
    public long AddStep(long begin)
    {
        long ticks = Stopwatch.GetTimestamp() - begin;
        _ticks += ticks;
        return ticks;
    }

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

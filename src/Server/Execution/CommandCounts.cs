using System.Diagnostics;
using System.Runtime.CompilerServices;
using Kv.Server.Metrics;

namespace Kv.Server.Execution;

/// <summary>How often one command was called, and how long that took; by one worker, or by all.</summary>
/// <remarks>
/// Reading the clock twice takes as long as a GET, so only some runs of a quick command are timed (a run: commands of
/// one name that follow each other); a timed run stands for the untimed ones before it, too, unless it was timed for
/// another reason than its turn. A command's first run is timed, and each run after a slow one. The histogram of how
/// long calls take is filled likewise: each call of a run counts with the run's time divided by its calls. What goes on
/// in steps counts at its end, with the time of all of its turns. Threads: as <see cref="WorkerCounters"/>.
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

    // Of the first _timedCalls calls, but for those that still go on; made for the first call.
    private LatencyHistogram? _latencies;

    /// <summary>Microseconds in which the command ran, without waiting. The last calls, which are not timed yet, count
    /// like those before.</summary>
    // A reset at this moment may leave more calls timed than made.
    public readonly long Microseconds => ToMicroseconds(_ticks + (_ticksEach * Math.Max(0, Calls - _timedCalls)));

    /// <summary>Begins a run.</summary>
    /// <returns>When it began; 0 if it is not timed.</returns>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public long Begin() => --_passes < 0 ? Stopwatch.GetTimestamp() : 0;

    /// <summary>Undoes <see cref="Begin"/>: nothing is called.</summary>
    public void GiveUp() => _passes++;

    /// <summary>After <see cref="Begin"/>: whether the last run that was timed was slow.</summary>
    public readonly bool WasSlow => _passes < Slow;

    /// <summary>After <see cref="End"/>: whether that run was slow.</summary>
    public readonly bool IsSlow => _passes == Slow;

    /// <summary>Ends a run that was timed, after its calls were counted.</summary>
    /// <param name="tracks">Whether the histogram is kept.</param>
    /// <param name="goesOn">Whether the last call goes on in steps, or waits.</param>
    /// <returns>How long it took.</returns>
    [MethodImpl(MethodImplOptions.NoInlining)]
    public long End(long begin, int calls, Command command, bool tracks, bool goesOn)
    {
        long ticks = Stopwatch.GetTimestamp() - begin;
        AddRun(ticks, calls, (command.Flags & CommandFlags.Fast) != 0, tracks, goesOn);
        return ticks;
    }

    /// <summary>Adds a run that was timed, and the untimed calls before it.</summary>
    public void AddRun(long ticks, int calls, bool isFast, bool tracks = false, bool goesOn = false)
    {
        Debug.Assert(calls > 0 && ticks >= 0, "a run has calls, and takes time");
        // Else one slow call, which the slow log wanted to be timed, would stand for a dozen quick ones.
        bool standsForOthers = _passes < 0;
        bool isSlow = ToMicroseconds(ticks) >= SlowMicroseconds;
        _passes = isSlow ? Slow : (isFast ? FastInterval : Interval) - 1;
        // A blocking command is counted when it is served, and a reset comes at any time.
        long all = Math.Max(0, Calls - _timedCalls);
        long own = Math.Min(all, goesOn ? calls - 1 : calls), passed = all - own;
        long each = ticks / calls, passedEach = standsForOthers ? each : _ticksEach;
        _ticks += ticks + (standsForOthers ? ticks * passed / calls : passedEach * passed);
        _ticksEach = each;
        _timedCalls = Calls;
        if (!tracks) return;
        _latencies ??= new LatencyHistogram();
        _latencies.AddTicks(each, own);
        _latencies.AddTicks(passedEach, passed);
    }

    /// <summary>The last call, which was counted, goes on in steps: <see cref="EndSteps"/> says how long it
    /// took.</summary>
    public void BeginSteps() => _timedCalls++;

    /// <summary>Adds a step of a command that has been called.</summary>
    /// <returns>How long it took.</returns>
    public long AddStep(long begin)
    {
        long ticks = Stopwatch.GetTimestamp() - begin;
        _ticks += ticks;
        return ticks;
    }

    /// <summary>Adds what a command that has been called took on another thread.</summary>
    public void AddElsewhere(long ticks) => _ticks += ticks;

    /// <summary>Ends a call that has gone on in steps.</summary>
    /// <param name="ticks">How long all of its turns took.</param>
    /// <param name="tracks">Whether the histogram is kept.</param>
    /// <param name="wasCountedNow">Whether it was counted at its end, as one that has waited, and has not begun with
    /// <see cref="BeginSteps"/>.</param>
    public void EndSteps(long ticks, bool tracks, bool wasCountedNow)
    {
        if (wasCountedNow) _timedCalls++;
        if (tracks) (_latencies ??= new LatencyHistogram()).AddTicks(ticks, 1);
    }

    /// <summary>Adds how long its calls took to a histogram. Those that are not timed yet took as long as the last
    /// one.</summary>
    public readonly void AddLatenciesTo(LatencyHistogram sum)
    {
        if (_latencies == null) return;
        sum.Add(_latencies);
        sum.AddTicks(_ticksEach, Math.Max(0, Calls - _timedCalls));
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

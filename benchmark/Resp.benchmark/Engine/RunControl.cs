using RespBenchmark.Measure;

namespace RespBenchmark.Engine;

/// <summary>What the controlling thread and the loops agree on: when a phase (warm-up or measurement) runs, how much
/// may still be sent, and why it ended.</summary>
/// <remarks>Threads: any.</remarks>
internal sealed class RunControl(int loops)
{
    private readonly object _lock = new();
    private readonly ManualResetEventSlim _ended = new(true);
    private long _budget, _firstFailure;
    private int _phase, _running, _sessions;
    private bool _limited;
    private volatile bool _stopped, _exiting;

    /// <summary>Set by a loop that saw it happen first.</summary>
    public RunEnd End { get; private set; }

    public string? Failure { get; private set; }

    /// <summary>Whether a number of commands bounds the phase.</summary>
    public bool IsLimited => _limited;

    /// <summary>All commands of a counted phase are given out.</summary>
    public bool IsSpent => _limited && Volatile.Read(ref _budget) <= 0;     // a stale read is one round late

    /// <summary>Of no loop.</summary>
    public bool HasNoSessions => Volatile.Read(ref _sessions) == 0;         // as above

    /// <summary>How long the phase sends; zero: no end by time.</summary>
    public TimeSpan Duration { get; private set; }

    public bool IsStopped => _stopped;

    public bool IsExiting => _exiting;

    public bool HasEnded => _ended.IsSet;

    public void Start(TimeSpan duration, long commands)
    {
        lock (_lock)
        {
            Duration = duration;
            _limited = commands > 0;
            Volatile.Write(ref _budget, commands);
            _stopped = false;
            _running = loops;
            if (Volatile.Read(ref _sessions) == 0 && End == RunEnd.Completed) End = RunEnd.AllDisconnected;
            _phase++;
            _ended.Reset();
            Monitor.PulseAll(_lock);
        }
    }

    /// <summary>A loop waits here between phases.</summary>
    /// <returns>False: it ends for good.</returns>
    public bool WaitForPhase(ref int seen)
    {
        lock (_lock)
        {
            // Ends: with the next phase, or with the run.
            while (_phase == seen && !_exiting) Monitor.Wait(_lock);
            seen = _phase;
            return !_exiting;
        }
    }

    public void LoopEnded()
    {
        lock (_lock)
        {
            if (--_running == 0) _ended.Set();
        }
    }

    public void SessionOpened() => Interlocked.Increment(ref _sessions);

    /// <returns>True: it was the last of all loops.</returns>
    public bool SessionClosed() => Interlocked.Decrement(ref _sessions) == 0;

    public bool WaitForEnd(TimeSpan timeout) => _ended.Wait(timeout);

    public void Stop() => _stopped = true;

    public void Exit()
    {
        lock (_lock)
        {
            _stopped = _exiting = true;
            Monitor.PulseAll(_lock);
        }
    }

    /// <summary>Grants commands of a counted run; 0 when all are given out.</summary>
    public int Take(int wanted)
    {
        // Guided shares: large while much is left, so that loops seldom meet here, small at the end, so that they end
        // together. Ends: another loop's success is the only reason for another round.
        while (true)
        {
            long left = Volatile.Read(ref _budget);
            if (left <= 0) return 0;
            long share = Math.Min(left, Math.Max(wanted, Math.Min(4096, left / (8 * loops))));
            if (Interlocked.CompareExchange(ref _budget, left - share, left) == left) return (int)share;
        }
    }

    /// <summary>Gives back what a loop without connections cannot send.</summary>
    public void GiveBack(int commands) => Interlocked.Add(ref _budget, commands);

    /// <summary>Notes the first reason for a bad end. A worse one replaces it: no RESP, then an error reply that ends
    /// the run, then lost connections, then missing replies.</summary>
    public void Fail(RunEnd end, string? text)
    {
        lock (_lock)
        {
            if (_firstFailure != 0 && Rank(end) <= Rank(End)) return;
            _firstFailure = 1;
            End = end;
            Failure = text ?? Failure;
        }
    }

    private static int Rank(RunEnd end) => end switch
    {
        RunEnd.BrokenReply => 5,
        RunEnd.ErrorReply => 4,
        RunEnd.AllDisconnected => 3,
        RunEnd.DrainTimeout => 2,
        RunEnd.Interrupted => 1,
        _ => 0,
    };
}

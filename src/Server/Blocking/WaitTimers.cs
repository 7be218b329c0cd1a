using System.Diagnostics;

namespace Kv.Server.Blocking;

//   heap by deadline:   [0] the next one      [2i+1], [2i+2] come later than [i]      each command knows its place

/// <summary>Ends the waits of blocked commands when their time has passed: one timer for all of them.</summary>
/// <remarks>
/// Threads: any; a lock for some steps of a heap. The timer is set for the first deadline, and not set back when that
/// command leaves. No wait ends early: the time is rounded up when a wait begins, and down when its end is looked for.
/// </remarks>
internal sealed class WaitTimers(TimeProvider time) : IDisposable
{
    /// <summary>What <see cref="BlockedCommand.TimerPlace"/> is without a deadline.</summary>
    internal const int NoPlace = -1;

    /// <summary>A timer takes no longer time than this; for a later deadline it is set again then.</summary>
    private const long TimerMsMax = int.MaxValue;

    private readonly Lock _guard = new();
    private BlockedCommand[] _heap = [];
    private int _count;
    private ITimer? _timer;
    private long _setForMs = long.MaxValue;
    private bool _disposed;

    /// <summary>Commands with a deadline, for which the timer has been set.</summary>
    public int Count
    {
        get
        {
            lock (_guard) return _count;
        }
    }

    /// <summary>Milliseconds of a clock that never goes back.</summary>
    public long NowMs => (long)((Int128)time.GetTimestamp() * 1000 / time.TimestampFrequency);

    /// <summary>Ends the command's wait after <paramref name="milliseconds"/>, unless it is removed before.</summary>
    public void Add(BlockedCommand command, long milliseconds)
    {
        long now =
            (long)((((Int128)time.GetTimestamp() * 1000) + time.TimestampFrequency - 1) / time.TimestampFrequency);
        Debug.Assert(milliseconds > 0, "0 waits for ever, and needs no timer");
        lock (_guard)
        {
            if (_disposed) return;
            Debug.Assert(command.TimerPlace == NoPlace, "a command has one deadline");
            command.DeadlineMs = milliseconds < long.MaxValue - now ? now + milliseconds : long.MaxValue;
            if (_count == _heap.Length) Array.Resize(ref _heap, Math.Max(16, _count * 2));
            Rise(_count++, command);
            SetLatched(now);
        }
    }

    /// <summary>Forgets a command, unless it has no deadline here.</summary>
    public void Remove(BlockedCommand command)
    {
        lock (_guard)
        {
            if (command.TimerPlace != NoPlace) RemoveLatched(command.TimerPlace);
        }
    }

    public void Dispose()
    {
        lock (_guard)
        {
            _disposed = true;
            _timer?.Dispose();
        }
    }

    private void Ring()
    {
        List<BlockedCommand> due = [];
        lock (_guard)
        {
            long now = NowMs;
            for (; _count > 0 && _heap[0].DeadlineMs <= now; RemoveLatched(0)) due.Add(_heap[0]);
            _setForMs = long.MaxValue;
            SetLatched(now);
        }

        // Outside of the lock: ending a wait wakes a session.
        foreach (var command in due) command.TryEnd();
    }

    private void SetLatched(long now)
    {
        Debug.Assert(_guard.IsHeldByCurrentThread, "the heap and its timer are under the lock");
        if (_disposed || _count == 0 || _heap[0].DeadlineMs >= _setForMs) return;
        _setForMs = _heap[0].DeadlineMs;
        var left = TimeSpan.FromMilliseconds(Math.Clamp(_setForMs - now, 1, TimerMsMax));
        if (_setForMs - now > TimerMsMax) _setForMs = now + TimerMsMax;
        if (_timer == null)
            _timer = time.CreateTimer(static timers => ((WaitTimers)timers!).Ring(), this, left,
                Timeout.InfiniteTimeSpan);
        else _timer.Change(left, Timeout.InfiniteTimeSpan);
    }

    private void RemoveLatched(int place)
    {
        Debug.Assert(_guard.IsHeldByCurrentThread, "the heap and its timer are under the lock");
        Debug.Assert(place >= 0 && place < _count && _heap[place].TimerPlace == place, "each command knows its place");
        var command = _heap[place];
        command.TimerPlace = NoPlace;
        var last = _heap[--_count];
        _heap[_count] = null!;
        if (last == command) return;
        if (place > 0 && last.DeadlineMs < _heap[(place - 1) / 2].DeadlineMs) Rise(place, last);
        else Sink(place, last);
    }

    private void Rise(int place, BlockedCommand command)
    {
        for (; place > 0 && command.DeadlineMs < _heap[(place - 1) / 2].DeadlineMs; place = (place - 1) / 2)
            Put(place, _heap[(place - 1) / 2]);
        Put(place, command);
    }

    private void Sink(int place, BlockedCommand command)
    {
        // Ends: each round goes down.
        for (int child = (2 * place) + 1; child < _count; child = (2 * place) + 1)
        {
            if (child + 1 < _count && _heap[child + 1].DeadlineMs < _heap[child].DeadlineMs) child++;
            if (command.DeadlineMs <= _heap[child].DeadlineMs) break;
            Put(place, _heap[child]);
            place = child;
        }

        Put(place, command);
    }

    private void Put(int place, BlockedCommand command)
    {
        _heap[place] = command;
        command.TimerPlace = place;
    }
}

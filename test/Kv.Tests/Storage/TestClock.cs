namespace Kv.Tests.Storage;

/// <summary>A clock that stands still until the test moves it. Its timers ring as it is moved, on the thread that moves
/// it.</summary>
internal sealed class TestClock : TimeProvider
{
    private readonly List<TestTimer> _timers = [];
    private long _ms = 1_700_000_000_000;

    public long Ms
    {
        get => Volatile.Read(ref _ms);
        set
        {
            Volatile.Write(ref _ms, value);
            Ring();
        }
    }

    public void Advance(long ms)
    {
        Interlocked.Add(ref _ms, ms);
        Ring();
    }

    public override long TimestampFrequency => 1000;

    public override long GetTimestamp() => Ms;

    public override DateTimeOffset GetUtcNow() => DateTimeOffset.FromUnixTimeMilliseconds(Ms);

    public override ITimer CreateTimer(TimerCallback callback, object? state, TimeSpan dueTime, TimeSpan period)
    {
        var timer = new TestTimer(this, () => callback(state));
        timer.Change(dueTime, period);
        lock (_timers) _timers.Add(timer);
        return timer;
    }

    private void Ring()
    {
        TestTimer[] due;
        lock (_timers) due = [.. _timers.Where(timer => timer.TryTakeDue(Ms))];
        foreach (var timer in due) timer.Ring();
    }

    private sealed class TestTimer(TestClock clock, Action ring) : ITimer
    {
        private readonly Lock _guard = new();
        private long _due = long.MaxValue, _period;

        public bool Change(TimeSpan dueTime, TimeSpan period)
        {
            lock (_guard)
            {
                _due = dueTime == Timeout.InfiniteTimeSpan ? long.MaxValue : clock.Ms + (long)dueTime.TotalMilliseconds;
                _period = period == Timeout.InfiniteTimeSpan ? 0 : (long)period.TotalMilliseconds;
            }

            return true;
        }

        public bool TryTakeDue(long now)
        {
            lock (_guard)
            {
                if (_due > now) return false;
                _due = _period > 0 ? now + _period : long.MaxValue;
                return true;
            }
        }

        public void Ring() => ring();

        public void Dispose()
        {
            lock (clock._timers) clock._timers.Remove(this);
        }

        public ValueTask DisposeAsync()
        {
            Dispose();
            return default;
        }
    }
}

using Kv.Server.Metrics;

namespace Kv.Tests.Metrics;

public class RateMeterTests
{
    [Fact]
    public void Rates_are_of_the_time_since_the_sample_before()
    {
        var time = new ManualTime();
        var totals = new RateMeter.Totals(0, 0, 0);
        using var meter = new RateMeter(time, () => totals);
        Assert.Equal(new RateMeter.Rates(0, 0, 0), meter.PerSecond);

        totals = new(500, 2048, 4096);
        time.Pass(TimeSpan.FromSeconds(1));
        Assert.Equal(new RateMeter.Rates(500, 2048, 4096), meter.PerSecond);

        totals = new(900, 2048, 4097);
        time.Pass(TimeSpan.FromSeconds(2));
        Assert.Equal(new RateMeter.Rates(200, 0, 0.5), meter.PerSecond);
    }

    [Fact]
    public void Totals_that_were_reset_are_no_negative_rate()
    {
        var time = new ManualTime();
        var totals = new RateMeter.Totals(500, 1, 1);
        using var meter = new RateMeter(time, () => totals);
        time.Pass(TimeSpan.FromSeconds(1));
        totals = new(3, 0, 0);
        time.Pass(TimeSpan.FromSeconds(1));
        Assert.Equal(0, meter.PerSecond.Commands);
    }

    /// <summary>A clock that passes when it is told to, and then calls its one timer.</summary>
    private sealed class ManualTime : TimeProvider
    {
        private long _now;
        private Action? _tick;

        public override long TimestampFrequency => TimeSpan.TicksPerSecond;

        public override long GetTimestamp() => _now;

        public override ITimer CreateTimer(TimerCallback callback, object? state, TimeSpan dueTime, TimeSpan period)
        {
            _tick = () => callback(state);
            return new NoTimer();
        }

        public void Pass(TimeSpan time)
        {
            _now += time.Ticks;
            _tick!();
        }

        private sealed class NoTimer : ITimer
        {
            public bool Change(TimeSpan dueTime, TimeSpan period) => true;
            public void Dispose() { }
            public ValueTask DisposeAsync() => ValueTask.CompletedTask;
        }
    }
}

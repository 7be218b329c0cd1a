using System.Diagnostics;
using Kv.Server.Configuration;
using Kv.Server.Diagnostics;
using Kv.Tests.Storage;

namespace Kv.Tests.Diagnostics;

/// <summary>Which samples the latency monitor keeps, without a server.</summary>
public sealed class LatencyMonitorTests
{
    private static readonly long Millisecond = Stopwatch.Frequency / 1000;

    private readonly TestClock _clock = new();

    [Fact]
    public void A_second_has_one_sample_the_worst_and_the_worst_of_all_is_remembered()
    {
        var monitor = Monitor(threshold: 5);
        foreach (long ms in new long[] { 7, 9, 8 }) monitor.Note(LatencyEvent.Command, ms * Millisecond);
        _clock.Advance(1000);
        monitor.Note(LatencyEvent.Command, 6 * Millisecond);
        monitor.Note(LatencyEvent.GcPause, 20 * Millisecond);
        long now = _clock.Ms / 1000;
        Assert.Equal([new(now - 1, 9), new(now, 6)], monitor.SamplesOf(LatencyEvent.Command));
        Assert.Equal([(LatencyEvent.Command, 9L), (LatencyEvent.GcPause, 20L)],
            monitor.All().Select(series => (series.Event, series.WorstMilliseconds)));
    }

    [Fact]
    public void Of_more_than_160_seconds_the_last_are_kept_and_the_worst_of_all_is_not_forgotten()
    {
        var monitor = Monitor(threshold: 1);
        for (int i = 0; i < 200; i++)
        {
            monitor.Note(LatencyEvent.Command, (300 - i) * Millisecond);
            _clock.Advance(1000);
        }

        Assert.Equal(Enumerable.Range(101, 160).Reverse().Select(ms => (long)ms),
            monitor.SamplesOf(LatencyEvent.Command).Select(sample => sample.Milliseconds));
        Assert.Equal(300, monitor.All().Single().WorstMilliseconds);
    }

    [Fact]
    public void Only_what_takes_as_long_as_the_threshold_is_a_sample()
    {
        var monitor = Monitor(threshold: 5);
        monitor.Note(LatencyEvent.Command, (5 * Millisecond) - 1);
        Assert.Empty(monitor.All());
        monitor.Note(LatencyEvent.Command, 5 * Millisecond);
        Assert.Equal(5, monitor.SamplesOf(LatencyEvent.Command).Single().Milliseconds);
        monitor.Follow(new ServerOptions { LatencyMonitorThreshold = 0 });
        monitor.Note(LatencyEvent.FastCommand, long.MaxValue - 1);
        Assert.False(monitor.IsOn);
        Assert.Single(monitor.All());
        monitor.Follow(new ServerOptions { LatencyMonitorThreshold = long.MaxValue });
        monitor.Note(LatencyEvent.FastCommand, long.MaxValue - 1);
        Assert.Single(monitor.All());
    }

    [Fact]
    public void A_reset_forgets_one_event_with_its_worst()
    {
        var monitor = Monitor(threshold: 1);
        monitor.Note(LatencyEvent.Command, 50 * Millisecond);
        monitor.Note(LatencyEvent.WorkerTurn, 60 * Millisecond);
        Assert.True(monitor.Reset(LatencyEvent.Command));
        Assert.False(monitor.Reset(LatencyEvent.Command));
        Assert.Empty(monitor.SamplesOf(LatencyEvent.Command));
        monitor.Note(LatencyEvent.Command, 2 * Millisecond);
        Assert.Equal([2L, 60L], monitor.All().Select(series => series.WorstMilliseconds));
    }

    [Theory]
    [InlineData(0, TimingDetail.None), InlineData(1, TimingDetail.Long), InlineData(4, TimingDetail.Long)]
    [InlineData(5, TimingDetail.Unbounded), InlineData(long.MaxValue, TimingDetail.None)]
    public void The_threshold_says_which_commands_are_timed(long threshold, object detail)
    {
        var options = new ServerOptions { LatencyMonitorThreshold = threshold, SlowlogLogSlowerThan = -1 };
        var monitor = new LatencyMonitor(_clock);
        using var slowLog = new SlowLog(_ => { }, _clock);
        var timing = new CommandTiming(slowLog, monitor);
        timing.Follow(options);
        Assert.Equal(((TimingDetail)detail, (TimingDetail)detail), (monitor.Detail, timing.Detail));
        options.SlowlogLogSlowerThan = 0;
        timing.Follow(options);
        Assert.Equal(TimingDetail.All, timing.Detail);
    }

    private LatencyMonitor Monitor(long threshold)
    {
        var monitor = new LatencyMonitor(_clock);
        monitor.Follow(new ServerOptions { LatencyMonitorThreshold = threshold });
        return monitor;
    }
}

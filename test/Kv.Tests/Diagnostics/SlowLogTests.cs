using System.Diagnostics;
using Kv.Server.Configuration;
using Kv.Server.Diagnostics;
using Kv.Tests.Harness;

namespace Kv.Tests.Diagnostics;

/// <summary>The memory and the numbers of the slow log, without a server.</summary>
public sealed class SlowLogTests
{
    private static readonly long Microsecond = Stopwatch.Frequency / 1_000_000;

    [Fact]
    public void Entries_that_are_longer_than_the_log_may_be_go_oldest_first_and_numbers_go_on()
    {
        long charged = 0;
        using var log = new SlowLog(bytes => charged += bytes, TimeProvider.System);
        log.Follow(new ServerOptions { SlowlogLogSlowerThan = 10, SlowlogMaxLen = 3 });
        for (int i = 0; i < 5; i++) log.Add([], (10 + i) * Microsecond, "1.2.3.4:5", null);
        Assert.Equal([(4L, 14L), (3L, 13L), (2L, 12L)], log.Newest(10).Select(e => (e.Id, e.Microseconds)));
        Assert.Equal([4L, 3L], log.Newest(2).Select(e => e.Id));
        Assert.Equal(log.Newest(10).Sum(e => e.Bytes), charged);
        log.Follow(new ServerOptions { SlowlogLogSlowerThan = 10, SlowlogMaxLen = 1 });
        Assert.Equal([4L], log.Newest(10).Select(e => e.Id));
        log.Clear();
        Assert.Equal((0, 0L), (log.Count, charged));
        log.Add([], 10 * Microsecond, "", "n"u8.ToArray());
        Assert.Equal((5L, "?:0"), (log.Newest(1)[0].Id, log.Newest(1)[0].Address));
    }

    [Fact]
    public void However_long_it_may_be_it_takes_no_more_than_its_bytes()
    {
        long charged = 0;
        using var log = new SlowLog(bytes => charged += bytes, TimeProvider.System);
        log.Follow(new ServerOptions { SlowlogLogSlowerThan = 0, SlowlogMaxLen = long.MaxValue });
        for (int i = 0; i < 5000; i++) log.Add(new byte[5000], 0, "1.2.3.4:5", null);
        Assert.InRange(charged, SlowLog.BytesMax - 6000, SlowLog.BytesMax);
        Assert.Equal(4999, log.Newest(1)[0].Id);
    }

    [Theory]
    [InlineData(-1, 0, long.MaxValue - 1, TimingDetail.None)]
    [InlineData(0, 0, 0, TimingDetail.All)]
    [InlineData(99, 98, 99, TimingDetail.All)]
    [InlineData(100, 99, 100, TimingDetail.Long)]
    [InlineData(4999, 4998, 4999, TimingDetail.Long)]
    [InlineData(10000, 9999, 10000, TimingDetail.Unbounded)]
    public void A_command_is_slow_from_the_threshold_on(long threshold, long below, long above, object detail)
    {
        using var log = new SlowLog(_ => { }, TimeProvider.System);
        log.Follow(new ServerOptions { SlowlogLogSlowerThan = threshold });
        Assert.Equal((TimingDetail)detail, log.Detail);
        if (below < threshold) Assert.False(log.IsSlow((below * Microsecond) + Microsecond - 1));
        Assert.Equal(threshold >= 0, log.IsSlow(threshold < 0 ? above : above * Microsecond));
    }

    [Fact]
    public void A_threshold_that_no_command_reaches_is_none()
    {
        using var log = new SlowLog(_ => { }, TimeProvider.System);
        log.Follow(new ServerOptions { SlowlogLogSlowerThan = long.MaxValue });
        Assert.False(log.IsSlow(long.MaxValue - 1));
    }

    [Fact]
    public void A_command_in_steps_counts_with_all_of_them_and_gives_back_what_it_kept()
    {
        long charged = 0;
        using var log = new SlowLog(bytes => charged += bytes, TimeProvider.System);
        log.Follow(new ServerOptions { SlowlogLogSlowerThan = 10, SlowlogMaxLen = 10 });
        var quick = new SlowCall(log, new byte[100]) { Ticks = 9 * Microsecond };
        var slow = new SlowCall(log, new byte[100]);
        var left = new SlowCall(log, new byte[100]);
        Assert.True(charged > 300);
        for (int i = 0; i < 10; i++) slow.Ticks += Microsecond;
        quick.End("a", null);
        slow.End("b", null);
        left.Dispose();
        Assert.Equal([("b", 10L)], log.Newest(10).Select(e => (e.Address, e.Microseconds)));
        Assert.Equal(log.Newest(1)[0].Bytes, charged);
    }
}

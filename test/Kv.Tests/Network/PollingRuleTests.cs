using Kv.Server.Network;

namespace Kv.Tests.Network;

/// <summary>Whether a waiting worker polls, by what it has seen. The times are numbers: nothing waits.</summary>
public class PollingRuleTests
{
    private const long Start = 1_000_000;

    private PollingRule _rule;

    [Fact]
    public void A_worker_polls_until_that_was_in_vain_sixteen_times_in_a_row()
    {
        for (int i = 0; i < PollingRule.FailuresMax; i++)
        {
            Assert.True(_rule.Allows(Start));
            _rule.EndPolling(hasPaid: false);
        }

        Assert.False(_rule.Allows(Start + 3_600_000_000));
        _rule.Slept(150, budgetUs: 50);
        Assert.False(_rule.Allows(Start), "so long a sleep polling would not have caught");
        _rule.Slept(149, budgetUs: 50);
        Assert.True(_rule.Allows(Start), "a short sleep, which polling would have caught");
    }

    [Fact]
    public void One_round_that_paid_makes_up_for_all_in_vain()
    {
        for (int i = 0; i < PollingRule.FailuresMax - 1; i++) _rule.EndPolling(hasPaid: false);
        _rule.EndPolling(hasPaid: true);
        for (int i = 0; i < PollingRule.FailuresMax - 1; i++) _rule.EndPolling(hasPaid: false);
        Assert.True(_rule.Allows(Start));
    }

    // A slice of another busy thread; a quota of the container, which takes the core for tens of milliseconds.
    [Theory]
    [InlineData((PollingRule.PointsMax * PollingRule.GapUs) - 1, true)]
    [InlineData(PollingRule.PointsMax * PollingRule.GapUs, false)]
    [InlineData(90_000, false)]
    [InlineData(long.MaxValue / 2, false)]
    public void A_core_that_is_away_for_long_is_not_polled_on(long awayUs, bool polls)
    {
        _rule.Polled(Start, Start + awayUs);
        Assert.Equal(polls, _rule.Allows(Start + awayUs));
    }

    [Fact]
    public void A_core_that_is_away_again_and_again_is_not_polled_on()
    {
        long now = Start;
        for (int i = 0; i < PollingRule.PointsMax; i++)
        {
            Assert.True(_rule.Allows(now));
            now = Lose(now + 1000, PollingRule.GapUs);
        }

        Assert.False(_rule.Allows(now));
        Assert.False(_rule.Allows(now + PollingRule.RestUsMin - 1));
        Assert.True(_rule.Allows(now + PollingRule.RestUsMin));
    }

    // A client on the worker's own core takes it once a request, and polling serves it best.
    [Fact]
    public void A_core_that_is_away_for_moments_is_polled_on_however_often()
    {
        long now = Start;
        for (int i = 0; i < 100_000; i++) now = Lose(now + 20, PollingRule.GapUs - 1);
        Assert.True(_rule.Allows(now));
    }

    [Theory]
    [InlineData(PollingRule.FadeUs)]
    [InlineData(50_000)]
    [InlineData(2_000_000)]
    public void A_core_that_is_away_now_and_then_is_polled_on(long everyUs)
    {
        long now = Start;
        for (int i = 0; i < 1000; i++)
        {
            now = Lose(now + everyUs, PollingRule.GapUs);
            Assert.True(_rule.Allows(now), $"after {i + 1} times, one each {everyUs} us");
        }
    }

    [Fact]
    public void Each_rest_is_twice_the_last_while_nothing_changes_and_no_longer_than_the_longest()
    {
        long now = Start;
        long[] rests = new long[8];
        for (int i = 0; i < rests.Length; i++)
        {
            now = LoseUntilRest(now, out int points);
            Assert.Equal(i == 0 ? PollingRule.PointsMax : 1, points);
            rests[i] = RestFrom(now);
            now += rests[i];
        }

        Assert.Equal([100_000, 200_000, 400_000, 800_000, 800_000, 800_000, 800_000, 800_000], rests);
    }

    [Fact]
    public void A_time_without_losing_the_core_makes_the_next_rest_short_again()
    {
        long now = Start;
        for (int i = 0; i < 4; i++)
        {
            now = LoseUntilRest(now, out _);
            now += RestFrom(now);
        }

        now = LoseUntilRest(now + 800_000, out int points);
        Assert.Equal(PollingRule.PointsMax, points);
        Assert.Equal(PollingRule.RestUsMin, RestFrom(now));
    }

    private long Lose(long now, long gapUs)
    {
        _rule.Polled(now, now + gapUs);
        return now + gapUs;
    }

    private long LoseUntilRest(long now, out int points)
    {
        for (points = 0; _rule.Allows(now); points++) now = Lose(now + 1000, PollingRule.GapUs);
        return now;
    }

    private long RestFrom(long now)
    {
        long rest = 0;
        while (!_rule.Allows(now + rest)) rest++;
        return rest;
    }
}

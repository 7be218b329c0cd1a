using Kv.Storage;

namespace Kv.Tests.Eviction;

/// <summary>Which queue is emptied, by what comes again of either.</summary>
public sealed class QueueBalanceTests
{
    private const int Keys = 4000;

    // Of a thousand that are evicted from either queue so many come again.
    [Theory]
    [InlineData(0, 0, 0)]           // a scan
    [InlineData(300, 600, 6)]       // as it is while nothing changes: one in 16
    [InlineData(300, 300, 6)]
    [InlineData(300, 100, 44)]
    [InlineData(300, 0, 100)]
    public void The_main_queue_is_emptied_as_far_as_less_comes_again(int ofYoung, int ofMain, int mainPercent)
    {
        using var budget = new MemoryBudget();
        var evicted = new EvictedKeys(budget);
        var balance = new QueueBalance(evicted);
        evicted.Fit(1 << 16);
        for (int cohort = 0; cohort < 20; cohort++)
        {
            ulong first = (ulong)cohort * 100_000;
            for (ulong i = 0; i < 1000; i++)
            {
                evicted.Add(first + i, 0, SegmentQueue.Young);
                evicted.Add(first + 50_000 + i, 0, SegmentQueue.Main);
            }

            Assert.Equal(ofYoung, Enumerable.Range(0, ofYoung).Count(i => evicted.TryTake(first + (ulong)i, 0)));
            Assert.Equal(ofMain, Enumerable.Range(0, ofMain).Count(i => evicted.TryTake(first + 50_000 + (ulong)i, 0)));
            Assert.False(evicted.TryTake(first + 999, 1 << 30));     // of another database
            balance.IsYoungNext(50, 50, Keys);
        }

        int main = Enumerable.Range(0, 100).Count(_ => !balance.IsYoungNext(50, 50, Keys));
        Assert.InRange(main, mainPercent - 3, mainPercent + 3);
        // What has hardly anything is left alone.
        Assert.False(balance.IsYoungNext(10, 90, Keys));
        Assert.All(Enumerable.Range(0, 100), _ => Assert.True(balance.IsYoungNext(90, 10, Keys)));
    }
}

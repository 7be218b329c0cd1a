using Kv.Tests.Harness;

namespace Kv.Tests.Stress;

/// <summary>The checkers are tested first: on histories broken by hand, and against each other.</summary>
public sealed class HistoriesTests
{
    private static Operation Set(long value, long call, long end) => new(Called.Set, value, call, end);
    private static Operation Get(long value, long call, long end) => new(Called.Get, value, call, end);
    private static Operation Add(long value, long call, long end) => new(Called.Add, value, call, end);

    public static TheoryData<string> Broken => ["stale", "future", "both", "again", "lost", "phantom"];

    private static Operation[] History(string name) => name switch
    {
        "stale" => [Set(1, 1, 2), Set(2, 3, 4), Get(1, 5, 6)],
        "future" => [Get(1, 1, 2), Set(1, 3, 4)],
        "both" => [Set(1, 1, 10), Set(2, 1, 10), Get(1, 11, 12), Get(2, 13, 14)],
        "again" => [Set(1, 1, 2), Set(2, 3, 20), Get(2, 4, 5), Get(1, 6, 7)],
        "lost" => [Set(1, 1, 2), Get(0, 3, 4)],
        "phantom" => [Set(1, 1, 2), Get(7, 3, 4)],
        _ => throw new ArgumentOutOfRangeException(name),
    };

    [Theory]
    [MemberData(nameof(Broken))]
    public void A_broken_register_is_noticed_by_both(string name)
    {
        Assert.NotNull(Histories.CheckRegister(History(name)));
        Assert.NotNull(Histories.Search(History(name)));
    }

    [Fact]
    public void A_right_register_passes_both()
    {
        Operation[] right = [Set(1, 1, 10), Set(2, 2, 9), Get(2, 3, 4), Get(1, 5, 12), Get(1, 13, 14), Set(3, 15, 16),
            Get(3, 15, 18)];
        Assert.Null(Histories.CheckRegister(right));
        Assert.Null(Histories.Search(right));
    }

    [Fact]
    public void A_broken_counter_is_noticed()
    {
        Assert.Null(Histories.CheckCounter([Add(1, 1, 4), Add(2, 2, 3), Add(3, 5, 6)]));
        Assert.NotNull(Histories.CheckCounter([Add(1, 1, 2), Add(1, 1, 2)]));
        Assert.NotNull(Histories.CheckCounter([Add(1, 1, 2), Add(3, 3, 4)]));
        Assert.NotNull(Histories.CheckCounter([Add(2, 1, 2), Add(1, 3, 4)]));
    }

    [Fact]
    public void A_delete_that_found_nothing_although_a_key_was_there_is_noticed()
    {
        Assert.NotNull(Histories.Search([Set(1, 1, 2), new Operation(Called.Delete, 0, 3, 4)]));
        Assert.NotNull(Histories.Search([Set(1, 1, 2), new Operation(Called.Delete, 1, 3, 4), Get(1, 5, 6)]));
        Assert.Null(Histories.Search([Set(1, 1, 2), new Operation(Called.Delete, 1, 3, 6), Get(1, 5, 8)]));
    }

    [Fact]
    public void Both_checkers_agree_on_random_histories()
    {
        Random random = Seed.NewRandom(17);
        int right = 0;
        for (int round = 0; round < 10_000; round++)
        {
            int count = random.Next(2, 8);
            var times = Enumerable.Range(1, count * 2).ToArray();
            random.Shuffle(times);
            var history = new List<Operation>();
            long sets = 0;
            for (int i = 0; i < count; i++)
            {
                long call = Math.Min(times[2 * i], times[2 * i + 1]), end = Math.Max(times[2 * i], times[2 * i + 1]);
                history.Add(random.Next(2) == 0 ? Set(++sets, call, end) : Get(random.Next(4), call, end));
            }

            bool searched = Histories.Search(history) == null;
            if (searched) right++;
            Assert.True(searched == (Histories.CheckRegister(history) == null),
                $"round {round}: search says {searched}: {string.Join(", ", history)}; {Seed.Hint}");
        }

        Assert.InRange(right, 500, 9500);
    }
}

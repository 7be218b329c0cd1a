using Kv.Tests.Storage;

namespace Kv.Tests.Index;

public sealed class RandomKeyTests
{
    // Chi-square over the keys: the mean is the number of keys less one, the deviation sqrt(2 * that). Six deviations
    // from the mean happen by chance once in a hundred million runs.
    [Theory]
    [InlineData(2)]
    [InlineData(3)]
    [InlineData(10)]
    [InlineData(100)]
    [InlineData(2000)]
    public void Every_key_is_as_likely_as_another(int keys)
    {
        using var test = new TestStore();
        for (int i = 0; i < keys; i++) test.Set("key" + i, "v");
        int draws = Math.Max(3000, keys * 20);
        var counts = new Dictionary<string, int>();
        var seen = new List<string>();
        var collect = new CollectKeys(seen);
        for (int i = 0; i < draws; i++) Assert.True(test.Session.RandomKey(ref collect));
        Assert.Equal(draws, seen.Count);
        foreach (string key in seen) counts[key] = counts.GetValueOrDefault(key) + 1;

        double expected = (double)draws / keys, chiSquare = 0;
        for (int i = 0; i < keys; i++)
        {
            double off = counts.GetValueOrDefault("key" + i) - expected;
            chiSquare += off * off / expected;
        }

        double bound = keys - 1 + 6 * Math.Sqrt(2 * (keys - 1)) + 20;
        Assert.True(chiSquare < bound, $"chi-square {chiSquare:F1} of {keys} keys, bound {bound:F1}");
    }

    [Fact]
    public void The_last_live_key_among_expired_ones_is_found_and_an_empty_database_has_none()
    {
        using var test = new TestStore();
        for (int i = 0; i < 3000; i++) test.SetWithExpiry("gone" + i, "v", test.Clock.Ms + 10);
        test.Set("here", "v");
        test.Clock.Advance(100);
        test.Begin();
        var seen = new List<string>();
        var collect = new CollectKeys(seen);
        Assert.True(test.Session.RandomKey(ref collect));
        Assert.Equal(["here"], seen);
        test.Delete("here");
        Assert.False(test.Session.RandomKey(ref collect));
    }
}

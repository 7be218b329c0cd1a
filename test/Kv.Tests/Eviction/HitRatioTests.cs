using System.Globalization;
using Kv.Storage;
using Kv.Tests.Harness;

namespace Kv.Tests.Eviction;

/// <summary>Hit ratios of a store at its limit beside those of a model of its policy
/// (<see cref="CacheModel"/>).</summary>
public sealed class HitRatioTests(ITestOutputHelper output)
{
    private const int Keys = 150_000, ReadsPerStep = 35_000, StepsToFill = 16;

    [Theory]
    [InlineData(0.0, 0, -1)]
    [InlineData(0.6, 0, 2)]
    [InlineData(0.9, 0, 0.5)]
    [InlineData(0.6, 5, 7)]
    [InlineData(0.9, 5, 4)]
    public void What_is_popular_is_found_more_often(double skew, int scanOneIn, double pointsMore)
    {
        using var cache = Make();
        var reads = new Reads(skew, scanOneIn);
        for (int step = 0; step < StepsToFill; step++) Run(cache, reads, firstKey: 0);
        cache.TakeRatios();
        for (int step = 0; step < 6; step++) Run(cache, reads, firstKey: 0);
        (double store, double model) = Take(cache, "steady");
        Assert.InRange(store, model + (pointsMore / 100), 1);
    }

    // An eighth of the keys has no expiry where only others may go. A counter of five bits and segments cost an LFU
    // policy two points there. A policy by time to live is not worse than its model by more, nor better by much: it is
    // not popularity that it goes by.
    [Theory]
    [InlineData(MaxMemoryPolicy.AllKeysLfu, 1, 5)]
    [InlineData(MaxMemoryPolicy.AllKeysRandom, 1, 1)]
    [InlineData(MaxMemoryPolicy.VolatileLru, 0, 5)]
    [InlineData(MaxMemoryPolicy.VolatileLfu, 3, 5)]
    [InlineData(MaxMemoryPolicy.VolatileRandom, 1, 1)]
    [InlineData(MaxMemoryPolicy.VolatileTtl, 1, 8)]
    public void Each_policy_keeps_about_what_its_model_keeps(
        MaxMemoryPolicy policy, double pointsLess, double pointsMore)
    {
        const double skew = 0.9;
        bool expires = EvictionRule.Of(policy).IsVolatile;
        using var cache = new ReadThroughCache(policy, 16 << 20, 200, expires);
        var reads = new Reads(skew, scanOneIn: 0);
        for (int step = 0; step < StepsToFill; step++) Run(cache, reads, firstKey: 0);
        cache.TakeRatios();
        for (int step = 0; step < 4; step++) Run(cache, reads, firstKey: 0);
        (double store, double model) = Take(cache, policy.ToString());
        Assert.InRange(store, model - (pointsLess / 100), model + (pointsMore / 100));
    }

    // All that was popular is read no more. A list has forgotten it when as much as it holds has been written; the main
    // queue would keep it until keys of the new set had been used twice while they are young.
    [Theory]
    [InlineData(0.0)]
    [InlineData(0.6)]
    public void A_working_set_that_has_gone_leaves(double skew)
    {
        using var cache = Make();
        var reads = new Reads(skew, scanOneIn: 0);
        for (int step = 0; step < StepsToFill; step++) Run(cache, reads, firstKey: 0);
        for (int step = 0; step < 4; step++)
        {
            Run(cache, reads, firstKey: Keys);
            Take(cache, $"step {step}");
        }

        for (int step = 0; step < 3; step++) Run(cache, reads, firstKey: Keys);
        (double store, double model) = Take(cache, "after");
        Assert.InRange(store, model * 0.9, 1);
    }

    private static ReadThroughCache Make() => new(MaxMemoryPolicy.AllKeysLru, 16 << 20, 200);

    private static void Run(ReadThroughCache cache, Reads reads, int firstKey)
    {
        for (int i = 0; i < ReadsPerStep; i++) cache.Read(reads.Next(firstKey));
    }

    private (double Store, double Model) Take(ReadThroughCache cache, string name)
    {
        (double store, double model) = cache.TakeRatios();
        output.WriteLine(string.Create(CultureInfo.InvariantCulture,
            $"{name}: {store:P1}, the model {model:P1}, of {cache.Store.Count(0)} keys"));
        return (store, model);
    }

    /// <summary>Keys by popularity (Zipf), and among them, one in so many, keys that never come again.</summary>
    private sealed class Reads
    {
        private readonly double[] _sums = new double[Keys];
        private readonly Random _random = Seed.NewRandom(2);
        private readonly int _scanOneIn;
        private int _scanned = 100 * Keys;

        public Reads(double skew, int scanOneIn)
        {
            _scanOneIn = scanOneIn;
            double sum = 0;
            for (int i = 0; i < Keys; i++) _sums[i] = sum += Math.Pow(i + 1, -skew);
        }

        public int Next(int firstKey)
        {
            if (_scanOneIn != 0 && _random.Next(_scanOneIn) == 0) return _scanned++;
            int number = Array.BinarySearch(_sums, _random.NextDouble() * _sums[^1]);
            return firstKey + (int)((number < 0 ? ~number : number) * 7919L % Keys);
        }
    }
}

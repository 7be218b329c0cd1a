using System.Globalization;
using Kv.Storage;
using Kv.Tests.Harness;
using Kv.Tests.Storage;

namespace Kv.Tests.Eviction;

/// <summary>What the estimate of the hit ratio with twice the memory is worth.</summary>
public sealed class EvictionShadowTests(ITestOutputHelper output)
{
    private const long Mb = 1 << 20;

    // The truth is what is measured with twice the memory, by the same draws.
    [Theory]
    [InlineData(MaxMemoryPolicy.AllKeysLru, 0.9)]
    [InlineData(MaxMemoryPolicy.AllKeysLru, 0.6)]
    [InlineData(MaxMemoryPolicy.AllKeysLfu, 0.9)]
    [InlineData(MaxMemoryPolicy.AllKeysRandom, 0.9)]
    [InlineData(MaxMemoryPolicy.AllKeysLru, 0)]
    public void The_estimate_is_near_what_twice_the_memory_gives(MaxMemoryPolicy policy, double skew)
    {
        (double one, double estimate) = Measure(policy, skew, 12 * Mb);
        (double two, double _) = Measure(policy, skew, 24 * Mb);
        output.WriteLine(string.Create(CultureInfo.InvariantCulture,
            $"{one:P1} with 12 MB, {two:P1} with 24 MB, estimated as {estimate:P1}"));
        Assert.InRange(estimate, two - 0.06, two + 0.06);
        Assert.InRange(estimate, one + ((two - one) / 2), 1);
    }

    [Fact]
    public void What_has_expired_or_is_back_or_too_old_is_no_hit()
    {
        using var budget = new MemoryBudget();
        var shadow = new EvictionShadow(budget);
        shadow.Add(1, 0, 100, NewValue.NoExpiry);
        for (ulong key = 0; key < 1000; key++) shadow.NoteMiss(key, 0, nowMs: 0);
        Assert.Equal((0, 0), (shadow.Hits, budget.UsedBytes));      // it has not begun

        shadow.Fit(1000 * 100);
        Assert.NotEqual(0, budget.UsedBytes);
        for (ulong key = 0; key < 1000; key++) shadow.Add(key, 0, 100, expiryMs: key % 2 == 0 ? 50 : NewValue.NoExpiry);
        Assert.InRange(Hits(0, 49), 500, 1500);
        Assert.InRange(Hits(0, 50), 250, 750);
        Assert.Equal(0, Hits(4096, 49));       // of another database

        for (ulong key = 0; key < 1000; key += 4) shadow.Remove(key, 0);
        Assert.InRange(Hits(0, 49), 350, 1150);
        for (ulong key = 1000; key < 10_000; key++) shadow.Add(key, 0, 100, NewValue.NoExpiry);
        Assert.Equal(0, Hits(0, 49));
        shadow.Clear();
        Assert.Equal(0, budget.UsedBytes);
        Assert.Equal(0, Hits(0, 49));

        long Hits(int database, long nowMs)
        {
            long before = shadow.Hits;
            for (ulong key = 0; key < 1000; key++) shadow.NoteMiss(key, database, nowMs);
            return shadow.Hits - before;
        }
    }

    // Two million keys are far more than there are places: the sample is halved, and stays fair.
    [Fact]
    public void However_many_keys_there_are_the_table_is_as_large()
    {
        using var budget = new MemoryBudget();
        var shadow = new EvictionShadow(budget);
        const ulong Keys = 2_000_000;
        shadow.Fit((long)Keys * 100);
        long bytes = budget.UsedBytes;
        Random random = Seed.NewRandom();
        for (ulong key = 0; key < Keys; key++)
        {
            shadow.Add(key, 3, 100, NewValue.NoExpiry);
            if (random.Next(3) == 0) shadow.Remove((ulong)random.NextInt64((long)key + 1), 3);
            if (random.Next(3) == 0) shadow.Add((ulong)random.NextInt64((long)key + 1), 3, 100, NewValue.NoExpiry);
        }

        for (ulong key = 0; key < Keys; key++) shadow.Add(key, 3, 100, NewValue.NoExpiry);
        Assert.Equal(bytes, budget.UsedBytes);
        long before = shadow.Hits;
        for (ulong key = 0; key < Keys; key++) shadow.NoteMiss(key, 3, nowMs: 0);
        Assert.InRange(shadow.Hits - before, (long)Keys * 85 / 100, (long)Keys * 115 / 100);
    }

    private static (double Ratio, double Estimate) Measure(MaxMemoryPolicy policy, double skew, long limit)
    {
        const int Keys = 150_000, Reads = 250_000;
        using var test = new TestStore(new StoreOptions { MaxMemoryBytes = limit });
        test.Store.MaxMemoryPolicy = policy;
        Random random = Seed.NewRandom(2);
        double[] sums = new double[Keys];
        double sum = 0;
        for (int i = 0; i < Keys; i++) sums[i] = sum += Math.Pow(i + 1, -skew);
        byte[] value = new byte[200];
        int hits = 0;
        long shadowHits = 0;
        for (int i = 0; i < 2 * Reads; i++)
        {
            if (i == Reads) (hits, shadowHits) = (0, test.Store.Stats.ShadowHits);
            if (i % 16 == 0) test.Begin();
            int number = Array.BinarySearch(sums, random.NextDouble() * sum);
            Key key = test.Session.Key(TestStore.Bytes($"key:{(number < 0 ? ~number : number) * 7919L % Keys}"));
            var take = default(TakeBytes);
            if (test.Session.Read(key, DataType.String, ref take) == StoreStatus.Ok)
            {
                hits++;
                continue;
            }

            test.WaitForRoom();
            Assert.Equal(StoreStatus.Ok, test.Session.Set(key, value));
        }

        return ((double)hits / Reads, (double)(hits + test.Store.Stats.ShadowHits - shadowHits) / Reads);
    }
}

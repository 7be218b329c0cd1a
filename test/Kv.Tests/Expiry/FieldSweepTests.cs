using Kv.Storage;
using Kv.Tests.Harness;
using Kv.Tests.Storage;

namespace Kv.Tests.Expiry;

/// <summary>Fields of hashes that nobody asks for go, too.</summary>
public sealed class FieldSweepTests
{
    [Theory]
    [InlineData(10)]
    [InlineData(5000)]
    public void The_sweep_removes_fields_as_they_expire_and_the_key_with_the_last(int fields)
    {
        using var test = new TestStore();
        for (int i = 0; i < fields; i++)
        {
            Set(test, "h", "field" + i);
            Assert.Equal(FieldExpiryStatus.Changed,
                SetExpiry(test, "h", "field" + i, test.Clock.Ms + 500 + (i * 10_000L / fields)));
        }

        long begin = test.Clock.Ms;
        Assert.Equal(1, test.Store.CountWithFieldExpiry(0));
        for (int second = 1; second <= 11; second++)
        {
            test.Clock.Advance(1000);
            test.Settle();
            test.Check();
            int left = Enumerable.Range(0, fields).Count(i => begin + 500 + (i * 10_000L / fields) > test.Clock.Ms);
            Assert.Equal(left, Count(test, "h"));
            Assert.Equal(fields - left, test.Store.Stats.ExpiredFields);
        }

        Assert.Equal(0, test.Store.Count(0));
        Assert.Equal(0, test.Store.CountWithFieldExpiry(0));
        Assert.Equal(0, test.Store.Stats.ExpiredKeys);
        Assert.Equal(0, test.Store.Budget.BlockBytes);
    }

    // A second's round looks at 300,000 fields of one hash at most, some 600 under one lock; the rest has its turn
    // later.
    [Fact]
    public void A_hash_that_is_very_large_is_swept_in_parts()
    {
        using var test = new TestStore();
        const int fields = 700_000;
        for (int i = 0; i < fields; i++) Set(test, "h", "field" + i);
        for (int i = 0; i < fields; i += 7) SetExpiry(test, "h", "field" + i, test.Clock.Ms + 500);
        int rounds = 0;
        while (Count(test, "h") > fields - (fields / 7))
        {
            test.Clock.Advance(1000);
            test.Begin();
            test.Session.GoOffline();
            test.Store.Maintain();
            Assert.True(++rounds < 20, "the sweep does not go on");
        }

        Assert.InRange(rounds, 2, 19);
        test.Settle();
        test.Check();
        Assert.Equal(0, test.Store.CountWithFieldExpiry(0));
    }

    [Fact]
    public void Whoever_watches_the_key_learns_that_a_field_was_removed()
    {
        using var test = new TestStore();
        using var watches = new KeyWatches(test.Store);
        foreach (int fields in (int[])[3, 3000])
        {
            for (int i = 0; i < fields; i++) Set(test, "h", "field" + i);
            SetExpiry(test, "h", "field1", test.Clock.Ms + 500);
            watches.Add(test.Session, 0, test.Session.Key("h"u8));
            test.Clock.Advance(400);
            test.Settle();
            Assert.False(watches.HaveChanged);
            test.Clock.Advance(1000);
            test.Settle();
            Assert.True(watches.HaveChanged);
            watches.Dispose();
            test.Delete("h");
        }
    }

    [Fact]
    public void Keys_that_are_counted_as_having_fields_with_expiry_follow_every_change()
    {
        using var test = new TestStore();
        foreach (int fields in (int[])[3, 1000])
        {
            long counted = test.Store.CountWithFieldExpiry(0);
            string key = "h" + fields;
            for (int i = 0; i < fields; i++) Set(test, key, "field" + i);
            SetExpiry(test, key, "field1", test.Clock.Ms + 5000);
            SetExpiry(test, key, "field2", test.Clock.Ms + 5000);
            Assert.Equal(counted + 1, test.Store.CountWithFieldExpiry(0));
            Set(test, key, "field1");
            Assert.Equal(counted + 1, test.Store.CountWithFieldExpiry(0));
            Set(test, key, "field2");
            Assert.Equal(counted, test.Store.CountWithFieldExpiry(0));
            SetExpiry(test, key, "field0", test.Clock.Ms + 5000);
            Assert.Equal(counted + 1, test.Store.CountWithFieldExpiry(0));
            test.Set(key, "a string");
            Assert.Equal(counted, test.Store.CountWithFieldExpiry(0));
            test.Delete(key);
            Set(test, key, "field");
            SetExpiry(test, key, "field", test.Clock.Ms + 5000);
            test.Check();
        }

        Assert.Equal(2, test.Store.CountWithFieldExpiry(0));
        test.Session.GoOffline();
        test.Store.Swap(0, 1);
        Assert.Equal(2, test.Store.CountWithFieldExpiry(1));
        test.Store.FlushAll();
        Assert.Equal(0, test.Store.CountWithFieldExpiry(1));
        test.Settle();
        Assert.Equal(0, test.Store.Budget.BlockBytes);
    }

    [Fact]
    public void Reclaim_takes_the_times_of_fields_along()
    {
        using var test = new TestStore();
        Random random = Seed.NewRandom(9);
        for (int i = 0; i < 20_000; i++) Set(test, "h" + i, "field");
        for (int i = 0; i < 20_000; i += 100) SetExpiry(test, "h" + i, "field", test.Clock.Ms + 3000);
        for (int i = 0; i < 20_000; i++)
            if (i % 100 != 0 && random.Next(10) != 0) test.Delete("h" + i);
        test.Session.Changes.Seal();        // a segment that is written to is left alone
        for (int round = 0; round < 10; round++) test.Settle();
        Assert.NotEqual(0, test.Store.Stats.ReclaimedSegments);
        test.Check();
        test.Clock.Advance(5000);
        test.Settle();
        Assert.Equal(200, test.Store.Stats.ExpiredFields);
        Assert.Equal(0, test.Store.CountWithFieldExpiry(0));
    }

    private static HeldKey Hold(TestStore test, string key, int expectedBytes = -1)
    {
        test.Begin();
        return test.Session.Hold(test.Session.Key(TestStore.Bytes(key)), DataType.Hash, expectedBytes);
    }

    private static void Set(TestStore test, string key, string field)
    {
        using HeldKey held = Hold(test, key, 50);
        var hash = new HashValue(held.Value);
        Assert.True(hash.TryReserve(1, field.Length + 1, field.Length));
        hash.Set(TestStore.Bytes(field), "v"u8);
        hash.Settle();
    }

    private static FieldExpiryStatus SetExpiry(TestStore test, string key, string field, long expiryMs)
    {
        using HeldKey held = Hold(test, key);
        var hash = new HashValue(held.Value);
        long bytes = 0;
        hash.AskExpiry(TestStore.Bytes(field), expiryMs, FieldExpiryRule.Always, ref bytes);
        Assert.True(hash.TryReserveExpiries(bytes));
        return hash.SetExpiry(TestStore.Bytes(field), expiryMs, FieldExpiryRule.Always);
    }

    private static long Count(TestStore test, string key)
    {
        using HeldKey held = Hold(test, key);
        return held.Status == StoreStatus.Ok ? new HashValue(held.Value).Count : 0;
    }
}
